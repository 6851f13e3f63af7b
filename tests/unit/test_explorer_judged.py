"""How a claim is judged: which are replayed, how often, and what is said and counted of each; and the proofs of peers' logs."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from node.base.tasks import Tasks
from node.explorer.coordinating.claims import Claims
from node.explorer.progress import Progress, VerifiedSuccess
from node.explorer.sharing.log_proofs import DeltaProofs, LogProofs
from node.signing import Feed
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.messages import Assignment, BranchLimits, BranchResult, Spend
from tests.mesh_memory import QuickClock
from tests.trees import SEARCH, click, public_key
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.virtual_time
ANNA, BRUNO = (ids.node_id(public_key(name)) for name in ("anna", "bruno"))
LEASE = "lea-AAAAAAAAAAAAAAAAAAAB6"
PATH = (click("one"), click("two"))
FOUND = VerifiedSuccess(session="ses-1", path=PATH, claimed_by=BRUNO)
ASSIGNED = Assignment(
    search=SEARCH,
    lease=LEASE,
    branch=bytes(16),
    prefix=PATH[:1],
    prefix_state=b"",
    limits=BranchLimits(iterations=1, steps=1, milliseconds=1),
    expires_ms=1,
)


class Court:
    """Claims whose replays end as they are told to; the last way to end goes for all that follow."""

    def __init__(self, *ends: str | VerifiedSuccess | float | None) -> None:
        self.ends = list(ends)
        self.progress, self.clock, self.store = Progress(), QuickClock(), MemoryStore()
        self.told: list[dict[str, Any]] = []
        self.replays: list[tuple[tuple[bytes, ...], str]] = []
        feed = Feed(self.store, self.clock, lambda: ANNA)
        self.claims = Claims(self.progress, self.clock, self._verify, self.told.append, ANNA, feed)

    async def _verify(self, path: tuple[bytes, ...], worker: str) -> VerifiedSuccess | None:
        self.replays.append((path, worker))
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if isinstance(end, str):
            raise MeshError(end)
        if isinstance(end, float):
            await asyncio.sleep(end)
            return FOUND
        return end

    async def judge(self, lease: str = LEASE) -> VerifiedSuccess | None:
        """Judge a claim of Bruno's."""
        return await self.claims.judge(BRUNO, _claim(PATH, lease=lease))

    @property
    def counted(self) -> tuple[dict[str, int], list[str]]:
        """False claims by worker, and the leases whose claim was judged."""
        return self.progress.claims_false, self.progress.claims_checked


def _claim(path: tuple[bytes, ...], outcome: str = "claim", lease: str = LEASE) -> BranchResult:
    return BranchResult(search=SEARCH, lease=lease, branch=bytes(16), outcome=outcome, spend=Spend(), claim=path)  # type: ignore[arg-type]


async def test_a_claim_that_holds_is_replayed_once_and_told() -> None:
    court = Court(FOUND)
    assert await court.judge() == FOUND
    assert court.replays == [(PATH, BRUNO)]
    assert court.told == [{"claim": 2, "peer": BRUNO}]
    assert court.counted == ({}, [LEASE])
    assert await court.judge() is None, "it was judged"
    assert len(court.replays) == 1
    assert (await court.store.feed(after=0)).changes == ()


async def test_a_claim_that_does_not_hold_is_counted_told_and_in_the_feed() -> None:
    court = Court(None)
    assert await court.judge() is None
    assert court.told == [{"claim": 2, "peer": BRUNO}, {"claim_refused": 2, "peer": BRUNO}]
    assert court.counted == ({BRUNO: 1}, [LEASE])
    (change,) = (await court.store.feed(after=0)).changes
    assert (change.kind.value, change.ids) == ("claim.refused", (LEASE, SEARCH, BRUNO))


