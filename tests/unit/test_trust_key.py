"""The text form of a key to trust: what is read back, and what is refused."""

from __future__ import annotations

import pytest
from nacl.signing import SigningKey

from protocol import limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.keys.keylog import KeyLog
from protocol.trust.trust_key import PREFIX, read_trust_keys, write_trust_key
from tests.tables import each

BORN_S = 1_600_000_000
NOW_S = 1_800_000_000
ANNA, NEXT, BRUNO = (SigningKey(bytes([number]) * 32) for number in (1, 2, 3))


def log_of(key: SigningKey) -> KeyLog:
    return keylog.begin(key, bytes(32), now_s=BORN_S, random=bytes(EVENT_RANDOM_BYTES))


def refused(text: str, now_s: int = NOW_S) -> str:
    with pytest.raises(MeshError) as caught:
        read_trust_keys(text, now_s=now_s)
    assert caught.value.code == "trust.invalid"
    return caught.value.message


def test_a_key_is_read_back_with_every_rotation() -> None:
    log = keylog.rotate(log_of(ANNA), ANNA, NEXT, now_s=BORN_S + 60, random=bytes(EVENT_RANDOM_BYTES))
    line = write_trust_key(log)
    assert line.startswith(f"{PREFIX}{log.node}:")
    assert line.isprintable()
    (read,) = read_trust_keys(line, now_s=NOW_S)
    assert (read, read.keys) == (log, (bytes(ANNA.verify_key), bytes(NEXT.verify_key)))


def test_a_file_has_a_key_on_each_line_and_comments_between() -> None:
    text = f"# anna\n{write_trust_key(log_of(ANNA))}\r\n\n  # bruno\n{write_trust_key(log_of(BRUNO))}\n"
    assert read_trust_keys(text, now_s=NOW_S) == (log_of(ANNA), log_of(BRUNO))


def test_a_line_with_any_character_changed_is_refused() -> None:
    line = write_trust_key(log_of(ANNA))
    # Every fifth: enough to meet the prefix, the node id, each part of the event and its signature.
    for at in range(0, len(line), 5):
        changed = line[:at] + ("A" if line[at] != "A" else "B") + line[at + 1 :]
        assert refused(changed), at


@each(
    ("text", "said"),
    [
        ("", "0 keys"),
        ("# a comment\n", "0 keys"),
        ("ssh-ed25519 AAAA", "does not begin with"),
        (f"{PREFIX}x:y z", "not complete"),
        (f"{PREFIX}x:é", "not complete"),
        ("x" * (limits.TRUST_TEXT_CHARS_MAX + 1), "characters"),
    ],
)
def test_what_is_no_key_is_refused_with_the_reason(text: str, said: str) -> None:
    assert said in refused(text)


def test_the_key_of_another_node_under_a_node_id_is_refused() -> None:
    """Guard: protocol/trust/trust_key.py, _read_line."""
    forged = write_trust_key(log_of(BRUNO)).replace(log_of(BRUNO).node, log_of(ANNA).node)
    assert refused(forged) == "line 1: its node id is not that of its key"


def test_two_keys_of_one_node_and_too_many_are_refused() -> None:
    line = write_trust_key(log_of(ANNA))
    assert "same node" in refused(f"{line}\n{line}")
    assert "17 keys" in refused("\n".join([line] * (limits.TRUST_KEYS_MAX + 1)))


def test_a_key_from_the_future_is_refused() -> None:
    assert refused(write_trust_key(log_of(ANNA)), now_s=BORN_S - 100_000)
