"""Leases: every move, and that late or repeated news does no harm."""

from __future__ import annotations

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Extract, Fill, Goto, Locator, Secret, Wait
from protocol.search.entry import encode_action
from protocol.search.lease import LIVE, TRANSITIONS, Event, Lease, LeaseBook, State, check_claim
from protocol.wire import cbor
from tests.tables import each
from tests.trees import click

BRANCH, OTHER = b"b" * 16, b"o" * 16


def book() -> LeaseBook:
    leases = LeaseBook()
    leases.grant("lea-1", branch=BRANCH, worker="bob", now_ms=0, lifetime_ms=100, latest_ms=1_000)
    return leases


def test_what_has_ended_has_no_moves() -> None:
    assert {state for state, _ in TRANSITIONS} == LIVE
    assert set(TRANSITIONS) == {(state, event) for state in LIVE for event in Event}


def test_a_branch_has_one_live_lease() -> None:
    with pytest.raises(MeshError) as caught:
        book().grant("lea-2", branch=BRANCH, worker="carol", now_ms=1, lifetime_ms=100, latest_ms=1_000)
    assert (caught.value.code, caught.value.detail) == ("lease.busy", {"lease": "lea-1"})


def test_granting_twice_with_one_id_is_granting_once() -> None:
    leases = book()
    again = leases.grant("lea-1", branch=BRANCH, worker="bob", now_ms=50, lifetime_ms=100, latest_ms=1_000)
    assert again == leases.get("lea-1")
    assert again.expires_ms == 100


def test_a_lease_id_cannot_be_used_for_another_lease() -> None:
    with pytest.raises(MeshError) as caught:
        book().grant("lea-1", branch=OTHER, worker="bob", now_ms=0, lifetime_ms=100, latest_ms=1_000)
    assert caught.value.code == "input.invalid"


def test_a_renewed_lease_lives_longer_and_never_shorter() -> None:
    leases = book()
    assert leases.renew("lea-1", worker="bob", now_ms=50, lifetime_ms=100).expires_ms == 150
    assert leases.renew("lea-1", worker="bob", now_ms=60, lifetime_ms=10).expires_ms == 150
    assert leases.get("lea-1").state is State.RENEWED


def test_no_renewal_goes_beyond_the_latest_end_so_nobody_holds_a_branch_for_ever() -> None:
    """Guard: protocol/search/lease.py, LeaseBook.renew."""
    leases = LeaseBook()
    leases.grant("lea-1", branch=BRANCH, worker="bob", now_ms=0, lifetime_ms=100, latest_ms=250)
    ends = [leases.renew("lea-1", worker="bob", now_ms=now, lifetime_ms=100).expires_ms for now in (90, 180, 249)]
    assert ends == [190, 250, 250]
    with pytest.raises(MeshError) as caught:
        leases.renew("lea-1", worker="bob", now_ms=250, lifetime_ms=100)
    assert caught.value.code == "lease.unknown"
    assert [lease.id for lease in leases.expire_due(250)] == ["lea-1"]


def test_a_lifetime_beyond_the_latest_end_is_cut() -> None:
    lease = LeaseBook().grant("lea-1", branch=BRANCH, worker="bob", now_ms=0, lifetime_ms=100, latest_ms=60)
    assert lease.expires_ms == 60


def test_the_leases_of_the_one_who_is_spared_do_not_expire() -> None:
    leases = book()
    assert leases.expire_due(100, but="bob") == []
    assert leases.live_of("bob") == [leases.get("lea-1")]


@each(("lease_id", "worker", "now_ms"), [("lea-9", "bob", 0), ("lea-1", "carol", 0), ("lea-1", "bob", 100)])
def test_only_the_worker_renews_and_only_in_time(lease_id: str, worker: str, now_ms: int) -> None:
    with pytest.raises(MeshError) as caught:
        book().renew(lease_id, worker=worker, now_ms=now_ms, lifetime_ms=10)
    assert caught.value.code == "lease.unknown"


