"""On a busy machine Chromium tells late what it does: what is late is not taken for what never comes."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import pytest
from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from adapters.browser.egress.activity import Activity
from adapters.browser.egress.judge import BrowserJudge
from adapters.browser.egress.network import NetworkGuard
from adapters.browser.egress.windows import Windows
from adapters.browser.page.opening import until_opened
from adapters.browser.page.tabs import Tabs
from protocol.risk.requests.requests import GuardPolicy

pytestmark = pytest.mark.virtual_time
CLOSE = "http://shop.test/account/close"


def guarded() -> tuple[NetworkGuard, Activity]:
    activity = Activity()
    return NetworkGuard(GuardPolicy(), activity, None), activity


async def aborted(after_s: float) -> None:
    await asyncio.sleep(after_s)
    raise PlaywrightError("net::ERR_ABORTED")


async def test_a_navigation_that_was_refused_fails_however_late_its_end_is_told() -> None:
    """Taken out: ``came`` in ``until_opened``."""
    guard, activity = guarded()
    assert not guard.permits("GET", CLOSE, "document", True, "", {})
    with pytest.raises(PlaywrightError):
        await until_opened(aborted(5), activity, guard)


async def test_a_page_that_came_and_asked_for_a_refused_one_is_open_though_it_never_says_so() -> None:
    guard, activity = guarded()
    opening = asyncio.ensure_future(until_opened(asyncio.sleep(1_000_000), activity, guard))
    await asyncio.sleep(1)
    activity._navigated({"frame": {"id": ""}})
    guard.permits("GET", CLOSE, "document", True, "", {})
    await asyncio.wait_for(opening, 5)


async def test_a_document_that_loads_when_its_tab_is_met_is_waited_for_unless_its_end_is_told_before_the_answer() -> (
    None
):
    """Taken out: ``_turns`` in ``Activity.join``."""
    for ends in (False, True):
        activity = Activity()

        async def loads(activity: Activity = activity, ends: bool = ends) -> bool:
            if ends:
                activity._dom_ready({})
                activity._stopped({"frameId": ""})
            return True

        await activity.join(loads())
        assert (activity.navigating, activity.idle) == (not ends, ends)


async def test_a_window_that_sends_a_form_is_not_opened_as_a_page_though_it_asks_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Taken out: the length of ``_POP_UP_S``."""
    monkeypatch.setattr(time, "monotonic", asyncio.get_running_loop().time)
    guard, _ = guarded()
    following = asyncio.ensure_future(guard.may_follow(CLOSE))
    await asyncio.sleep(2)
    guard.pop_up("POST", CLOSE)
    assert not await following


async def test_windows_that_begin_one_after_the_other_are_all_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken out: ``stirred`` in ``Tabs._opened``."""
    monkeypatch.setattr(time, "monotonic", asyncio.get_running_loop().time)
    windows = Windows()

    async def begin() -> None:
        for name in "abc":
            await asyncio.sleep(1.5)
            windows.take(name)
            windows.arrived(name)

    beginning = asyncio.ensure_future(begin())
    await Tabs(windows)._opened(0, 3, 100, lambda: False)
    assert windows.begun == 3
    await beginning


class _Frame:
    """A frame of Playwright, in a process that may never answer; its page and context, and its own CDP session."""

    def __init__(self, name: str = "", *, hangs: bool = False) -> None:
        self._name, self._hangs = name, hangs
        self.page = self.context = self.main_frame = self
        self.frames: list[_Frame] = []

    async def new_cdp_session(self, frame: _Frame) -> _Frame:
        return frame

    async def send(self, method: str) -> dict[str, Any]:
        if self._hangs:
            await asyncio.Event().wait()
        return {"frameTree": {"frame": {"id": self._name}}}

    async def detach(self) -> None:
        """Nothing is left of it."""


async def test_a_process_that_hangs_has_no_request_of_another_one_refused() -> None:
    """Taken out: that ``BrowserJudge._owner`` takes the first answer."""
    judge, (guard, _), page = BrowserJudge(cast(CDPSession, _Frame())), guarded(), _Frame()
    page.frames = [page, _Frame(hangs=True), _Frame("asks")]
    judge._pages[guard] = cast(Page, page)
    assert await asyncio.wait_for(judge._owner("asks"), 1) is guard
    assert await judge._owner("another") is None
