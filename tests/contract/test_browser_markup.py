"""The document of a page as text: what is taken from it, and where ways lead in it, on plain and on hostile pages."""

from __future__ import annotations

import pytest

from adapters.ports.browser import Browser, Page
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Fill, Goto, Locator
from protocol.page.showing.markup import Markup, shown
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.server import PageServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOSTILE = """<base href="https://evil.test/"><meta name=a content=MUTE>
<style>body { background: url(/MUTE.png) }</style><script>const said = 'MUTE'; LIES</script>
<form id=f onsubmit="MUTE" style="x: MUTE" data-state=MUTE><input name=childNodes><input name=attributes type=hidden value=MUTE>
<input type=password value=typedword placeholder=Password><input value=MUTE aria-label=Note><textarea>MUTE</textarea>
<input type=checkbox value=yes><p>you typed typedword</p></form>
<svg onload="MUTE"><text>MUTE</text></svg><iframe srcdoc="MUTE"></iframe><template>MUTE</template><!-- MUTE -->
<p id=quote>&lt;/pre>&lt;script>alert(1)&lt;/script></p><my-card id=card></my-card>
<script>document.getElementById('card').attachShadow({mode: 'open'}).innerHTML = '<button id=inner>Inside</button>'</script>
<button id=gone style="display: none">Save</button><button class=save>Save</button><button class=save>Save</button>"""

LIES = "Array.prototype.map = () => ['MUTE']; Object.defineProperty(Node.prototype, 'childNodes', {get: () => 'MUTE'});"


async def opened(page: Page, site: PageServer, html: str) -> None:
    site.extra["/markup.html"] = f"<!doctype html><title>Shop</title><body>{html}"
    await page.perform(Goto(url=f"{site.origin}/markup.html"))


def lines_of(markup: Markup) -> list[str]:
    return [line.text.strip() for line in shown(markup, {}).lines]


async def test_only_what_a_person_needs_to_find_an_element_is_taken_whatever_the_page_does_to_its_dom(
    browser: Browser, site: PageServer
) -> None:
    """Guard: adapters/browser/finding/markup.py, _markup."""
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await opened(page, site, HOSTILE.replace("LIES", LIES))
    lines = lines_of(await page.markup())
    said = "\n".join(lines)
    assert "MUTE" not in said and "typedword" not in said
    for line in (
        '<form id="f">',
        '<input type="password" placeholder="Password">',
        '<input aria-label="Note">',
        "<textarea>",
        '<input type="checkbox" value="yes">',
        "<p>you typed ‹password›</p>",
        '<p id="quote"></pre><script>alert(1)</script></p>',
        '<my-card id="card">',
        "#shadow-root",
        '<button id="inner">Inside</button>',
    ):
        assert line in lines, said
    await page.close()


async def test_each_way_is_marked_where_it_leads_also_where_nothing_is_shown(page: Page, site: PageServer) -> None:
    await opened(page, site, HOSTILE)
    seen = await page.observe()
    (card,) = (item.ref for item in seen.elements if item.name == "Inside")
    ways = ("css=#gone", "css=.save", "text=Nowhere", "css=##", "pierce/#inner", 'aria/Save[role="button"]')
    markup = await page.markup([Locator(selectors=ways), Locator(role="button", name="Inside")], [card])
    read = shown(markup, {})
    assert [(way.said, way.found) for way in read.ways] == [
        *zip(ways, (1, 2, 0, 0, 1, 3), strict=True),
        ("button “Inside”", 1),
        ("", 1),
    ]
    marked = {line.text.strip(): (line.ways, line.hidden) for line in read.lines if line.ways}
    assert marked == {
        '<button id="inner">Inside</button>': ((5, 7, 8), False),
        '<button id="gone">Save</button>': ((1, 6), True),
        '<button class="save">Save</button>': ((2, 6), False),
    }
    assert [len(way.lines) for way in read.ways] == [1, 2, 0, 0, 1, 3, 1, 1]


async def test_a_long_document_is_cut_around_what_was_looked_for_and_that_is_told(page: Page, site: PageServer) -> None:
    count = limits.MARKUP_LINES_MAX
    await opened(page, site, f"<div hidden>{'<i></i>' * 3 * count}<b id=here></b>{'<i></i>' * count}</div>")
    await page.observe()
    markup = await page.markup([Locator(selectors=("css=#here",))])
    assert len(markup.nodes) == count
    assert markup.before > 2 * count and markup.after >= count // 2
    assert "not shown" in shown(markup, {}).cut
    assert '<b id="here">' in lines_of(markup)


async def test_the_document_of_the_frame_is_taken_in_which_an_element_is_looked_for(
    page: Page, site: PageServer
) -> None:
    site.extra["/inner.html"] = "<!doctype html><title>Inner</title><h2 id=in>Within</h2>"
    await opened(page, site, "<h1>Around</h1><iframe src=/inner.html></iframe>")
    seen = await page.observe()
    (frame,) = {item.frame for item in seen.elements if item.frame}
    lines = lines_of(await page.markup([Locator(frame=frame, selectors=("css=h2",))]))
    assert '<h2 id="in">Within</h2>' in lines and "<h1>Around</h1>" not in lines


async def test_a_page_that_was_not_looked_at_gives_no_document(browser: Browser) -> None:
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    with pytest.raises(MeshError, match=r"browser\.timeout"):
        await page.markup()
    await page.close()


async def test_what_was_typed_into_a_field_is_not_in_the_document(page: Page, site: PageServer) -> None:
    await opened(page, site, "<input aria-label=Name>")
    seen = await page.observe()
    await page.perform(Fill(target=Locator(), value="typed"), ref=seen.elements[0].ref)
    assert "typed" not in "\n".join(lines_of(await page.markup()))
