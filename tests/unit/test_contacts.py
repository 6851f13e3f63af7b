"""What the last call to each peer leaves: its outcome, and how far its clock is from ours."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.ports.records import PeerRecord
from node.trust.contacts import Contact, Contacts
from protocol import limits
from protocol.errors import MeshError, PeerError
from tests.twins.clock import START_MS, ManualClock

PEER = PeerRecord(node="BRUNO-1", name="bruno", public_key=bytes(32), addresses=(), grants={}, paired_ms=1)
NOW_S = START_MS // 1000
SKEW_S = limits.CLOCK_SKEW_S


@pytest.fixture
def contacts() -> Contacts:
    return Contacts(ManualClock())


def refused(code: str, **detail: Any) -> PeerError:
    return PeerError(code, "why", peer=PEER.node, **detail)


def test_of_a_peer_that_was_never_called_nothing_is_known(contacts: Contacts) -> None:
    assert contacts.of(PEER.node) == Contact(error="", said="", message="", apart_ms=None)


def test_an_answer_ends_what_failed_before_and_keeps_the_difference_of_the_clocks(contacts: Contacts) -> None:
    contacts.compare_clocks(PEER.node, -1_500)
    assert contacts.of(PEER.node) == Contact(apart_ms=-1_500)
    contacts.failed(PEER, MeshError("peer.unreachable", "away"))
    assert contacts.of(PEER.node) == Contact(
        error="peer.unreachable", said="peer.unreachable", message="away", apart_ms=-1_500
    )
    contacts.answered(PEER.node)
    assert contacts.of(PEER.node) == Contact(apart_ms=-1_500)
    assert contacts.of("another") == Contact()


def test_what_a_peer_answered_is_told_under_its_name(contacts: Contacts) -> None:
    error = contacts.failed(PEER, refused("input.not_found"))
    assert isinstance(error, PeerError)
    assert (error.code, error.shown.message) == ("input.not_found", "bruno answered input.not_found: why")
    last = contacts.of(PEER.node)
    assert (last.error, last.said, last.message) == ("peer.failed", "input.not_found", error.shown.message)
    own = MeshError("peer.identity")
    assert contacts.failed(PEER, own) is own


@pytest.mark.parametrize(
    ("ahead_s", "words"),
    [
        (SKEW_S + 1, f"the clock of bruno is {(SKEW_S + 1) // 60} min {(SKEW_S + 1) % 60} s ahead of ours"),
        (-SKEW_S - 1, f"the clock of bruno is {(SKEW_S + 1) // 60} min {(SKEW_S + 1) % 60} s behind ours"),
        (SKEW_S, ""),
        (-SKEW_S, ""),
    ],
)
def test_a_refusal_for_the_time_tells_by_how_much_if_it_is_more_than_is_allowed(
    contacts: Contacts, ahead_s: int, words: str
) -> None:
    error = contacts.failed(PEER, refused("envelope.time", now_s=NOW_S + ahead_s))
    assert error.code == "envelope.time"
    assert error.message == (f"bruno refuses our messages: {words}" if words else "why")
    assert error.detail.get("apart_s") == (ahead_s if words else None)
    assert error.detail["peer"] == PEER.node
    last = contacts.of(PEER.node)
    assert (last.said, last.apart_ms, last.message) == ("envelope.time", ahead_s * 1000, error.shown.message)


@pytest.mark.parametrize(
    ("error", "apart_ms"),
    [
        (refused("envelope.time", now_s="soon"), 7),
        (refused("envelope.time"), 7),
        (refused("envelope.time", now_s=True), 7),
        (refused("envelope.signature", now_s=NOW_S + 500), 7),
        (MeshError("peer.clock", apart_s=-90), -90_000),
        (MeshError("peer.clock", apart_s="90"), 7),
        (MeshError("peer.unreachable", apart_s=90), 7),
    ],
    ids=str,
)
def test_a_time_is_taken_from_no_other_words(contacts: Contacts, error: MeshError, apart_ms: int) -> None:
    contacts.compare_clocks(PEER.node, 7)
    assert contacts.failed(PEER, error).message == error.message
    assert contacts.of(PEER.node).apart_ms == apart_ms
