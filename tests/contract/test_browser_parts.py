"""Files, windows, editors and what else a page has beside its controls. In real browsers only."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio

from adapters.browser.launch.profile_directory import usual_roots
from adapters.ports.browser import ActionOutcome, Browser, Given, GivenFile, Page
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Drag, Fill, Goto, Hover, Locator, Upload, Wait
from protocol.page.actions.downloads import Download
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()


@pytest_asyncio.fixture(loop_scope="module")
async def page(each_page: Page, site: PageServer) -> Page:
    """That of each way to a Chromium, with everything that the tests use."""
    await each_page.perform(Goto(url=site.origin + "/parts.html"))
    return each_page


_DOWNLOADS: Final = "trailmesh-*/downloads/*"


def left_of(content: bytes) -> list[Path]:
    """The files of the driver that hold ``content``."""
    found = []
    for pattern in ("playwright-artifacts-*/*", _DOWNLOADS):
        for path in (path for root in usual_roots() for path in Path(root).glob(pattern)):
            with contextlib.suppress(OSError):  # of another run, and gone meanwhile
                found += [path] if content in path.read_bytes() else []
    return found


def written_now() -> set[Path]:
    """The files of downloads in the directories of launched browsers."""
    return {path for root in usual_roots() for path in Path(root).glob(_DOWNLOADS)}


async def use(page: Page, action: Action, role: str, name: str, given: Given = Given()) -> ActionOutcome:  # noqa: B008 - frozen
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


async def test_downloads_are_hashed_and_deleted(page: Page, site: PageServer) -> None:
    outcome = await use(page, Click(target=ANY), "button", "Export")
    content = b"name,price\nTin mug,12\n"
    export = Download(name="mugs.csv", size_bytes=len(content), sha256=hashlib.sha256(content).digest())
    assert outcome.downloads == (export,)
    site.extra["/saves.html"] = "<a href=/report.csv>Report</a><a download href='/account/close?confirm=1'>End</a>"
    await page.perform(Goto(url=site.origin + "/saves.html"))
    outcome = await use(page, Click(target=ANY), "link", "Report")
    assert [(one.name, one.size_bytes) for one in outcome.downloads] == [("_report.csv", 10)]
    assert outcome.observation.url.endswith("/saves.html")
    outcome = await use(page, Click(target=ANY), "link", "End")
    assert outcome.downloads == (Download(name="close", fault="failed"),)
    assert outcome.blocked == ("GET /account/close",)
    assert not any("close" in entry for entry in site.reached)
    assert [one.name for one in page.downloads()] == ["mugs.csv", "_report.csv", "close"]
    assert not await asyncio.to_thread(left_of, b"Tin mug,12")


async def test_a_download_that_does_not_end_is_ended_at_the_limit(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/page/downloads.py, Downloads._progress."""
    monkeypatch.setattr(limits, "DOWNLOAD_BYTES_MAX", 100_000)
    monkeypatch.setattr(limits, "DOWNLOAD_TIMEOUT_MS", 8_000)
    site.extra["/saves.html"] = "<a href=/endless.bin>Endless</a>"
    await page.perform(Goto(url=site.origin + "/saves.html"))
    outcome = await use(page, Click(target=ANY), "link", "Endless")
    assert outcome.downloads == (Download(name="endless.bin", fault="too_large"),)
    site.hold.set()


async def test_what_a_download_has_written_so_far_goes_with_the_directory_of_its_browser(
    browser: Browser, page: Page, site: PageServer
) -> None:
    """Guard: adapters/browser/launch/chromium.py, launch_options."""
    if browser.info.backend != "launched":
        pytest.skip("it has no directory of this node")
    site.hold.clear()
    site.extra["/saves.html"] = "<a href=/endless.bin>Endless</a>"
    await page.perform(Goto(url=site.origin + "/saves.html"))
    before = written_now()
    saving = asyncio.create_task(use(page, Click(target=ANY), "link", "Endless"))
    async with asyncio.timeout(120):
        while not (written := written_now() - before):  # noqa: ASYNC110 (Chromium writes it)
            await asyncio.sleep(0.02)
    assert all((path.parent.parent / "owner.lock").exists() for path in written), "the next start removes it"
    site.hold.set()
    assert [one.fault for one in (await saving).downloads] == [""]
    assert written_now() & written == set()


