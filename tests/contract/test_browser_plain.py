"""Plain reads of files are sent without a pause; nothing else is, and no policy is left out by it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import pytest
import pytest_asyncio

from adapters.browser.egress.judge import BrowserJudge
from adapters.browser.launch.chromium import launcher
from adapters.ports.browser import Browser, Page
from protocol.page.actions.action import Goto, Scroll
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
FILES: Final = "".join(f"<img src=/pictures/{number}.png>" for number in range(3)) + (
    "<link rel=stylesheet href=/shown.css?v=2><script src=/shown.js></script>"
)
DOUBTFUL: Final = (
    "<img src=/account/close?x><img src=/%64elete/3.png><img src=/Delete?x><img src=/innocent>"
    "<link rel=prefetch href=/remove><script>fetch('/plain.png')</script>"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judged() -> AsyncIterator[tuple[Browser, list[str]]]:
    """A browser, and the addresses of the requests that were paused in it."""
    paused: list[str] = []
    judge = BrowserJudge._paused

    def noted(self: BrowserJudge, event: Mapping[str, Any]) -> None:
        paused.append("/" + event["request"]["url"].split("/", 3)[3])
        judge(self, event)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BrowserJudge, "_paused", noted)
        browser = await launcher(SETTINGS)()
    yield browser, paused
    await browser.close()


async def opened(browser: Browser, policy: GuardPolicy) -> Page:
    return await (await browser.open(Profile(), policy)).page()


async def test_plain_reads_of_a_site_that_was_let_through_are_not_paused_and_all_else_is(
    judged: tuple[Browser, list[str]], site: PageServer
) -> None:
    """Guard: adapters/browser/egress/plain.py, doubtful."""
    browser, paused = judged
    page = await opened(browser, GuardPolicy())
    await shown(page, site, "<p>first")
    paused.clear()
    site.reached.clear()
    await shown(page, site, FILES)
    await page.perform(Scroll())
    assert {f"GET /pictures/{number}.png" for number in range(3)} | {"GET /shown.css?v=2", "GET /shown.js"} <= set(
        site.reached
    )
    assert [path for path in paused if path not in ("/shown.html", "/favicon.ico")] == []
    site.reached.clear()
    await shown(page, site, DOUBTFUL)
    await page.perform(Scroll())
    await page.close()
    # A picture whose address is harmless is not paused; where it is redirected to is.
    assert {"/account/close?x", "/%64elete/3.png", "/Delete?x", "/remove", "/account/close?confirm=1"} <= set(paused)
    assert "/plain.png" in paused
    assert [entry for entry in site.reached if entry.startswith(("GET /account", "GET /Delete", "GET /remove"))] == []


async def test_a_page_under_another_policy_is_judged_by_its_own(
    judged: tuple[Browser, list[str]], site: PageServer
) -> None:
    """Guard: adapters/browser/egress/plain.py, PlainReads.admit."""
    browser, _ = judged
    other = site.origin.replace("127.0.0.1", "localhost")
    free = await opened(browser, GuardPolicy())
    await shown(free, site, FILES)
    strict = await opened(browser, GuardPolicy(origins=(other,)))
    site.extra["/shown.html"] = f"<img src={site.origin}/pictures/far.png><img src={other}/pictures/near.png>"
    outcome = await strict.perform(Goto(url=f"{other}/shown.html"))
    assert dict(zip(outcome.blocked, outcome.blocked_by, strict=True)) == {
        f"GET {site.origin}/pictures/far.png": "origin"
    }
    assert "GET /pictures/near.png" in site.reached
    assert "GET /pictures/far.png" not in site.reached
    await free.close()
    await strict.close()
