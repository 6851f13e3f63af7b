"""Files, windows, editors and what else a page has beside its controls. In real browsers only."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.ports import Browser, Given, GivenFile, Outcome, Page
from protocol.errors import MeshError
from protocol.page.action import Action, Goto, Locator, Upload, Wait
from protocol.recording.session import Profile
from protocol.risk.classes import GuardPolicy
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]
ANY = Locator()


@pytest_asyncio.fixture(loop_scope="module")
async def page(browser: Browser, site: PageServer) -> AsyncIterator[Page]:
    opened = await (await browser.open(Profile(), GuardPolicy())).page()
    await opened.perform(Goto(url=site.origin + "/parts.html"))
    yield opened
    await opened.close()


async def use(page: Page, action: Action, role: str, name: str, given: Given = Given()) -> Outcome:  # noqa: B008 - frozen
    return await page.perform(action, ref=element(await page.observe(), role, name).ref, given=given)


async def test_files_reach_a_field_and_a_file_chooser(page: Page) -> None:
    given = Given(files=(GivenFile(name="offer.txt", data=b"ten mugs"),))
    action = Upload(target=ANY, files=("letters/offer.txt",))
    await use(page, action, "button", "Letter", given)
    await page.perform(Wait(text="offer.txt: ten mugs"))
    two = Given(files=(GivenFile(name="a.txt", data=b"one"), GivenFile(name="b.txt", data=b"two")))
    await use(page, action, "button", "Attach", two)
    await page.perform(Wait(text="a.txt: one, b.txt: two"))
    with pytest.raises(MeshError) as refused:
        await use(page, action, "button", "Letter", two)
    assert refused.value.code == "action.not_possible"
    with pytest.raises(MeshError, match="opens no file chooser"):
        await page.perform(
            action, ref=element(await page.observe(), "heading", "Parts").ref, given=given, timeout_ms=800
        )
