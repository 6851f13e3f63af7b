"""Pages whose fields and pictures have the names of DOM properties: they hide them from whoever asks a form or the document."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from adapters.ports.browser import Page
from node.live.acting.driver import Driver, Gate
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Fill, Locator
from tests.gates import unreported
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]
READ_BY_PLAYWRIGHT = {
    *("getAttribute", "hasAttribute", "parentElement", "checkVisibility", "getBoundingClientRect", "ownerDocument"),
    *("shadowRoot", "assignedSlot", "nodeType", "firstChild", "nextSibling"),
}
"""What its snapshot asks a form for: a page that hides one of them cannot be read."""
ASKED_OF_DOCUMENTS = {"write", "addEventListener", "documentElement"}
"""What Playwright and the page itself ask the document for."""
HIDING = """<form onsubmit="document.title = 'sent'; return false" id=f></form><div id=pictures></div><p id=end>End</p><script>
const names = kind => { const found = new Set();
  for (let at = kind; at; at = Object.getPrototypeOf(at)) Object.getOwnPropertyNames(at).forEach(name => found.add(name));
  return [...found].filter(name => !NAMES.includes(name)); };
const field = name => `<label>Field ${name} <input name="${name}"></label>`;
f.innerHTML = names(HTMLFormElement.prototype).map(field).join('') + '<button>Go</button>';
pictures.innerHTML = names(HTMLDocument.prototype).map(name => `<img name="${name}" alt="">`).join('');
</script>"""


async def test_a_page_that_hides_every_property_of_its_form_and_document_is_read_filled_and_found(
    page: Page, site: PageServer
) -> None:
    names = str(sorted(READ_BY_PLAYWRIGHT | ASKED_OF_DOCUMENTS))
    seen = await shown(page, site, HIDING.replace("NAMES", names))
    fields = {item.name: item for item in seen.elements if item.role == "textbox"}
    assert len(fields) > 300
    assert all(item.traits.tag == "input" for item in fields.values())
    driver = Driver(page, Gate(report=unreported, risk_max=7))
    began = time.monotonic()
    for name in ("parentNode", "tagName", "querySelectorAll", "className", "children"):
        await driver.act(Fill(target=Locator(selectors=(f'css=input[name="{name}"]',)), value=name))
        assert driver.observation is not None
        assert element(driver.observation, "textbox", f"Field {name}").value == name
    assert time.monotonic() - began < 60


async def test_a_form_with_fields_named_like_parts_of_a_tree_is_filled_and_sent(page: Page, site: PageServer) -> None:
    names = (
        "action",
        "children",
        "tagName",
        "nodeName",
        "elements",
        "localName",
        "className",
        "closest",
        "matches",
    )
    fields = "".join(f"<label>Field {name} <input name={name}></label>" for name in names)
    form = f"<form onsubmit=\"document.title = 'sent'; return false\">{fields}<button>Go</button></form>"
    seen = await shown(page, site, form)
    assert [item.name for item in seen.elements if item.role == "textbox"] == [f"Field {name}" for name in names]
    driver = Driver(page, Gate(report=unreported, risk_max=7))
    for name in names:
        await driver.act(Fill(target=Locator(selectors=(f"css=input[name={name}]",)), value=name))
    await driver.act(Click(target=Locator(selectors=("css=button",))))
    assert driver.observation is not None
    assert driver.observation.title == "sent"
    assert [item.value for item in driver.observation.elements if item.role == "textbox"] == list(names)


async def test_what_could_not_be_pressed_without_end_is_an_error_at_once_and_the_rest_is_used(
    page: Page, site: PageServer
) -> None:
    html = "<form><label>Node <input name=parentNode></label><button>Go</button></form><button id=out>Out</button>"
    await shown(page, site, html)
    driver = Driver(page, Gate(report=unreported, risk_max=7))
    for target in (Locator(role="textbox", name="Node"), Locator(selectors=("css=input[name=parentNode]",))):
        await driver.act(Fill(target=target, value="x7"))
    with pytest.raises(MeshError) as caught:
        await driver.act(Click(target=Locator(role="button", name="Go")))
    assert (caught.value.code, caught.value.detail["name"]) == ("browser.unreadable", "parentNode")
    await driver.act(Click(target=Locator(role="button", name="Out")))


async def test_a_form_that_its_reader_passes_over_is_an_error_at_once(page: Page, site: PageServer) -> None:
    told = {}
    for name in sorted(READ_BY_PLAYWRIGHT):
        with pytest.raises(MeshError) as caught:
            await shown(page, site, f"<form><label>One <input name={name}></label><button>Go</button></form>")
        told[name] = (caught.value.code, caught.value.detail.get("name"))
    assert told == {name: ("browser.unreadable", name) for name in READ_BY_PLAYWRIGHT}


async def test_a_form_that_comes_while_a_page_is_read_is_read_with_the_next_look(
    page: Page, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shown(page, site, "<h1>Here</h1>")
    reading: Any = page._reading  # type: ignore[attr-defined]
    snapshot, facts, taken = reading._snapshot, reading._worlds.facts, asyncio.Event()

    async def snapshot_first() -> str:
        text: str = await snapshot()
        taken.set()
        return text

    async def with_a_form_that_came() -> Any:
        await taken.wait()
        monkeypatch.undo()
        await reading._page.evaluate(
            "document.body.innerHTML = '<form><label>Your name <input name=name></label></form>'"
        )
        return await facts()

    monkeypatch.setattr(reading, "_snapshot", snapshot_first)
    monkeypatch.setattr(reading._worlds, "facts", with_a_form_that_came)
    assert element(await page.observe(), "textbox", "Your name")