async def test_who_has_lied_three_times_is_a_liar_and_not_replayed() -> None:
    court = Court(None)
    for number in range(limits.FALSE_CLAIMS_PER_PEER_MAX):
        assert not court.claims.is_liar(BRUNO)
        await court.judge(f"lease {number}")
    assert court.claims.is_liar(BRUNO)
    assert not court.claims.is_liar(ANNA)
    assert await court.judge("one more") is None
    assert len(court.replays) == limits.FALSE_CLAIMS_PER_PEER_MAX
    assert court.counted == ({BRUNO: 3}, ["lease 0", "lease 1", "lease 2"])


@pytest.mark.parametrize(
    ("ends", "wanted", "replays", "waited_ms", "false_claims"),
    [
        (("action.target_missing",), None, 1, 0, 1),
        (("risk.refused",), None, 1, 0, 1),
        (("browser.crashed",), None, 2, 3_000, 1),
        (("browser.crashed", FOUND), FOUND, 2, 3_000, 0),
        (("browser.launch", "browser.launch", FOUND), FOUND, 3, 6_000, 0),
        (("browser.launch", "browser.launch", "browser.launch"), "browser.launch", 3, 6_000, 0),
        (("browser.launch", "browser.crashed", "browser.missing"), None, 3, 6_000, 1),
        (("browser.missing", "browser.crashed", "browser.crashed"), None, 3, 6_000, 1),
        (("browser.missing", None), None, 2, 3_000, 1),
        (("live.busy", "browser.unreachable", "live.busy"), "live.busy", 3, 6_000, 0),
        (("store.full",), "store.full", 1, 0, 0),
        (("agent.budget",), "agent.budget", 1, 0, 0),
        (("caller.refused",), "caller.refused", 1, 0, 0),
        (("browser.crashed", "store.full"), "store.full", 2, 3_000, 0),
        ((60.5,), None, 1, 60_000, 1),
        ((59.5,), FOUND, 1, 59_500, 0),
    ],
    ids=str,
)
async def test_what_becomes_of_a_claim_follows_from_what_its_replays_end_with(
    ends: tuple[Any, ...], wanted: Any, replays: int, waited_ms: int, false_claims: int
) -> None:
    court = Court(*ends)
    court.clock._factor = 1.0
    began_ms = court.clock.now_ms()
    if isinstance(wanted, str):
        with pytest.raises(MeshError) as undecided:
            await court.judge()
        assert undecided.value.code == wanted
        assert court.told[1:] == [{"peer": ANNA, "error": wanted}]
        assert court.counted == ({}, [])
    else:
        assert await court.judge() == wanted
        assert court.counted == ({BRUNO: 1} if false_claims else {}, [LEASE])
    assert (len(court.replays), court.clock.now_ms() - began_ms) == (replays, waited_ms)


async def test_claims_are_judged_one_at_a_time() -> None:
    court = Court(5.0)
    first = asyncio.create_task(court.judge("one"))
    second = asyncio.create_task(court.judge("two"))
    await asyncio.sleep(1)
    assert len(court.replays) == 1
    assert (await first, await second) == (FOUND, FOUND)


async def test_a_claim_within_its_lease_passes_and_what_is_no_claim_too() -> None:
    court = Court(FOUND)
    await court.claims.check(BRUNO, ASSIGNED, _claim(PATH))
    await court.claims.check(BRUNO, ASSIGNED, _claim((), outcome="spent"))
    assert (court.progress, court.told) == (Progress(), [])


async def test_a_claim_outside_of_its_lease_counts_as_a_false_one_without_a_replay() -> None:
    court = Court(FOUND)
    with pytest.raises(MeshError) as refused:
        await court.claims.check(BRUNO, ASSIGNED, _claim(PATH[1:]))
    assert refused.value.code == "claim.invalid"
    assert court.counted == ({BRUNO: 1}, [LEASE])
    assert (court.progress.claims, court.replays) == (1, [])
    assert court.told == [{"claim_refused": 1, "peer": BRUNO}]


