"""The audit trail as a chain of lines: what follows, what does not, and what a row can hold."""

from __future__ import annotations

import hashlib
import json

import msgspec
import pytest

from protocol import audit, limits
from protocol.audit import START, AuditDraft, AuditOutcome, Head
from protocol.errors import MeshError
from tests.tables import each


def draft(number: int = 1, **fields: object) -> AuditDraft:
    made = AuditDraft(
        at_ms=1_000 + number, what="session.record", who="owner", outcome=AuditOutcome.DONE, key="ab" * 8, key_events=1
    )
    return msgspec.structs.replace(made, **fields)


def trail(count: int) -> list[bytes]:
    lines, head = [], START
    for number in range(1, count + 1):
        line, head = audit.chain(draft(number, note={"n": str(number)}), head)
        lines.append(line)
    return lines


def walk(lines: list[bytes]) -> tuple[Head, str]:
    """The last head that followed, and why the next one did not."""
    head = START
    for line in lines:
        try:
            _, head = audit.follow(head, line)
        except MeshError as error:
            return head, error.message
    return head, ""


def test_each_line_names_the_hash_of_the_one_before_and_needs_no_program_of_ours_to_check() -> None:
    previous = "0" * 64
    for number, line in enumerate(trail(5), 1):
        row = json.loads(line)
        assert (row["number"], row["previous"]) == (number, previous)
        previous = hashlib.sha256(line).hexdigest()
    assert walk(trail(5)) == (Head(5, previous), "")


@each("field", ["at_ms", "who", "what", "outcome", "key", "of", "risk", "approved_by", "note"])
def test_a_row_that_was_changed_is_found_at_the_next_one(field: str) -> None:
    """Guard: protocol/audit.py, follow."""
    changed = {"at_ms": 1, "outcome": "refused", "of": 1, "risk": 7, "note": {"n": "9"}}.get(field, "someone")
    lines = trail(5)
    row = json.loads(lines[2]) | {field: changed}
    lines[2] = json.dumps(row, sort_keys=True, separators=(",", ":")).encode()
    head, fault = walk(lines)
    assert head.number == 3
    assert "hash of the previous row does not match" in fault


@pytest.mark.parametrize(
    ("spoil", "good"),
    [
        (lambda lines: lines[:2] + lines[3:], 2),
        (lambda lines: [*lines[:2], lines[3], lines[2], lines[4]], 2),
        (lambda lines: [*lines[:3], lines[2], *lines[3:]], 3),
        (lambda lines: [*lines[:4], lines[4].replace(b'"at_ms":', b'"at_ms": ')], 4),
        (lambda lines: [*lines[:1], b"{}", *lines[1:]], 1),
        (lambda lines: [*lines[:1], b"\xff", *lines[1:]], 1),
        (lambda lines: [*lines[:1], lines[1][:-1] + b',"more":1}', *lines[2:]], 1),
    ],
    ids=["removed", "exchanged", "repeated", "reformatted", "empty", "bytes", "field"],
)
def test_a_trail_that_was_tampered_with_breaks_at_the_first_row_that_does_not_fit(spoil: object, good: int) -> None:
    head, fault = walk(spoil(trail(5)))  # type: ignore[operator]
    assert head.number == good
    assert fault


def test_a_row_holds_little_and_only_what_can_be_printed() -> None:
    given = {f"name{number}": "\x1b[2J" + "ü" * 10_000 for number in range(50)} | {"empty": ""}
    note = audit.notes(given)
    assert len(note) == limits.AUDIT_NOTES_MAX
    widest = draft(subject=audit.clean("\U0001f600" * 10_000), note=audit.notes(dict.fromkeys(given, "😀" * 999)))
    line, _ = audit.chain(widest, START)
    assert len(line) < limits.AUDIT_ROW_BYTES_MAX
    assert b"\x1b" not in audit.chain(draft(note=note), START)[0]


def test_what_could_not_be_read_back_is_not_written() -> None:
    for wrong in (draft(who="x" * 81), draft(note={"n": "x" * 257}), draft(risk=8), draft(at_ms=-1)):
        with pytest.raises(MeshError) as refused:
            audit.chain(wrong, START)
        assert refused.value.code == "input.invalid"
    assert audit.notes({"surrogate": "\ud800"}) == {"surrogate": " "}
