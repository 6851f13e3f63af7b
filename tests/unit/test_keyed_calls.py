"""Calls with a key: done once, however often they are made, and by whoever answers after a restart."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from node.agents import KEYED_CALLS, KeyedCalls
from node.verbs import OWNER, Caller, CallerKind
from node.verbs.nodes.approve import Stand
from protocol import limits
from protocol.errors import MeshError
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

AGENT = Caller(kind=CallerKind.AGENT, name="shopper", since_ms=5)
HELD = {"did": ["click"], "held": [{"question": "que-1"}], "question": "", "notes": []}


class Bench:
    """The calls of one node, with work that counts how often it is done."""

    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), ManualClock()
        self.stands: dict[str, Stand] = {}
        self.done = 0
        self.result: Any = {"did": ["click"]}
        self.calls = self.restarted()

    def restarted(self) -> KeyedCalls:
        """The calls of another process on the same store."""
        return KeyedCalls(self.store, self.clock, self._standing)

    async def _standing(self, question: str) -> Stand:
        return self.stands[question]

    def answer(self, state: str, held: str = "") -> None:
        """The outcome of the question."""
        self.stands["que-1"] = Stand(id="que-1", state=state, does="", requests=(), risk=4, held=held)  # type: ignore[arg-type]

    async def work(self) -> Any:
        """Done."""
        self.done += 1
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    async def call(self, key: str = "k", caller: Caller = AGENT, verb: str = "live.click", body: bytes = b"{}") -> Any:
        """One call."""
        return await self.calls.once(key, caller, verb, body, self.work)


@pytest.fixture
async def bench() -> Bench:
    """A node without calls."""
    made = Bench()
    await made.store.hold((KEYED_CALLS,))
    await made.calls.load()
    return made


async def test_a_call_that_was_done_is_answered_as_it_was_also_after_a_restart(bench: Bench) -> None:
    first = await bench.call()
    bench.result = {"did": ["something else"]}
    assert await bench.call() == first
    bench.calls = bench.restarted()
    await bench.calls.load()
    assert (await bench.call(), bench.done) == (first, 1)


async def test_a_final_error_is_answered_again_and_one_before_anything_was_done_leaves_the_key_free(
    bench: Bench,
) -> None:
    bench.result = MeshError("live.busy", "wait")
    with pytest.raises(MeshError, match=r"live\.busy"):
        await bench.call()
    bench.result = MeshError("action.not_possible", "covered", ref="e1")
    for _ in range(2):
        with pytest.raises(MeshError, match="covered") as caught:
            await bench.call()
        assert caught.value.detail == {"ref": "e1"}
    assert bench.done == 2


async def test_a_key_belongs_to_its_caller_and_to_one_call(bench: Bench) -> None:
    await bench.call()
    for caller in (OWNER, Caller(kind=CallerKind.AGENT, name="other"), msgspec.structs.replace(AGENT, since_ms=9)):
        await bench.call(caller=caller)
    assert bench.done == 4, "also of an agent that has the name of a removed one"
    for verb, body in (("live.type", b"{}"), ("live.click", b'{"ref":"e2"}')):
        with pytest.raises(MeshError, match=r"call\.key_reused"):
            await bench.call(verb=verb, body=body)
    with pytest.raises(MeshError, match="a key has at most"):
        await bench.call("k" * (limits.CALL_KEY_CHARS_MAX + 1))
    assert bench.done == 4


async def test_a_call_that_began_and_did_not_end_stays_unknown(bench: Bench) -> None:
    """Guard: node/agents/keyed_calls.py, KeyedCalls._again."""
    bench.result = asyncio.CancelledError()
    with pytest.raises(asyncio.CancelledError):
        await bench.call()
    bench.result = {}
    for _ in range(2):
        bench.calls = bench.restarted()
        await bench.calls.load()
        with pytest.raises(MeshError, match=r"call\.unknown"):
            await bench.call()
    assert bench.done == 1


async def test_calls_at_the_same_time_are_one(bench: Bench) -> None:
    going, work = asyncio.Event(), bench.work

    async def slow() -> Any:
        await going.wait()
        return await work()

    bench.work = slow  # type: ignore[method-assign]
    calls = [asyncio.create_task(bench.call()) for _ in range(3)]
    await asyncio.sleep(0)
    going.set()
    assert await asyncio.gather(*calls) == [{"did": ["click"]}] * 3
    assert bench.done == 1


STANDS = [
    ("open", "held", 1, False),
    ("yes", "sending", 1, False),
    ("yes", "sent", 1, True),
    ("used", "", 1, True),
    ("no", "refused", 1, True),
    ("yes", "unknown", 1, True),
    ("yes", "", 2, True),
    ("over", "withdrawn", 2, True),
]
"""State of the question and of its request, how often the work is done then, and if its result is final."""


async def test_a_held_call_is_not_final_and_is_sent_once_after_a_yes() -> None:
    """Guard: node/agents/keyed_calls.py, KeyedCalls._again."""
    for state, held, done, final in STANDS:
        bench = Bench()
        await bench.store.hold((KEYED_CALLS,))
        bench.result = HELD
        bench.answer("open", "held")
        assert (await bench.call())["held"] == HELD["held"]
        bench.answer(state, held)
        bench.result = {"did": ["click"], "held": [], "question": "", "notes": []}
        answer = await bench.call()
        assert (bench.done, bool(answer["held"])) == (done, not final), (state, held)
        assert done == 2 or any("que-1" in note for note in answer["notes"])
        again = await bench.call()
        assert bench.done == done and (not final or again == answer), "and stays so"


async def test_calls_are_forgotten_in_time_and_when_a_caller_has_too_many(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CALLS_KEPT_MAX", 3)
    for number in range(5):
        await bench.call(f"k{number}")
    await bench.call("k", OWNER)
    rows = bench.store.rows(KEYED_CALLS)
    assert len(await rows.find(caller=str(AGENT))) == 3
    await bench.call("k4")
    assert bench.done == 6, "the last ones are known"
    bench.clock.advance(limits.CALLS_KEPT_S * 1_000 + 1)
    await bench.restarted().load()
    assert await rows.find() == []


async def test_a_long_result_is_kept_without_most_of_the_page(bench: Bench) -> None:
    lines = [f"e{number} link" + "x" * 200 for number in range(2_000)]
    bench.result = {"did": ["click"], "notes": [], "observation": {"url": "http://a/", "lines": lines}}
    assert await bench.call() == bench.result
    again = await bench.call()
    assert again["did"] == ["click"] and again["observation"]["lines"][-1] == "# the rest of the page is not kept"
    (kept,) = await bench.store.rows(KEYED_CALLS).find()
    assert len(kept.result) <= limits.CALL_RESULT_BYTES_MAX
