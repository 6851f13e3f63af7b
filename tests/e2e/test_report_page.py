"""The HTML report in a real browser: it fits the window it is read in, and its policy stops nothing of its own."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Dialog, async_playwright

from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import find_executable
from node.explorer.showing.report import ReportInput, render_report
from node.sessions.showing.report import render_replay
from node.sessions.showing.seen import ReplaySeen
from protocol.page.actions.action import Goto, Locator
from protocol.page.showing.markup import MarkupShown, shown
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.report_samples import sample_report
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.server import PageServer
from tests.unit.test_replay_files import RED

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

WORD = "unbreakable" * 20
# Right end of each label against that of its box, and whether it is cut; pixels.
LABELS = """() => [...document.querySelectorAll('.tree .label')].map(label => {
  const box = label.closest('g').querySelector('rect').getBoundingClientRect(), own = label.getBoundingClientRect();
  return [box.right - own.right, own.left - box.left, own.top - box.top, label.scrollWidth > label.clientWidth];
})"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as driver:
        path = find_executable(SETTINGS, driver.chromium.executable_path)
        browser = await driver.chromium.launch(executable_path=path, chromium_sandbox=SETTINGS.sandbox)
        yield browser
        await browser.close()


def long_words() -> ReportInput:
    """The sample with a word longer than a window wherever a page or a peer has a say."""
    data = sample_report()
    replace = msgspec.structs.replace
    assert data.tree is not None
    assert data.session is not None
    return replace(
        data,
        title=WORD,
        goal=WORD,
        outcome=WORD,
        found_by=WORD,
        path=(WORD,),
        would_send=(WORD,),
        nodes=tuple(replace(node, name=WORD, role=WORD) for node in data.nodes),
        tree=replace(data.tree, label=WORD, title=WORD, shares=((WORD, 1),)),
        session=replace(data.session, start_url=WORD),
        steps=[replace(step, title=WORD, url=WORD, extracted=WORD) for step in data.steps],
        replays=tuple(
            replace(shown, name=WORD, report=replace(shown.report, origin=WORD, blocked=(WORD,)))
            for shown in data.replays
        ),
        signed=tuple(replace(row, artefact=WORD, signer=WORD) for row in data.signed),
    )


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("data", [sample_report(), long_words()], ids=["sample", "long words"])
async def test_it_never_scrolls_sideways(chromium: Browser, tmp_path: Path, width: int, data: ReportInput) -> None:
    """Taken out: ``overflow-wrap`` of ``main`` in the style sheet, or ``overflow-x`` of ``.scroll``."""
    file = tmp_path / "report.html"
    file.write_text(render_report(data))
    page = await chromium.new_page(viewport={"width": width, "height": 844})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.goto(file.as_uri())
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []  # a refusal of the policy would stand here
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
    await page.close()


HOSTILE = """<title>x</title><script>alert(1)</script></pre></title><base href="{0}/beacon/">
<meta http-equiv=refresh content="3600; url={0}/beacon"><link rel=stylesheet href=/beacon><style>@import "/beacon";</style>
<p style="background: url(/beacon)" onclick="fetch('/beacon')" title='"><img src={0}/beacon onerror=alert(1)>'>&lt;/pre>&lt;/iframe>
&lt;script src={0}/beacon>&lt;/script>&lt;img src={0}/beacon onerror=alert(1)>&lt;svg onload=alert(1)>&lt;meta http-equiv=refresh
 content="0; url={0}/beacon">&lt;iframe srcdoc="&lt;script>alert(1)&lt;/script>">&lt;form action={0}/beacon>&lt;/p>
<img src=/beacon onerror="alert(1)" alt="&lt;/mark>&lt;script>alert(1)&lt;/script>"><svg onload="alert(1)"><a href=/beacon>x</a>
</svg><iframe srcdoc="<script>parent.alert(1)</script>"></iframe><form action=/beacon><input autofocus onfocus="alert(1)"></form>
<a href="javascript:alert(1)" id='"><script>alert(1)</script>'>Go</a><object data=/beacon></object><video poster=/beacon></video>
<x-&lt;script>alert(1)&lt;/script>a</x-><details open ontoggle="alert(1)"></details>"""


@pytest.mark.parametrize("policy", [True, False], ids=["with its policy", "without it"])
async def test_the_document_of_a_hostile_page_asks_for_nothing_and_runs_nothing_in_the_report(
    chromium: Browser, hostile: MarkupShown, tmp_path: Path, policy: bool
) -> None:
    """Also without the policy of the file: what the page said is text. Taken out: the escaping of ``line.text`` in the template."""
    index = RED.steps[-1].step.index
    html = render_replay(RED, {}, ReplaySeen(documents={index: hostile}), (), made_ms=0)
    file = tmp_path / "report.html"
    file.write_text(html if policy else re.sub("<meta http-equiv=[^>]*>", "", html, count=1))
    page = await chromium.new_page()
    heard: list[str] = []

    async def answered(dialog: Dialog) -> None:
        heard.append(dialog.message)
        await dialog.dismiss()

    page.on("request", lambda request: heard.append(request.url))
    page.on("dialog", answered)
    page.on("console", lambda message: heard.append(message.text))
    page.on("frameattached", lambda frame: heard.append(frame.name))
    await page.goto(file.as_uri())
    assert heard == [file.as_uri()]
    await page.locator("mark").first.click()
    assert (
        await page.locator("script,iframe,svg,form,base,object,video,link,pre img,pre a,[onerror],[onclick]").count()
        == 0
    )
    assert "<p title=" in await page.locator("mark").first.inner_text()
    assert "/beacon onerror=alert(1)>" in await page.locator("pre").last.inner_text()
    await page.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hostile() -> AsyncIterator[MarkupShown]:
    """The document of a page that tries everything, as it is taken where a step fails."""
    browser, site = await launcher(SETTINGS)(), PageServer()
    await site.start()
    site.extra["/hostile.html"] = HOSTILE.format(site.origin)
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await page.perform(Goto(url=f"{site.origin}/hostile.html"))
    yield shown(await page.markup([Locator(selectors=("css=p", "xpath=//a"))]), {})
    await browser.close()
    await site.stop()


async def test_labels_of_the_tree_end_inside_their_boxes(chromium: Browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(long_words()))
    page = await chromium.new_page(viewport={"width": 390, "height": 844})
    await page.goto(file.as_uri())
    labels = await page.evaluate(LABELS)
    assert labels
    assert all(right > 0 and left > 0 and top > 0 for right, left, top, _ in labels)
    assert any(cut for *_, cut in labels)
    assert await page.evaluate("getComputedStyle(document.querySelector('.tree .label')).textOverflow") == "ellipsis"
    titles = await page.locator(".tree title").all_text_contents()
    assert any(WORD in title for title in titles)
    await page.close()
