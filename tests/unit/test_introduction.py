"""What a node shows that calls under a key nobody knows, and what is not believed of it."""

from __future__ import annotations

import asyncio

import pytest
from nacl.signing import SigningKey

from adapters.transport.tls.visitors import Visitors
from protocol import limits
from protocol.errors import MeshError
from protocol.introduction import open_introduction
from protocol.keys.key_event import EVENT_RANDOM_BYTES, Rotate, sign_event
from protocol.keys.keylog import KeyLog
from protocol.messages import KIND_MESSAGE, KeysPush
from protocol.wire import cbor, envelope
from tests.key_logs import FIRST, SECOND, START_S, STRANGER, THIEF, log_of, rotated

READER = "the reader"
NOW_S = START_S + 1_000
ROUTE = envelope.route_binding("POST", "/peer/v1/keys/introduce")
LOG = rotated(log_of(), FIRST, SECOND, START_S + 100)


def shown(
    log: KeyLog = LOG,
    key: SigningKey = SECOND,
    *,
    data: bytes = b"",
    issuer: str = "",
    audience: str = READER,
    issued_s: int = NOW_S,
    binding: bytes = ROUTE,
) -> bytes:
    """An introduction."""
    header = envelope.EnvelopeHeader(
        issuer=issuer or log.node,
        audience=audience,
        issued_s=issued_s,
        expires_s=issued_s + limits.MESSAGE_LIFETIME_S,
        unique=bytes(envelope.UNIQUE_ID_BYTES),
    )
    payload = cbor.encode(KeysPush(log=data or log.encode()))
    return envelope.seal(payload, kind=KIND_MESSAGE, key=key, header=header, binding=binding)


def code_of(data: bytes) -> str:
    """The code it is refused with."""
    with pytest.raises(MeshError) as caught:
        open_introduction(data, binding=ROUTE, audience=READER, now_s=NOW_S)
    return caught.value.code


def test_a_node_that_shows_its_log_under_its_last_key_is_heard() -> None:
    said = open_introduction(shown(), binding=ROUTE, audience=READER, now_s=NOW_S)
    assert (said.log, said.log.key, said.header.issuer) == (LOG, bytes(SECOND.verify_key), LOG.node)


@pytest.mark.parametrize("key", [FIRST, STRANGER], ids=["a former key", "another key"])
def test_who_only_knows_a_log_cannot_show_it(key: SigningKey) -> None:
    """A log is public. Whoever could try those of others would find out whom a node knows.

    Guard: protocol/introduction.py, open_introduction.
    """
    assert code_of(shown(key=key)) == "envelope.key_unknown"


def test_a_log_is_shown_in_the_name_of_its_own_node_only() -> None:
    assert code_of(shown(issuer=log_of(STRANGER).node)) == "envelope.key_unknown"


def test_an_introduction_to_another_node_is_refused() -> None:
    """Whoever was shown a log could pass it on otherwise, and find out who else knows its node.

    Guard: protocol/introduction.py, open_introduction.
    """
    assert code_of(shown(audience="somebody else")) == "envelope.audience"


def test_an_introduction_over_another_route_or_at_another_time_is_refused() -> None:
    assert code_of(shown(binding=envelope.route_binding("POST", "/peer/v1/keys/push"))) == "envelope.signature"
    late_s = limits.MESSAGE_LIFETIME_S + limits.CLOCK_SKEW_S + 1
    assert code_of(shown(issued_s=NOW_S - late_s)) == "envelope.time"


def test_a_forged_log_is_refused() -> None:
    """Guard: protocol/keys/key_rules.py, _step."""
    first, random = log_of(), bytes(EVENT_RANDOM_BYTES)
    taken = Rotate(position=1, previous=first.head, key=bytes(THIEF.verify_key))
    event = sign_event(taken, node=first.node, signer=THIEF, new=THIEF, issued_s=START_S + 100, random=random)
    forged = cbor.encode({"version": 1, "events": [first.events[0], event], "parts_at": 0, "other": []})
    assert code_of(shown(key=THIEF, data=forged)) == "keylog.invalid"


def test_what_is_too_large_or_no_message_is_refused() -> None:
    assert code_of(bytes(limits.KEYS_MESSAGE_BYTES_MAX + 1)) == "envelope.invalid"
    assert code_of(b"hello") == "envelope.invalid"


# --- how many are heard ----------------------------------------------------------------------------------------------


async def test_few_are_heard_at_a_time_wherever_they_come_from() -> None:
    """Guard: adapters/transport/tls/visitors.py, Visitors.enter."""
    visitors = Visitors()
    assert all(visitors.enter(f"address {number}") for number in range(limits.VISITORS_MAX))
    assert not visitors.enter("one more")
    visitors.leave("address 0")
    assert visitors.enter("one more")


async def test_few_are_heard_in_a_minute_wherever_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: adapters/transport/tls/visitors.py, Visitors.enter."""
    now_s = 0.0
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now_s)
    visitors = Visitors()

    def comes(number: int) -> bool:
        heard = visitors.enter(f"address {number}")
        visitors.leave(f"address {number}")
        return heard

    assert all(comes(number) for number in range(limits.VISITORS_PER_MINUTE))
    assert not comes(1_000)
    now_s = 60.0
    assert comes(1_000)
