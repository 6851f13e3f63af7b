"""The pool of browsers: how many contexts there are, who waits, what a crash ends, when a browser is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from adapters.ports.browser import Context
from node.live.browsers import Browsers
from node.verbs.caller import Caller, CallerKind, called_by
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.twins.browser import Document, MemoryBrowser, MemorySite

HOME = "http://shop.test/"


class Started:
    """The browsers that were started, and what keeps the next one from it."""

    def __init__(self) -> None:
        self.browsers: list[MemoryBrowser] = []
        self.starting = 0
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.fails = ""

    async def __call__(self) -> MemoryBrowser:
        self.starting += 1
        await self.may_start.wait()
        if self.fails:
            raise MeshError(self.fails)
        self.browsers.append(MemoryBrowser(MemorySite({HOME: Document(title="Shop")})))
        return self.browsers[-1]

    @property
    def running(self) -> list[bool]:
        """Whether each of them runs still."""
        return [not browser.has_ended for browser in self.browsers]


async def opened(browsers: Browsers, **more: float) -> Context:
    return await browsers.context(Profile(), GuardPolicy(), **more)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110  (there is no event to wait for)
            await asyncio.sleep(0.001)


async def code(call: Awaitable[object]) -> str:
    with pytest.raises(MeshError) as caught:
        await call
    return caught.value.code


async def title(context: Context) -> str:
    return (await (await context.page()).perform(Goto(url=HOME))).observation.title


async def test_what_the_tunnels_of_all_browsers_refused_is_counted_also_of_those_that_are_closed() -> None:
    class Walled(MemoryBrowser):
        @property
        def turned_away(self) -> Mapping[tuple[str, str], int]:
            return {("page", "CONNECT"): 2}

    async def start() -> MemoryBrowser:
        return Walled(MemorySite({}))

    browsers = Browsers(start, contexts_per_browser_max=1)
    assert browsers.turned_away == {}
    first, _ = await opened(browsers), await opened(browsers)
    assert browsers.turned_away == {("page", "CONNECT"): 4}
    await first.close()
    await browsers.close()
    assert browsers.turned_away == {("page", "CONNECT"): 4}


async def test_beyond_the_cap_callers_are_served_in_the_order_in_which_they_came() -> None:
    browsers = Browsers(Started(), contexts_max=2)
    held = [await opened(browsers) for _ in range(2)]
    served: list[int] = []

    async def wait(number: int) -> Context:
        context = await opened(browsers)
        served.append(number)
        return context

    waiting = [asyncio.create_task(wait(number)) for number in range(4)]
    await until(lambda: browsers.waiting == 4)
    assert (browsers.contexts, served) == (2, [])
    for number in range(4):
        await held[number].close()
        held.append(await waiting[number])
        assert (browsers.contexts, served) == (2, list(range(number + 1)))
    await browsers.close()


async def test_whoever_comes_anew_does_not_pass_those_who_wait() -> None:
    browsers = Browsers(Started(), contexts_max=1)
    held = await opened(browsers)
    first = asyncio.create_task(opened(browsers))
    await until(lambda: browsers.waiting == 1)
    await held.close()
    assert await code(opened(browsers, wait_s=0.01)) == "live.busy"
    await first
    await browsers.close()


async def test_a_full_queue_and_a_long_wait_are_busy_and_cost_no_place() -> None:
    browsers = Browsers(Started(), contexts_max=1, queue_max=1, queue_s=0.05)
    held = await opened(browsers)
    waits = asyncio.create_task(opened(browsers))
    await until(lambda: browsers.waiting == 1)
    assert await code(opened(browsers)) == "live.busy"
    assert await code(waits) == "live.busy"
    assert browsers.waiting == 0
    await held.close()
    assert await title(await opened(browsers)) == "Shop"
    await browsers.close()


@pytest.mark.parametrize("granted", [False, True])
async def test_a_caller_that_gives_up_takes_no_place_not_even_one_it_was_just_given(granted: bool) -> None:
    browsers = Browsers(Started(), contexts_max=1)
    held = await opened(browsers)
    first, second = [asyncio.create_task(opened(browsers)) for _ in range(2)]
    await until(lambda: browsers.waiting == 2)
    closing = asyncio.create_task(held.close())
    while granted and browsers.contexts:  # noqa: ASYNC110
        await asyncio.sleep(0)  # no longer: in the next turn it would have its context
    first.cancel()
    await closing
    got = await asyncio.wait_for(second, 120)
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (browsers.contexts, browsers.waiting) == (1, 0)
    await got.close()
    assert browsers.contexts == 0
    await browsers.close()


def by(kind: CallerKind, browsers: Browsers, **more: float) -> asyncio.Task[Context]:
    """A context that a caller of this kind asks for."""
    with called_by(Caller(kind=kind, name="somebody")):
        return asyncio.create_task(opened(browsers, **more))


@pytest.mark.parametrize("guest", [CallerKind.AGENT, CallerKind.PEER])
@pytest.mark.parametrize("host", [CallerKind.OWNER, CallerKind.SCHEDULE, CallerKind.NODE])
async def test_agents_and_peers_leave_the_share_of_the_owner_alone(guest: CallerKind, host: CallerKind) -> None:
    """Guard: node/live/browsers/places.py, Places.take."""
    browsers = Browsers(Started(), contexts_max=5, contexts_for_owner=2)
    held = [await by(guest, browsers) for _ in range(3)]
    waits = by(guest, browsers)
    await until(lambda: browsers.waiting == 1)
    assert await code(by(guest, browsers, wait_s=0.01)) == "live.busy"
    for _ in range(2):
        await by(host, browsers, wait_s=0.01)
    assert await code(by(host, browsers, wait_s=0.01)) == "live.busy"
    assert browsers.contexts == 5
    await held[0].close()
    await waits
    await browsers.close()


async def test_the_owner_may_use_the_places_that_agents_leave_free() -> None:
    browsers = Browsers(Started(), contexts_max=3, contexts_for_owner=1)
    held = [await by(CallerKind.OWNER, browsers) for _ in range(3)]
    assert await code(by(CallerKind.AGENT, browsers, wait_s=0.01)) == "live.busy"
    await held[0].close()
    await by(CallerKind.AGENT, browsers)
    await browsers.close()


async def test_agents_that_fill_their_queue_do_not_keep_the_owner_from_waiting() -> None:
    browsers = Browsers(Started(), contexts_max=2, contexts_for_owner=1, queue_max=1)
    agent, owner = [await by(kind, browsers) for kind in (CallerKind.AGENT, CallerKind.OWNER)]
    waits = by(CallerKind.AGENT, browsers)
    await until(lambda: browsers.waiting == 1)
    assert await code(by(CallerKind.AGENT, browsers)) == "live.busy"
    waits_too = by(CallerKind.OWNER, browsers)
    await until(lambda: browsers.waiting == 2)
    await agent.close()
    await owner.close()
    await asyncio.gather(waits, waits_too)
    assert (browsers.contexts, browsers.waiting) == (2, 0)
    await browsers.close()


async def test_one_place_is_left_to_agents_whatever_the_share_of_the_owner() -> None:
    browsers = Browsers(Started(), contexts_max=1, contexts_for_owner=6)
    held = await by(CallerKind.AGENT, browsers)
    await held.close()
    await browsers.close()


async def test_an_agent_that_gives_up_in_the_queue_takes_no_place_of_agents() -> None:
    browsers = Browsers(Started(), contexts_max=2, contexts_for_owner=0)
    held = [await by(CallerKind.OWNER, browsers) for _ in range(2)]
    waits = by(CallerKind.AGENT, browsers)
    await until(lambda: browsers.waiting == 1)
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)
    for context in held:
        await context.close()
    got = [await by(CallerKind.AGENT, browsers, wait_s=0.01) for _ in range(2)]
    assert len(got) == browsers.contexts == 2
    await browsers.close()


async def test_closing_refuses_agents_that_wait_too() -> None:
    browsers = Browsers(Started(), contexts_max=2, contexts_for_owner=1)
    await by(CallerKind.AGENT, browsers)
    waits = by(CallerKind.AGENT, browsers)
    await until(lambda: browsers.waiting == 1)
    await browsers.close()
    assert await code(waits) == "node.stopped"


async def test_closing_a_context_twice_frees_one_place() -> None:
    browsers = Browsers(Started(), contexts_max=1)
    held = await opened(browsers)
    await asyncio.gather(held.close(), held.close())
    await held.close()
    await opened(browsers)
    assert await code(opened(browsers, wait_s=0.01)) == "live.busy"
    await browsers.close()


async def test_contexts_fill_one_browser_before_another_is_started() -> None:
    started = Started()
    browsers = Browsers(started, contexts_per_browser_max=2)
    held = [await opened(browsers) for _ in range(5)]
    assert (len(started.browsers), browsers.running, browsers.contexts) == (3, 3, 5)
    await held[0].close()
    await held[4].close()
    again = await opened(browsers)
    assert len(started.browsers) == 3
    started.browsers[0].crash()
    assert await code(again.page()) == "browser.crashed"
    await browsers.close()


async def test_callers_at_once_start_no_more_browsers_than_they_need() -> None:
    started = Started()
    browsers = Browsers(started, contexts_per_browser_max=4)
    await asyncio.gather(*(opened(browsers) for _ in range(8)))
    assert started.starting == 2
    await browsers.close()


async def test_a_crash_ends_the_contexts_of_that_browser_and_says_so_to_each_and_no_other() -> None:
    started = Started()
    browsers = Browsers(started, contexts_per_browser_max=2)
    held = [await opened(browsers) for _ in range(4)]
    pages = [await context.page() for context in held]
    started.browsers[0].crash()
    await until(lambda: browsers.running == 1)
    for number in (0, 1):
        assert await code(pages[number].observe()) == "browser.crashed"
        assert await code(held[number].state()) == "browser.crashed"
    for number in (2, 3):
        assert (await pages[number].perform(Goto(url=HOME))).observation.title == "Shop"
    assert await title(await opened(browsers)) == "Shop"
    assert started.running == [False, True, True]
    for context in held:
        await context.close()
    assert browsers.contexts == 1
    await browsers.close()


async def test_a_browser_that_nobody_saw_crash_is_replaced_for_the_next_caller() -> None:
    started = Started()
    browsers = Browsers(started, idle_s=60)
    await (await opened(browsers)).close()
    started.browsers[0].crash()
    assert await title(await opened(browsers)) == "Shop"
    assert started.running == [False, True]
    await browsers.close()


async def test_a_browser_is_closed_after_a_pause_without_contexts_and_not_before() -> None:
    started = Started()
    browsers = Browsers(started, idle_s=0.1)
    held = await opened(browsers)
    await held.close()
    again = await opened(browsers)  # within the pause
    await asyncio.sleep(0.2)
    assert started.running == [True]
    await again.close()
    await until(lambda: started.running == [False])
    assert browsers.running == 0
    assert await title(await opened(browsers)) == "Shop"
    assert started.running == [False, True]
    await browsers.close()


async def test_asking_which_browser_it_is_starts_one_and_keeps_no_place() -> None:
    started = Started()
    browsers = Browsers(started, idle_s=0.01)
    assert (await browsers.info()).name == "memory"
    assert (await browsers.info()).name == "memory"
    assert started.starting == 1
    await until(lambda: started.running == [False])
    await browsers.close()


async def test_a_browser_that_does_not_start_is_told_to_all_who_wait_for_it_and_tried_again_by_the_next() -> None:
    started = Started()
    started.fails = "browser.launch"
    started.may_start.clear()
    browsers = Browsers(started, contexts_max=2)
    waiting = [asyncio.create_task(opened(browsers)) for _ in range(2)]
    await until(lambda: browsers.contexts == 2)
    started.may_start.set()
    assert [await code(task) for task in waiting] == ["browser.launch", "browser.launch"]
    assert (started.starting, browsers.contexts, browsers.running) == (1, 0, 0)
    started.fails = ""
    for _ in range(2):
        assert await title(await opened(browsers)) == "Shop"
    await browsers.close()


async def test_a_caller_that_gives_up_amid_the_start_leaves_a_browser_that_is_closed_after_the_pause() -> None:
    started = Started()
    started.may_start.clear()
    browsers = Browsers(started, idle_s=0.01)
    waiting = asyncio.create_task(opened(browsers))
    await until(lambda: started.starting == 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    started.may_start.set()
    await until(lambda: started.running == [False])
    assert (browsers.contexts, browsers.running) == (0, 0)
    await browsers.close()


async def test_closing_amid_a_start_leaves_no_browser_and_refuses_everybody() -> None:
    started = Started()
    started.may_start.clear()
    browsers = Browsers(started, contexts_max=1)
    opening, waiting = asyncio.create_task(opened(browsers)), asyncio.create_task(opened(browsers))
    await until(lambda: browsers.waiting == 1 and started.starting == 1)
    closing = asyncio.create_task(browsers.close())
    await asyncio.sleep(0)
    started.may_start.set()
    await asyncio.wait_for(closing, 120)
    assert started.running == [False]
    assert [await code(task) for task in (opening, waiting)] == ["node.stopped", "node.stopped"]
    assert await code(opened(browsers)) == "node.stopped"
    assert await code(browsers.info()) == "node.stopped"
    await browsers.close()
    assert started.starting == 1