def test_an_expired_branch_is_granted_again_with_a_higher_term() -> None:
    """Guard: protocol/search/lease.py, LeaseBook.expire_due."""
    leases = book()
    assert leases.expire_due(99) == []
    assert [(lease.state, lease.live) for lease in leases.expire_due(100)] == [(State.EXPIRED, False)]
    assert leases.expire_due(100) == []
    again = leases.grant("lea-2", branch=BRANCH, worker="carol", now_ms=101, lifetime_ms=100, latest_ms=1_000)
    assert (again.term, leases.live_by_branch()) == (2, {BRANCH: again})


def test_a_late_result_does_not_revive_a_lease_nor_end_its_successor() -> None:
    """Guard: protocol/search/lease.py, LeaseBook._move."""
    leases = book()
    leases.expire_due(100)
    successor = leases.grant("lea-2", branch=BRANCH, worker="carol", now_ms=101, lifetime_ms=100, latest_ms=1_000)
    assert leases.close("lea-1", Event.RESULT).state is State.EXPIRED
    assert leases.live_by_branch() == {BRANCH: successor}


@each("event", [Event.RESULT, Event.REVOKE, Event.EXPIRE])
def test_a_repeated_end_changes_nothing(event: Event) -> None:
    leases = book()
    first = leases.close("lea-1", Event.RESULT)
    assert first.state is State.DONE
    assert leases.close("lea-1", event) == first


def test_a_lease_nobody_granted_is_unknown() -> None:
    with pytest.raises(MeshError) as caught:
        book().close("lea-9", Event.RESULT)
    assert caught.value.code == "lease.unknown"


def test_live_leases_are_found_by_branch_and_by_worker() -> None:
    leases = book()
    other = leases.grant("lea-2", branch=OTHER, worker="bob", now_ms=0, lifetime_ms=100, latest_ms=1_000)
    leases.close("lea-1", Event.REVOKE)
    assert leases.live_by_branch() == {OTHER: other}
    assert leases.live_of("bob") == [other]
    assert leases.live_of("carol") == []


def test_the_entry_for_the_document_says_who_and_whether() -> None:
    leases = book()
    assert leases.get("lea-1").entry().live
    entry = leases.close("lea-1", Event.RESULT).entry()
    assert (entry.worker, entry.lease, entry.term, entry.live) == ("bob", "lea-1", 1, False)


def test_of_too_many_leases_the_oldest_that_ended_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LEASES_KEPT_MAX", 2)
    leases = book()
    leases.close("lea-1", Event.RESULT)
    leases.grant("lea-2", branch=BRANCH, worker="bob", now_ms=0, lifetime_ms=9, latest_ms=1_000)
    kept: Lease = leases.grant("lea-3", branch=OTHER, worker="bob", now_ms=0, lifetime_ms=9, latest_ms=1_000)
    with pytest.raises(MeshError) as caught:
        leases.get("lea-1")
    assert (caught.value.code, kept.live) == ("lease.unknown", True)


# --- claims ----------------------------------------------------------------------------------------------------------

PREFIX = (click("Shelf"), click("Cup"))


@each("claim", [PREFIX, (*PREFIX, click("Blue"))])
def test_a_claim_through_the_branch_is_taken(claim: tuple[bytes, ...]) -> None:
    check_claim(PREFIX, claim)
    check_claim((), claim)


@each("claim", [(), PREFIX[:1], PREFIX[::-1], (click("Blue"), *PREFIX)])
def test_a_claim_that_leaves_its_branch_is_refused(claim: tuple[bytes, ...]) -> None:
    with pytest.raises(MeshError) as caught:
        check_claim(PREFIX, claim)
    assert caught.value.code == "claim.invalid"


@each(
    "action",
    [
        Goto(url="http://intranet.test/"),
        Wait(timeout_ms=60_000),
        Extract(name="mail"),
        Fill(target=Locator(role="textbox", name="Password"), value=Secret(secret="shop")),
    ],
)
def test_a_claim_that_opens_waits_extracts_or_types_a_secret_is_refused(action: Action) -> None:
    with pytest.raises(MeshError) as caught:
        check_claim(PREFIX, (*PREFIX, cbor.encode(action)))
    assert (caught.value.code, caught.value.detail) == ("claim.invalid", {"step": 3})
    with pytest.raises(MeshError) as unwritten:
        encode_action(action)
    assert unwritten.value.code == "delta.invalid"