async def test_a_page_that_says_it_is_at_work_is_waited_for(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = await use(page, Click(target=ANY), "button", "Save")
    assert outcome.settled and "All changes saved" in outcome.observation.text
    outcome = await use(page, Click(target=ANY), "button", "Load")
    assert "Three mugs" in outcome.observation.text
    monkeypatch.setattr(limits, "SETTLE_BUSY_MS", 500)
    site.extra["/saves.html"] = "<p role=status>Loading…</p><button>Next</button>"
    outcome = await page.perform(Goto(url=site.origin + "/saves.html"))
    assert "Next" in outcome.observation.text


async def test_an_answer_and_a_time_without_changes_are_waited_for(page: Page, site: PageServer) -> None:
    await use(page, Click(target=ANY), "button", "Fetch")
    # It came in the step before, or comes now; either way it counts, until something else is done.
    for _ in range(2):
        await page.perform(Wait(response="/parts*page=2", method="GET"))
    with pytest.raises(MeshError) as missed:
        await page.perform(Wait(response="/parts*page=2", method="POST", timeout_ms=200))
    assert missed.value.code == "action.assertion_failed"
    await use(page, Hover(target=ANY), "button", "Fetch")
    with pytest.raises(MeshError):
        await page.perform(Wait(response="/parts", timeout_ms=200))
    outcome = await page.perform(Wait(still_ms=300))
    assert outcome.settled
    await shown(page, site, "<p id=p>0</p><script>setInterval(() => p.textContent++, 200)</script>")
    await page.perform(Wait())
    with pytest.raises(MeshError, match="did not rest for 400 ms"):
        await page.perform(Wait(still_ms=400, timeout_ms=1_000))


async def test_errors_in_the_console_are_kept(page: Page, site: PageServer) -> None:
    assert page.console_errors() == ()
    script = "<script>console.log('fine'); console.error('no stock', 3); throw new TypeError('x is missing')</script>"
    await shown(page, site, f"<img src=/none.png>{script}")
    assert page.console_errors() == ("no stock 3", "TypeError: x is missing")


async def test_elements_are_dragged_by_mouse(page: Page) -> None:
    for role, name, onto, said in (
        ("listitem", "Apple", "Pear", ""),
        ("", "css=#knob", "css=#end", "Moved to the end"),
    ):
        seen = await page.observe()
        if role:
            source, end = (element(seen, role, each).ref for each in (name, onto))
        else:
            found = [await page.find(selector) for selector in (name, onto)]
            source, end = (item.ref for item in found if item is not None)
        outcome = await page.perform(Drag(target=ANY, onto=ANY), ref=source, given=Given(onto=end))
        assert said in outcome.observation.text
        names = [item.name for item in outcome.observation.elements if item.role == "listitem"]
        assert names == ["Pear", "Apple"]


async def test_the_content_of_editors_is_replaced(page: Page, site: PageServer) -> None:
    outcome = await use(page, Fill(target=ANY, value="new note\nand more"), "textbox", "Note")
    assert "new note" in outcome.observation.text and "and more" in outcome.observation.text
    assert "old note" not in outcome.observation.text and "second line" not in outcome.observation.text
    for role, name in (("textbox", "Source"), ("group", "Code")):
        outcome = await use(page, Fill(target=ANY, value=f"const {role} = 3\nrun()"), role, name)
        assert f"const {role} = 3" in outcome.observation.text and "run()" in outcome.observation.text
        assert "old" not in outcome.observation.text.split("group")[1]
    outcome = await use(page, Fill(target=ANY, value=""), "textbox", "Source")
    assert "run()" not in outcome.observation.text
    outcome = await use(page, Fill(target=ANY, value=""), "textbox", "Note")
    assert "new note" not in outcome.observation.text
    await shown(
        page, site, "<p role=textbox aria-label=Stubborn contenteditable oninput='this.textContent=`old`'>old</p>"
    )
    with pytest.raises(MeshError, match="did not take"):
        await use(page, Fill(target=ANY, value="new"), "textbox", "Stubborn")
