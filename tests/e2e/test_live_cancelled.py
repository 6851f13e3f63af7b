"""What becomes of an action in a live session whose caller goes away: real Chromium, a site that does not answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from adapters.ports.browser import Browser
from protocol.recording.records.session import Step
from protocol.recording.records.verdict import Verdict
from tests.browsers import Borrowed
from tests.sites.pages.server import PageServer
from tests.unit.test_live_sessions import Bench, ref_of

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

_POLL_S = 0.01
_PROMPT_S = 40.0
"""Less than the wait that is given up here takes, on a slow machine too; the steps tell of the navigation and the click."""


class ChromiumBench(Bench):
    """Live sessions in a real browser."""

    def __init__(self, browser: Browser) -> None:
        super().__init__()
        self._browser = browser

    async def _start(self) -> Any:
        return Borrowed(self._browser)

    async def steps(self, session: str) -> list[Step]:
        """Of the first page that it recorded."""
        shown = await self.call("show", session)
        return await self.store.steps(shown.recorded[0].id)


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[PageServer]:
    server = PageServer()
    await server.start()
    yield server
    server.hold.set()
    await server.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def bench(browser: Browser) -> AsyncIterator[ChromiumBench]:
    made = ChromiumBench(browser)
    await made.witness.load()
    yield made
    await made.live.close()
    await made.browsers.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)


async def cancelled(task: asyncio.Task[Any]) -> None:
    """Cancel ``task`` as the control API does for a client that went away, and await its end."""
    task.cancel()
    async with asyncio.timeout(_PROMPT_S):
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def test_a_wait_whose_caller_is_gone_ends_at_once_and_the_session_goes_on(
    bench: ChromiumBench, site: PageServer, caplog: pytest.LogCaptureFixture
) -> None:
    opened = await bench.call("open", url=f"{site.origin}/form.html")
    session = opened.session
    waiting = asyncio.create_task(bench.call("wait", session, text="zzz", time=60.0))
    await until(lambda: bench.live._open[session].record.actions == 2)
    await cancelled(waiting)
    async with asyncio.timeout(_PROMPT_S):
        assert (await bench.call("snapshot", session)).title == "Every control"
        await bench.call("press", session, key="Tab")
    assert [(step.ok, step.error) for step in await bench.steps(session)] == [
        (True, ""),
        (False, "internal.cancelled"),
        (True, ""),
    ]
    closed = await bench.call("close", session)
    assert [(each.verdict, each.steps) for each in closed.recorded] == [(Verdict.PARTIAL, 3)]
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_navigation_whose_caller_is_gone_is_given_up_and_opens_nothing_later(
    bench: ChromiumBench, site: PageServer
) -> None:
    opened = await bench.call("open", url=f"{site.origin}/form.html")
    session = opened.session
    going = asyncio.create_task(bench.call("navigate", session, url=f"{site.origin}/held.html"))
    await asyncio.wait_for(site.held.wait(), 120)
    await cancelled(going)
    async with asyncio.timeout(_PROMPT_S):
        assert (await bench.call("snapshot", session)).url == f"{site.origin}/form.html"
    site.hold.set()
    acted = await bench.call("wait", session, time=0.5)
    assert acted.observation.url == f"{site.origin}/form.html"
    assert [step.error for step in await bench.steps(session)] == ["", "internal.cancelled", ""]


async def test_a_click_that_has_begun_is_recorded_as_what_it_was_although_its_caller_is_gone(
    bench: ChromiumBench, site: PageServer
) -> None:
    site.extra["/asks.html"] = "<title>Asks</title><button onclick=\"fetch('/held.html')\">Load more</button>"
    opened = await bench.call("open", url=f"{site.origin}/asks.html")
    session = opened.session
    clicking = asyncio.create_task(bench.call("click", session, ref=ref_of(opened.observation, "Load more")))
    await asyncio.wait_for(site.held.wait(), 120)
    await cancelled(clicking)
    assert [(step.ok, step.error) for step in await bench.steps(session)] == [(True, "")] * 2
    await bench.call("snapshot", session)


async def test_an_opening_whose_caller_is_gone_leaves_no_live_session_open(
    bench: ChromiumBench, site: PageServer
) -> None:
    opening = asyncio.create_task(bench.call("open", url=f"{site.origin}/held.html"))
    await asyncio.wait_for(site.held.wait(), 120)
    await cancelled(opening)
    (left,) = (await bench.call("list", all=True)).sessions
    assert (left.reason, bench.live._open) == ("failed", {})
