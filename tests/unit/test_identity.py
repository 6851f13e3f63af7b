"""What a node signs with which key, and when it says it did."""

from __future__ import annotations

import hashlib

from nacl.signing import SigningKey

from node.signing.identity import Identity
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.messages import StatusAsk
from protocol.search.delta import KIND
from protocol.wire import envelope
from protocol.wire.envelope import key_id
from tests.key_logs import valid_at
from tests.twins.clock import START_MS, ManualClock

OLD, NEW = (SigningKey(hashlib.sha256(name).digest()) for name in (b"old", b"new"))


def test_artefacts_are_signed_with_a_new_key_at_once_and_messages_once_peers_were_told() -> None:
    clock = ManualClock()
    own = Identity(OLD, clock)
    now_s = START_MS // 1000
    own.become(keylog.rotate(own.log, OLD, NEW, now_s=now_s, random=bytes(EVENT_RANDOM_BYTES)), NEW)
    clock.advance(5_000)

    def keys() -> tuple[bytes, bytes]:
        artefact = own.artefact(KIND, "sea-1", b"x").envelope
        log = own.log
        envelope.verify(artefact, kinds=frozenset({KIND}), find_key=lambda _, key, at_s: log.find_key(key, at_s))
        return envelope.peek(artefact).key_id, envelope.peek(own.message(StatusAsk(), audience="b", path="/p")).key_id

    old, new = key_id(bytes(OLD.verify_key)), key_id(bytes(NEW.verify_key))
    assert keys() == (new, old)
    own.speak()
    assert keys() == (new, new)


def test_a_clock_that_was_set_back_makes_no_artefact_older_than_its_key() -> None:
    born = Identity(OLD, ManualClock())
    own = Identity(OLD, ManualClock(now_ms=START_MS - 3_600_000), born.log)
    made = own.artefact(KIND, "sea-1", b"x")
    assert made.issued_s == START_MS // 1000
    assert valid_at(own.log, bytes(OLD.verify_key), made.issued_s)
