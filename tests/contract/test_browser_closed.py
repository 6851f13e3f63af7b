"""Closed shadow trees: what a page shows in them is neither absent nor the whole, and what they leave alone is as before."""

from __future__ import annotations

import msgspec
import pytest

from adapters.ports.browser import Page
from node.live.acting.driver import Driver, Gate
from node.live.finding import with_closed
from protocol.errors import MeshError
from protocol.goal.condition import Condition, ElementTest, judge
from protocol.page.actions.action import Action, Assert, Click, Extract, Locator, Wait, Within
from tests.gates import unreported
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
CLOSED = "<template shadowrootmode=closed>"
PAGE = f"""
<h1>Parcels</h1><p id=later hidden>Later</p><button>Refresh</button><button>Save</button>
<x-a>{CLOSED}<style>b::before {{ content: "Sent " }}</style>
  <button class="big danger">Delete <b>all</b></button><b>today</b></template></x-a>
<x-b>{CLOSED}<button><slot></slot></button></template>Archive</x-b>
<x-c>{CLOSED}<button aria-label="Close chat"><svg width=9 height=9></svg></button>
  <select><option>Small<option>Large</select></template></x-c>
<div><template shadowrootmode=open><x-d>{CLOSED}<a href=/deep>Deep</a></template></x-d></template></div>
<x-e>{CLOSED}<div><template shadowrootmode=open><button>Nested</button></template></div></template></x-e>
<x-f>{CLOSED}<button>Save</button></template></x-f>
<main aria-label=Orders><p>Total <b>3</b></p><button>Edit</button><input placeholder=Name>
  <details><summary>More</summary>Text</details>
  <x-g>{CLOSED}<style>p {{ color: red }}</style><p hidden>Later</p><p style="visibility: hidden">Soon</p><slot></slot></template>
  Light</x-g></main>
<p id=price>Price <x-price>{CLOSED}10 €</template></x-price></p>
<x-open><template shadowrootmode=open><x-card>{CLOSED}<slot></slot></template><button>Inner</button></x-card></template></x-open>
<p id=icon>Paid <x-i>{CLOSED}<svg width=9 height=9></svg><i>\ue901</i></template></x-i></p>
<p id=badge><x-j>{CLOSED}<img alt=Paid width=9 height=9></template></x-j></p>
<table id=all><tr><th>Part<th>Stock<tr><td>Bolt<td><x-n>{CLOSED}0</template></x-n></table>
"""
LIGHT = Within(role="main", name="Orders")


def driver_of(page: Page) -> Driver:
    return Driver(page, Gate(report=unreported, risk_max=4))


async def outcome(driver: Driver, action: Action) -> str:
    """The code of the error that ``action`` ends in; empty if it is done."""
    driver.observation = None
    try:
        await driver.act(action)
    except MeshError as error:
        return error.code
    return ""


def button(name: str) -> Locator:
    return Locator(role="button", name=name)


def asserted(what: str, target: Locator, expected: str = "") -> Assert:
    return Assert(what=what, target=target, expected=expected, timeout_ms=1)  # type: ignore[arg-type]


