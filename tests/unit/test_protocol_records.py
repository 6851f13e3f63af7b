"""The numbers that a record takes: the least and the greatest of each, and nothing beyond them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from protocol import feed, ids, limits
from protocol.audit import AuditDraft, AuditOutcome, HeadStatement, Row
from protocol.errors import MeshError
from protocol.feed import FeedChange, FeedKind, News
from protocol.keys.key_event import EVENT_RANDOM_BYTES, Genesis, Recover, Revoke, Rotate
from protocol.log.merkle import PROOF_HASHES_MAX
from protocol.log.witness_log import Opening
from protocol.messages import LogConsistency, LogProveAsk, LogSync
from protocol.pairing.by_digits import Commit
from protocol.recording.records.session import Session, Step, StepMatch
from protocol.schedule import LATE_MS_MAX
from protocol.trust.trust_set import PUBLIC_KEY_BYTES
from protocol.wire import cbor, frames
from protocol.wire.frames import AnswerFrame, CallFrame
from tests.session_samples import matched, sample_session, sample_steps
from tests.tables import each

MOST = 2**53
DRAFT: dict[str, Any] = {"at_ms": 1, "what": "w", "who": "o", "outcome": AuditOutcome.DONE, "key": "k", "key_events": 1}
ROW: dict[str, Any] = DRAFT | {"number": 1, "previous": "0" * 64}
NEWS: dict[str, Any] = {"at_ms": 1, "kind": FeedKind.NODE_SERVING, "ids": (), "who": "owner"}
CALL: dict[str, Any] = {"number": 1, "route": "a", "media": "application/vnd.trailmesh.x+cose", "body_bytes": 0}
ANSWER: dict[str, Any] = {"number": 1, "refused": False, "body_bytes": 0}
ROTATE: dict[str, Any] = {"op": "rotate", "position": 1, "previous": bytes(32), "key": bytes(32)}
REVOKE: dict[str, Any] = {"op": "revoke", "position": 1, "previous": bytes(32), "by": bytes(32), "since_s": 0}
RECOVER: dict[str, Any] = REVOKE | {"op": "recover", "key": bytes(32), "recovery": bytes(32)}
GENESIS: dict[str, Any] = {"op": "genesis", "key": bytes(32), "recovery": bytes(32)}


def fields_of(record: msgspec.Struct) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(record, builtin_types=(bytes,))
    return made


STEPS, _ = sample_steps()
STEP, MATCH, SESSION = fields_of(STEPS[0]), fields_of(matched(STEPS[0])), fields_of(sample_session(STEPS))


def takes(record: Any, fields: dict[str, Any]) -> bool:
    try:
        cbor.convert(msgspec.to_builtins(fields, builtin_types=(bytes,)), record, ids_checked=False)
    except MeshError as error:
        assert error.code == "message.invalid"
        return False
    return True


@each(
    ("record", "fields", "field", "least", "most"),
    [
        (AuditDraft, DRAFT, "at_ms", 0, MOST),
        (AuditDraft, DRAFT, "key_events", 0, MOST),
        (Row, ROW, "number", 1, MOST),
        (AuditDraft, DRAFT, "risk", 0, 7),
        (HeadStatement, {"rows": 0, "head": "0" * 64}, "rows", 0, MOST),
        (News, NEWS, "at_ms", 0, MOST),
        (FeedChange, NEWS | {"number": 1}, "number", 1, MOST),
        (CallFrame, CALL, "number", 1, MOST),
        (CallFrame, CALL, "body_bytes", 0, 2 * 1024 * 1024),
        (AnswerFrame, ANSWER, "number", 1, MOST),
        (AnswerFrame, ANSWER, "body_bytes", 0, 2 * 1024 * 1024),
        (Rotate, ROTATE, "position", 1, 64),
        (Revoke, REVOKE, "since_s", 0, 2**40),
        (Recover, RECOVER, "position", 1, 64),
        (Session, SESSION, "created_ms", 0, MOST),
        (Session, SESSION, "steps", 0, MOST),
        (Step, STEP, "started_ms", 0, MOST),
        (StepMatch, MATCH, "index", 0, MOST),
        (Opening, {"log": ""}, "opened_ms", 0, MOST),
        (LogSync, {}, "base_size", 0, MOST),
    ],
)
def test_a_number_has_a_least_and_a_greatest_value(
    record: Any, fields: dict[str, Any], field: str, least: int, most: int
) -> None:
    given = [least - 1, least, most, most + 1]
    assert [takes(record, fields | {field: number}) for number in given] == [False, True, True, False]


@each(
    ("record", "fields", "field", "size"),
    [
        (Genesis, GENESIS, "key", 32),
        (Genesis, GENESIS, "recovery", 32),
        (Rotate, ROTATE, "previous", 32),
        (Commit, {"step": "commit"}, "commitment", 32),
        (LogProveAsk, {}, "digest", 32),
        (LogConsistency, {"hashes": ()}, "old_root", 32),
    ],
)
def test_a_hash_or_key_has_one_length(record: Any, fields: dict[str, Any], field: str, size: int) -> None:
    assert [takes(record, fields | {field: bytes(size + more)}) for more in (-1, 0, 1)] == [False, True, False]


def test_a_list_of_hashes_is_no_longer_than_a_proof() -> None:
    fields = {"old_root": bytes(32)}
    assert [takes(LogConsistency, fields | {"hashes": [bytes(32)] * count}) for count in (64, 65)] == [True, False]
    assert PROOF_HASHES_MAX == 64


@each(
    ("who", "accepted"),
    [("owner", True), ("agent:a-b_c.d", True), ("o" * 80, True), ("o" * 81, False), ("", False), ("a b", False)],
)
def test_who_had_a_change_done_is_a_short_word(who: str, accepted: bool) -> None:
    assert takes(News, NEWS | {"who": who}) is accepted
    assert set(feed.ABOUT) == set(FeedKind)


@each("digest", ["0" * 63, "0" * 65, "A" * 64, "g" * 64])
def test_a_row_names_a_whole_hash(digest: str) -> None:
    assert takes(Row, ROW)
    assert not takes(Row, ROW | {"previous": digest})


def test_a_frame_has_few_items_and_no_depth() -> None:
    def reason(data: bytes) -> str:
        with pytest.raises(MeshError) as caught:
            frames.decode_call(data)
        return caught.value.message

    assert reason(cbor.encode([0] * 16)) == "more than 16 items"
    assert reason(cbor.encode([0] * 15)) == "Expected `object`, got `array`"
    assert reason(cbor.encode([[0]])) == "deeper than 1"
    assert reason(bytes(limits.FRAME_BYTES_MAX)) == "trailing bytes"
    assert reason(bytes(limits.FRAME_BYTES_MAX + 1)) == "1025 bytes where 1024 are allowed"


def test_sizes_that_others_rely_on_are_what_they_were() -> None:
    assert (PUBLIC_KEY_BYTES, EVENT_RANDOM_BYTES, ids.ID_RANDOM_BYTES, LATE_MS_MAX) == (32, 32, 13, 60_000)