async def test_a_claim_that_is_put_off_is_not_waited_for_and_after_half_a_minute_it_is_again() -> None:
    court = Court(FOUND)
    court.clock._factor = 1.0
    court.claims.open = 2
    waiting = asyncio.create_task(court.claims.postpone())
    await asyncio.sleep(29.9)
    assert (court.claims.open, court.claims.postponed, waiting.done()) == (1, 1, False)
    await asyncio.sleep(0.2)
    assert (court.claims.open, court.claims.postponed, waiting.done()) == (2, 0, True)
    waiting = asyncio.create_task(court.claims.postpone())
    await asyncio.sleep(1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (court.claims.open, court.claims.postponed) == (2, 0)


# --- proofs ----------------------------------------------------------------------------------------------------------


class Drawn(ManualClock):
    """A clock whose next random number is told."""

    number = 0

    def random(self, count: int) -> bytes:
        """``adapters.ports.Clock.random``."""
        return self.number.to_bytes(count, "big")


class Asked:
    """What is demanded of peers, and how they answer: with an error code, or nothing if they prove it."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.clock = Drawn()
        self.clock.number = 1
        self.demanded: list[tuple[str, bytes]] = []
        self.expelled: list[tuple[str, str]] = []
        self.proofs = LogProofs(self._demand, self.clock)
        self.deltas = DeltaProofs(self.proofs, SEARCH, self.clock, self._expel)

    async def _demand(self, node: str, digest: bytes) -> None:
        self.demanded.append((node, digest))
        answer = self.answers.pop(0) if self.answers else ""
        if answer:
            raise MeshError(answer)

    async def _expel(self, peer: str, code: str) -> None:
        self.expelled.append((peer, code))
        self.deltas.drop(peer)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


async def test_a_proof_is_due_until_one_was_given_and_then_for_one_of_eight() -> None:
    asked = Asked()
    key = (BRUNO, SEARCH, "result")
    assert asked.proofs.is_due(*key)
    await asked.proofs.check(*key, b"sealed")
    assert asked.demanded == [(BRUNO, _digest(b"sealed"))]
    due = []
    for asked.clock.number in range(17):
        due.append(asked.proofs.is_due(*key))
    assert [number for number, is_due in enumerate(due) if is_due] == [0, 8, 16]
    asked.clock.number = 1
    for other in ((ANNA, SEARCH, "result"), (BRUNO, "sea-2", "result"), (BRUNO, SEARCH, "delta")):
        assert asked.proofs.is_due(*other)
        await asked.proofs.check(*other, b"")
        assert not asked.proofs.is_due(*other)
    asked.proofs.forget(SEARCH)
    assert asked.proofs.is_due(*key)
    assert not asked.proofs.is_due(BRUNO, "sea-2", "result")


def test_what_is_drawn_is_below_its_bound_and_takes_all_of_four_bytes() -> None:
    asked = Asked()
    asked.clock.number = 0x01020304
    assert asked.proofs.draw(10**9) == 0x01020304
    assert asked.proofs.draw(7) == 0x01020304 % 7


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("log.not_logged", "log.not_logged"),
        ("log.invalid", "log.not_logged"),
        ("peer.unreachable", "log.unproven"),
        ("log.equivocation", "log.unproven"),
        ("input.invalid", "log.unproven"),
    ],
)
async def test_only_a_log_without_the_artefact_proves_that_it_is_in_none(answer: str, code: str) -> None:
    asked = Asked(answer)
    with pytest.raises(MeshError) as refused:
        await asked.proofs.check(BRUNO, SEARCH, "result", b"sealed")
    assert (refused.value.code, refused.value.detail["node"]) == (code, BRUNO)
    assert asked.proofs.is_due(BRUNO, SEARCH, "result")


@pytest.mark.parametrize(
    ("answers", "code", "asked_times"),
    [
        ((), None, 1),
        (("peer.unreachable",), None, 2),
        (("peer.unreachable",) * 2, None, 3),
        (("peer.unreachable",) * 3, "log.unproven", 3),
        (("peer.unreachable", "log.not_logged"), "log.not_logged", 2),
    ],
    ids=str,
)
async def test_a_proof_is_asked_for_three_times_a_second_apart(
    answers: tuple[str, ...], code: str | None, asked_times: int
) -> None:
    asked = Asked(*answers)
    waiting = asyncio.create_task(asked.proofs.check_patiently(BRUNO, SEARCH, "result", b"sealed"))
    for times in range(1, asked_times):
        await asked.clock.run(999)
        assert len(asked.demanded) == times
        await asked.clock.run(1)
    await asked.clock.run(0)
    assert waiting.done()
    assert getattr(waiting.exception(), "code", None) == code
    assert len(asked.demanded) == asked_times


async def test_of_the_deltas_of_a_peer_one_is_demanded_at_a_time() -> None:
    asked, tasks = Asked(), Tasks()
    asked.clock.number = 1
    asked.deltas.sample(BRUNO, [], tasks)
    assert not tasks._running
    asked.deltas.sample(BRUNO, [b"0", b"1", b"2"], tasks)
    asked.deltas.sample(BRUNO, [b"3"], tasks)
    await asked.clock.run(0)
    assert asked.demanded == [(BRUNO, _digest(b"1"))]
    asked.deltas.sample(BRUNO, [b"4"], tasks)
    await asked.clock.run(0)
    assert len(asked.demanded) == 1, "it has proved one"
    asked.clock.number = limits.LOG_PROOF_ONE_IN
    asked.deltas.sample(BRUNO, [b"5"], tasks)
    await asked.clock.run(0)
    assert asked.demanded[1:] == [(BRUNO, _digest(b"5"))]
    assert asked.expelled == []


async def test_while_a_proof_is_owed_for_too_long_nothing_is_taken_of_its_peer() -> None:
    asked, tasks = Asked(*["peer.unreachable"] * 100), Tasks()
    asked.deltas.check(BRUNO)
    asked.deltas.sample(BRUNO, [b"0"], tasks)
    await asked.clock.run(limits.LOG_PROOF_OWED_S_MAX * 1000)
    asked.deltas.check(BRUNO)
    await asked.clock.run(1)
    asked.deltas.check(ANNA)
    with pytest.raises(MeshError) as owed:
        asked.deltas.check(BRUNO)
    assert (owed.value.code, owed.value.detail) == ("log.unproven", {"node": BRUNO})
    asked.answers.clear()
    await asked.clock.run(8_000)
    asked.deltas.check(BRUNO)
    assert not tasks._running


async def test_a_proof_that_cannot_be_had_is_demanded_again_after_pauses_that_double_up_to_eight_seconds() -> None:
    asked, tasks = Asked(*["peer.unreachable"] * 100), Tasks()
    asked.deltas.sample(BRUNO, [b"0"], tasks)
    times: list[int] = []
    for second in range(32):
        await asked.clock.run(1_000 if second else 0)
        if len(asked.demanded) > len(times):
            times.append(second)
    assert times == [0, 1, 3, 7, 15, 23, 31]
    asked.deltas.drop(BRUNO)
    await asked.clock.run(20_000)
    assert len(asked.demanded) == len(times), "of who is out nothing is demanded"
    assert not tasks._running
    assert asked.expelled == []


async def test_a_peer_that_proves_that_a_delta_is_in_no_log_is_put_out() -> None:
    asked, tasks = Asked("peer.unreachable", "log.not_logged"), Tasks()
    asked.deltas.sample(BRUNO, [b"0"], tasks)
    await asked.clock.run(999)
    assert asked.expelled == []
    await asked.clock.run(1)
    assert asked.expelled == [(BRUNO, "log.not_logged")]
    assert not tasks._running