async def test_nothing_is_absent_counted_or_the_only_one_that_may_stand_in_a_closed_shadow_tree(
    page: Page, site: PageServer
) -> None:
    """Taken out: the call of ``_closed`` in ``hold``, that of ``require_read``, and that of ``Page.closed`` for tables."""
    await shown(page, site, PAGE)
    names = ("Delete all", "Archive", "Close chat", "Nested", "Today", "Sent today")
    cell = Assert(what="cell", row="Bolt", column="Stock", target=Locator(selectors=("css=#all",)), timeout_ms=1)
    unknown: list[Action] = [
        *(asserted("hidden", button(name)) for name in names),
        asserted("hidden", Locator(role="link", name="Deep")),
        asserted("hidden", Locator(role="option", name="Large")),
        asserted("hidden", Locator(role="alert")),
        asserted("hidden", Locator(selectors=("css=main > button.danger",))),
        asserted("hidden", Locator(selectors=("css=[type=reset]",))),
        asserted("hidden", Locator(selectors=("text=Today",))),
        asserted("hidden", Locator(selectors=('role=button[name="Delete all" i]',))),
        asserted("hidden", Locator(selectors=('aria/Delete all[role="button"]',))),
        asserted("hidden", Locator(role="button", name="Undo", within=Within(role="dialog", name="Delete"))),
        Wait(target=button("Delete all"), state="hidden", timeout_ms=1),
        asserted("count", button("Delete all"), "0"),
        asserted("count", button("Save"), "1"),
        asserted("count", Locator(selectors=("css=button.danger",)), "0"),
        asserted("enabled", button("Save")),
        asserted("text", Locator(selectors=("css=#price",)), "Price"),
        asserted("text", Locator(selectors=("css=x-price",)), ""),
        Extract(name="price", target=Locator(selectors=("css=#price",))),
        Extract(name="price", target=Locator(selectors=("css=x-price",))),
        Extract(name="badge", target=Locator(selectors=("css=#badge",))),
        cell,
        msgspec.structs.replace(cell, target=None),
        Assert(what="order", column="Stock", items=("1", "0"), timeout_ms=1),
        Assert(what="order", target=Locator(role="button"), items=("Refresh", "Save"), timeout_ms=1),
    ]
    known: dict[Action, str] = {
        asserted("hidden", button("Publish")): "",
        asserted("hidden", button("Later")): "",
        asserted("hidden", Locator(selectors=("css=#later",))): "",
        asserted("hidden", Locator(selectors=("css=#x-a .spinner",))): "",
        asserted("hidden", Locator(selectors=('text="Publish"',))): "",
        asserted("hidden", Locator(selectors=('role=button[name="Publish" s]',))): "",
        asserted("count", Locator(selectors=("css=#price",)), "1"): "",
        asserted("hidden", Locator(role="paragraph", name="Soon")): "",
        asserted("hidden", Locator(role="button", name="Delete all", within=LIGHT)): "",
        asserted("hidden", Locator(role="alert", within=LIGHT)): "",
        asserted("hidden", button("Refresh")): "action.assertion_failed",
        asserted("hidden", button("Inner")): "action.assertion_failed",
        asserted("count", button("Refresh"), "1"): "",
        asserted("count", button("Inner"), "1"): "",
        asserted("count", Locator(role="button", within=LIGHT), "1"): "",
        asserted("visible", button("Save")): "",
        asserted("enabled", button("Refresh")): "",
        asserted("text", Locator(role="main", name="Orders"), "Total 3 Edit More Light"): "",
        Extract(name="icon", target=Locator(selectors=("css=#icon",))): "",
        Click(target=button("Save")): "",
    }
    driver = driver_of(page)
    assert {action: await outcome(driver, action) for action in unknown} == dict.fromkeys(unknown, "page.cut")
    assert {action: await outcome(driver, action) for action in known} == known


async def test_a_condition_that_denies_what_may_stand_in_a_closed_tree_or_a_frame_in_one_is_not_met(
    page: Page, site: PageServer
) -> None:
    seen = await shown(page, site, PAGE)
    gone = {text: Condition(not_=Condition(text=text)) for text in ("delete all", "10 €", "publish")}
    link = Condition(not_=Condition(element=ElementTest(role="link", name="deep")))
    told = {text: judge(each, await with_closed(page, seen, each)) for text, each in gone.items()}
    assert told == {"delete all": None, "10 €": None, "publish": True}
    assert judge(link, await with_closed(page, seen, link)) is None
    inner = site.origin.replace("127.0.0.1", "localhost") + "/closed.html"
    framed = await shown(page, site, f"<h1>K</h1><iframe src={inner}></iframe>")
    body = Locator(selectors=("css=body",), frame="f1")
    assert await outcome(driver_of(page), Extract(name="all", target=body)) == "page.cut"
    parcel, other = (Condition(not_=Condition(text=text)) for text in ("delete parcel", "publish"))
    assert judge(parcel, await with_closed(page, framed, parcel)) is None
    assert judge(other, await with_closed(page, framed, other)) is True
    hidden = Locator(role="button", name="Delete parcel", frame="f1")
    assert await outcome(driver_of(page), asserted("hidden", hidden)) == "page.cut"
    assert await outcome(driver_of(page), asserted("hidden", button("Delete parcel"))) == ""
    held = await shown(page, site, f"<h1>K</h1><x-a>{CLOSED}<iframe srcdoc=Publish></iframe></template></x-a>")
    assert judge(other, await with_closed(page, held, other)) is None
