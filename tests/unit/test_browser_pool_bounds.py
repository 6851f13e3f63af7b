"""The pool of browsers in detail: which browser fails whom, how long a page may take, and what is given back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, ClassVar

import pytest

from adapters.ports.browser import Browser, BrowserState
from node.live.browsers.browsers import Browsers, Lent
from node.live.browsers.metering import End, Meter, until_spent
from node.live.browsers.places import Places
from node.live.browsers.pool import Pool
from node.verbs.caller import Caller, CallerKind, called_by
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Back, Goto, Scroll, Wait
from protocol.page.seen.observation import Element, Traits
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.twins.browser import Control, Document, MemoryBrowser, MemoryContext, MemoryPage, MemorySite
from tests.unit.test_browser_pool import HOME, Started, code, opened, title

pytestmark = pytest.mark.virtual_time
AGENT = Caller(kind=CallerKind.AGENT, name="anna")


class Faulty(MemoryBrowser):
    """A browser whose next contexts fail."""

    def __init__(self, *codes: str) -> None:
        super().__init__(MemorySite({HOME: Document(title="Shop")}))
        self.codes = list(codes)

    async def open(
        self, profile: Profile, guard: GuardPolicy, *, state: BrowserState | None = None, tabs: bool = False
    ) -> MemoryContext:
        if self.codes:
            raise MeshError(self.codes.pop(0))
        return await super().open(profile, guard, state=state, tabs=tabs)


@pytest.mark.parametrize(
    ("codes", "raised", "started", "replaced"),
    [
        ((), "", 1, False),
        (("browser.crashed",), "", 2, True),
        (("browser.crashed", "browser.crashed"), "browser.crashed", 2, True),
        (("browser.timeout",), "browser.timeout", 1, True),
        (("input.invalid",), "input.invalid", 1, False),
        (("browser.crashed", "input.invalid"), "input.invalid", 2, True),
    ],
)
async def test_a_browser_that_fails_is_replaced_once_and_gets_nobody_else(
    codes: tuple[str, ...], raised: str, started: int, replaced: bool
) -> None:
    left, made = list(codes), list[Faulty]()

    async def start() -> Browser:
        made.append(Faulty(*left[:1]))
        del left[:1]
        return made[-1]

    browsers = Browsers(start, contexts_max=1)
    if raised:
        assert await code(opened(browsers)) == raised
        assert (browsers.contexts, browsers.waiting) == (0, 0)
    else:
        context = await opened(browsers)
        assert await title(context) == "Shop"
        await context.close()
    assert len(made) == started
    assert await title(await opened(browsers)) == "Shop"  # the place was given back
    assert made[0].has_ended is replaced
    await browsers.close()


async def test_a_browser_that_failed_once_keeps_those_it_has_and_takes_no_more() -> None:
    made: list[Faulty] = []

    async def start() -> Browser:
        made.append(Faulty())
        return made[-1]

    browsers = Browsers(start)
    first = await opened(browsers)
    made[0].codes = ["browser.timeout"]
    assert await code(opened(browsers)) == "browser.timeout"
    assert await title(first) == "Shop"
    second = await opened(browsers)
    assert (len(made), browsers.running, browsers.contexts) == (2, 2, 2)
    await first.close()
    await asyncio.sleep(0)
    assert (made[0].has_ended, browsers.running) == (True, 1)
    await second.close()
    assert (browsers.running, browsers.contexts) == (1, 0)
    await browsers.close()


async def test_a_seat_is_given_back_once() -> None:
    started = Started()
    pool = Pool(started, contexts_per_browser_max=2, idle_s=5)
    seats = [await pool.seat() for _ in range(3)]
    assert (pool.browsers, pool.contexts) == (2, 3)
    assert seats[0].browser is seats[1].browser is not seats[2].browser
    seats[0].leave()
    seats[0].leave(retire=True)
    assert (pool.browsers, pool.contexts) == (2, 2)
    again = await pool.seat()
    assert again.browser in started.browsers
    await pool.close()


async def test_the_fullest_browser_with_room_takes_the_next() -> None:
    pool = Pool(Started(), contexts_per_browser_max=3, idle_s=5)
    seats = [await pool.seat() for _ in range(6)]
    for seat in (seats[0], seats[1], seats[3]):  # 1 is left in the first browser, 2 in the second
        seat.leave()
    assert (await pool.seat()).browser is seats[4].browser
    assert (await pool.seat()).browser is seats[2].browser
    await pool.close()


async def test_a_browser_is_closed_exactly_after_its_pause() -> None:
    started = Started()
    browsers = Browsers(started, idle_s=10)
    context = await opened(browsers)
    await asyncio.sleep(60)
    await context.close()
    await asyncio.sleep(9.9)
    assert started.running == [True]
    await (await opened(browsers)).close()
    await asyncio.sleep(9.9)
    assert (started.running, browsers.running) == ([True], 1)
    await asyncio.sleep(0.2)
    assert (started.running, browsers.running) == ([False], 0)
    assert (await browsers.info()).name == "memory"
    assert started.starting == 2
    await asyncio.sleep(10.1)
    assert started.running == [False, False]
    await browsers.close()


# --- pages -----------------------------------------------------------------------------------------------------------


class Timed(MemoryPage):
    """A page that keeps how long it may take."""

    asked: ClassVar[list[int]] = []

    async def perform(self, action: Action, *, timeout_ms: int = 0, **more: Any) -> Any:
        self.asked.append(timeout_ms)
        return await super().perform(action, timeout_ms=timeout_ms, **more)


async def test_a_page_may_take_as_long_as_is_configured_unless_the_caller_says_otherwise() -> None:
    class Patient(MemoryBrowser):
        def new_page(self, guard: GuardPolicy, kept: Any) -> MemoryPage:
            return Timed(self._site, guard, kept)

    async def start() -> Browser:
        return Patient(MemorySite({HOME: Document(title="Shop"), f"{HOME}b": Document(title="B")}))

    Timed.asked.clear()
    browsers = Browsers(start, step_timeout_ms=11, navigation_timeout_ms=22)
    async with browsers.page(Profile(), GuardPolicy()) as page:
        for action, given in ((Goto(url=HOME), 0), (Goto(url=f"{HOME}b"), 0), (Back(), 0), (Wait(), 0), (Scroll(), 0)):
            await page.perform(action, timeout_ms=given)
        await page.perform(Scroll(), timeout_ms=33)
        await page.perform(Goto(url=HOME), timeout_ms=33)
    assert Timed.asked == [22, 22, 22, 0, 11, 33, 33]
    assert browsers.contexts == 0
    usual = Browsers(start)
    async with usual.page(Profile(), GuardPolicy()) as page:
        await page.perform(Goto(url=HOME))
        await page.perform(Scroll())
    assert Timed.asked[-2:] == [limits.NAVIGATION_TIMEOUT_MS, limits.STEP_TIMEOUT_MS]
    await browsers.close()
    await usual.close()


async def test_a_page_of_the_pool_does_all_that_a_page_does() -> None:
    sizes = Element(ref="", role="combobox", name="Size", options=("Small",), traits=Traits(tag="select"))
    lists = Control(element=sizes, selectors=("css=select",), values=(("Small", "s"),))

    async def start() -> Browser:
        return MemoryBrowser(MemorySite({HOME: Document(title="Shop", controls=(lists,))}))

    browsers = Browsers(start)
    async with browsers.page(Profile(), GuardPolicy()) as page:
        await page.perform(Goto(url=HOME))
        assert (await page.observe()).title == "Shop"
        found = await page.find("css=select")
        assert found is not None
        assert (found.ref, await page.find("css=a")) == ("e1", None)
        assert await page.option_label("e1", "s") == "Small"
        assert (await page.screenshot()).startswith(b"\x89PNG")
        await page.close()
        assert await code(page.observe()) == "browser.crashed"
    await browsers.close()


async def test_the_pages_of_a_context_are_the_same_as_long_as_they_are_open() -> None:
    browsers = Browsers(Started())
    context = await opened(browsers)
    assert isinstance(context, Lent)
    first, second = await context.page(), await context.page()
    assert list(context.pages) == [first, second]
    await first.close()
    assert list(context.pages) == [second]
    assert not context.gone.is_set()
    await asyncio.gather(context.close(), context.close())
    await context.close()
    assert (browsers.contexts, list(context.pages)) == (0, [])
    await browsers.close()


async def test_a_block_with_a_page_closes_it_also_when_it_fails() -> None:
    browsers = Browsers(Started(), contexts_max=1)
    with pytest.raises(ValueError, match="defect"):
        async with browsers.page(Profile(), GuardPolicy()):
            raise ValueError("defect")
    assert browsers.contexts == 0
    async with browsers.page(Profile(), GuardPolicy()):
        assert await code(opened(browsers, wait_s=3)) == "live.busy"
    await browsers.close()


# --- budgets ---------------------------------------------------------------------------------------------------------


class Counted:
    """Meters everybody, and says who may not go on."""

    def __init__(self) -> None:
        self.refuses = ""
        self.counting = 0
        self.ends: list[End] = []

    async def check(self) -> None:
        if self.refuses:
            raise MeshError(self.refuses)

    @contextlib.asynccontextmanager
    async def counted(self, spent: End) -> AsyncIterator[None]:
        self.ends.append(spent)
        self.counting += 1
        try:
            yield
        finally:
            self.counting -= 1

    async def refused(self, error: MeshError) -> None:
        self.refuses = error.code


async def test_who_has_no_time_left_takes_no_place_and_starts_no_browser() -> None:
    started, counted = Started(), Counted()
    browsers = Browsers(started, contexts_max=1)
    browsers.metering = counted
    counted.refuses = "agent.budget"
    assert await code(opened(browsers)) == "agent.budget"
    assert (started.starting, browsers.waiting, browsers.contexts) == (0, 0, 0)
    counted.refuses = ""
    await (await opened(browsers)).close()
    with pytest.raises(MeshError) as spent:
        async with browsers.page(Profile(), GuardPolicy()):
            assert counted.counting == 1
            counted.ends[-1](MeshError("agent.budget"))
            await asyncio.sleep(5)
    assert (spent.value.code, counted.counting, browsers.contexts) == ("agent.budget", 0, 0)
    await browsers.close()


async def test_a_block_that_nobody_ends_goes_to_its_end() -> None:
    counted = Counted()
    async with until_spent(counted.counted):
        assert counted.counting == 1
    assert counted.counting == 0


@pytest.mark.parametrize(
    ("codes", "reason"),
    [
        (("agent.budget",), "budget"),
        (("agent.expired",), "expired"),
        (("control.unauthorised",), "removed"),
        (("store.full",), "uncounted"),
        (("agent.expired", "agent.budget"), "expired"),
    ],
)
async def test_a_meter_says_why_its_agent_may_not_go_on(codes: tuple[str, ...], reason: str) -> None:
    meter, counted = Meter(), Counted()
    await meter.start(counted)
    assert (meter.reason, meter.spent.is_set(), counted.counting) == ("", False, 1)
    for each in codes:
        counted.ends[-1](MeshError(each))
    assert (meter.reason, meter.spent.is_set()) == (reason, True)
    await meter.stop()
    await meter.stop()
    assert counted.counting == 0


# --- places ----------------------------------------------------------------------------------------------------------


async def test_a_full_queue_and_a_wait_in_vain_say_what_they_are() -> None:
    places = Places(1, for_owner=0, queue_max=1, queue_s=2.5)
    free = await places.take()
    waits = asyncio.create_task(places.take())
    await asyncio.sleep(0)
    assert places.waiting == 1
    with pytest.raises(MeshError) as full:
        await places.take()
    assert (full.value.code, full.value.detail) == ("live.busy", {"waiting": 1})
    assert full.value.message == "all browser contexts are in use, and the queue is full"
    with pytest.raises(MeshError) as late:
        await waits
    assert late.value.message == "no browser context became free within 2.5 s"
    assert places.waiting == 0
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    with pytest.raises(MeshError, match="within 0 s"):
        await places.take(0)
    assert loop.time() == began_s
    free()
    await places.take(0.1)


async def test_guests_leave_so_many_places_to_the_owner() -> None:
    for total, for_owner, guests in ((3, 1, 2), (3, 0, 3), (3, 3, 1), (1, 5, 1)):
        places = Places(total, for_owner=for_owner, queue_max=0, queue_s=1)
        with called_by(AGENT):
            taken = [await places.take() for _ in range(guests)]
            assert await code(places.take()) == "live.busy"
        for _ in range(total - guests):
            await places.take()
        assert await code(places.take()) == "live.busy"
        taken[0]()
        with called_by(AGENT):
            await places.take()


async def test_those_who_wait_all_pass_when_it_ends() -> None:
    places = Places(2, for_owner=1, queue_max=9, queue_s=60)
    await places.take()
    with called_by(AGENT):
        await places.take()
        agents = [asyncio.create_task(places.take()) for _ in range(3)]
    owners = [asyncio.create_task(places.take()) for _ in range(2)]
    await asyncio.sleep(0)
    assert places.waiting == 5
    places.open_to_all()
    async with asyncio.timeout(120):
        await asyncio.gather(*agents, *owners)
    assert places.waiting == 0
