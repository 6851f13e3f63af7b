"""Leases: what is kept of them, what a worker may have spent, and what each refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import limits
from protocol.errors import MeshError
from protocol.messages import BranchLimits, Spend
from protocol.search.lease import TRANSITIONS, Event, Lease, LeaseBook, State, check_claim, check_spend
from tests.tables import each
from tests.trees import click


def branch(number: int) -> bytes:
    return number.to_bytes(16, "big")


def granted(book: LeaseBook, number: int, *, at: int | None = None, worker: str = "bob") -> Lease:
    """Lease ``number``, of a branch of its own or of branch ``at``."""
    place = branch(number if at is None else at)
    return book.grant(f"lea-{number}", branch=place, worker=worker, now_ms=10, lifetime_ms=100, latest_ms=1_000)


def refusal(call: Any, *given: Any, **named: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(MeshError) as caught:
        call(*given, **named)
    return caught.value.code, caught.value.message, caught.value.detail


# --- the book --------------------------------------------------------------------------------------------------------


def test_a_new_lease_is_granted_from_now_for_its_lifetime() -> None:
    assert granted(LeaseBook(), 1) == Lease(
        id="lea-1", branch=branch(1), worker="bob", term=1, state=State.GRANTED, expires_ms=110, latest_ms=1_000
    )


def test_a_renewed_lease_is_renewed_again_and_moves_nothing_but_its_end() -> None:
    book = LeaseBook()
    first = granted(book, 1)
    assert book.renew("lea-1", worker="bob", now_ms=109, lifetime_ms=5) == book.get("lea-1")
    assert (book.get("lea-1").state, book.get("lea-1").expires_ms) == (State.RENEWED, 114)
    again = book.renew("lea-1", worker="bob", now_ms=110, lifetime_ms=100)
    assert (again.state, again.expires_ms, again.latest_ms) == (State.RENEWED, 210, first.latest_ms)
    assert book.live_by_branch() == {branch(1): again}


@each("event", [Event.RESULT, Event.REVOKE, Event.EXPIRE])
def test_a_lease_that_has_ended_is_not_renewed_though_its_time_is_not_over(event: Event) -> None:
    book = LeaseBook()
    granted(book, 1)
    ended = book.close("lea-1", event)
    assert ended.state is TRANSITIONS[State.GRANTED, event]
    code, _, detail = refusal(book.renew, "lea-1", worker="bob", now_ms=20, lifetime_ms=100)
    assert (code, detail, book.get("lea-1")) == ("lease.unknown", {"lease": "lea-1"}, ended)


def test_an_expired_or_ended_lease_keeps_the_time_at_which_it_would_have_ended() -> None:
    book = LeaseBook()
    for number in (1, 2):
        granted(book, number)
    assert book.close("lea-1", Event.RESULT).expires_ms == 110
    assert [lease.expires_ms for lease in book.expire_due(500)] == [110]


def test_due_leases_end_in_the_order_of_their_branches_and_those_of_the_owner_stay() -> None:
    book = LeaseBook()
    for number, worker in ((3, "bob"), (1, "carol"), (2, "anna"), (4, "bob")):
        granted(book, number, worker=worker)
    book.renew("lea-4", worker="bob", now_ms=20, lifetime_ms=500)
    assert [lease.id for lease in book.expire_due(110, but="anna")] == ["lea-1", "lea-3"]
    assert [lease.id for lease in book.live_by_branch().values()] == ["lea-2", "lea-4"]
    assert [lease.id for lease in book.expire_due(110)] == ["lea-2"]


def test_each_lease_of_a_branch_has_the_next_term_and_other_branches_begin_at_one() -> None:
    book = LeaseBook()
    for number in (1, 2, 3):
        assert granted(book, number, at=7).term == number
        book.close(f"lea-{number}", Event.REVOKE)
    assert granted(book, 4).term == 1


def test_asking_again_after_the_end_returns_the_ended_lease_and_opens_nothing() -> None:
    book = LeaseBook()
    granted(book, 1)
    ended = book.close("lea-1", Event.RESULT)
    assert granted(book, 1) == ended
    assert book.live_by_branch() == {}


@each(("at", "worker"), [(2, "bob"), (1, "carol")])
def test_the_id_of_a_lease_is_not_given_to_another_branch_or_worker(at: int, worker: str) -> None:
    book = LeaseBook()
    first = granted(book, 1)
    said = refusal(granted, book, 1, at=at, worker=worker)
    assert said == ("input.invalid", "the lease id belongs to another lease", {})
    assert book.live_by_branch() == {branch(1): first}


def test_exactly_as_many_leases_as_allowed_are_kept_and_live_ones_are_never_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "LEASES_KEPT_MAX", 3)
    book = LeaseBook()
    for number in (1, 2, 3):
        granted(book, number)
    said = refusal(granted, book, 4)
    assert said == ("lease.busy", "more than 3 live leases", {})
    assert list(book.live_by_branch()) == [branch(1), branch(2), branch(3)]
    book.close("lea-2", Event.RESULT)
    assert book.get("lea-2").state is State.DONE
    granted(book, 4)
    assert [book.get(f"lea-{number}").live for number in (1, 3, 4)] == [True] * 3
    assert refusal(book.get, "lea-2")[::2] == ("lease.unknown", {"lease": "lea-2"})


# --- spend and claims ------------------------------------------------------------------------------------------------

ALLOWED = BranchLimits(iterations=5, steps=40, milliseconds=9_000)
MOST = {
    "iterations": 5,
    "steps": 40 + limits.LEASE_STEPS_OVER_MAX,
    "milliseconds": 2_000 + limits.CLOCK_SKEW_S * 1_000,
}


def test_a_worker_may_have_spent_all_that_its_lease_allows() -> None:
    check_spend(ALLOWED, Spend(**MOST), passed_ms=2_000)
    check_spend(ALLOWED, Spend(), passed_ms=0)


@each("name", MOST)
def test_one_more_than_the_lease_allows_is_refused(name: str) -> None:
    spend = Spend(**{name: MOST[name] + 1})
    said = f"{MOST[name] + 1} {name} where {MOST[name]} are the most"
    assert refusal(check_spend, ALLOWED, spend, passed_ms=2_000) == ("lease.spend", said, {})


def test_a_clock_that_runs_behind_leaves_the_skew_that_is_allowed() -> None:
    skew_ms = limits.CLOCK_SKEW_S * 1_000
    check_spend(ALLOWED, Spend(milliseconds=skew_ms), passed_ms=-5_000)
    code, said, _ = refusal(check_spend, ALLOWED, Spend(milliseconds=skew_ms + 1), passed_ms=-5_000)
    assert (code, said) == ("lease.spend", f"{skew_ms + 1} milliseconds where {skew_ms} are the most")


def test_a_claim_is_refused_at_the_step_that_is_no_action_of_a_search() -> None:
    prefix = (click("Shelf"),)
    said = refusal(check_claim, prefix, (*prefix, click("Cup"), b"\xff", b"\xff"))
    assert said == ("claim.invalid", "step 3: action: indefinite length or reserved form", {"step": 3})
    said = refusal(check_claim, prefix, (click("Cup"),))
    assert said == ("claim.invalid", "the claim does not go through the leased branch", {})
