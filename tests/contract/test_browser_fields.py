"""What fields and lists show is what is read, and an action on one is done when it shows what was asked for. Real Chromium."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from adapters.ports.browser import ActionOutcome, Given, GivenFile, Page
from protocol.errors import MeshError
from protocol.goal.condition import Condition, judge
from protocol.page.actions.action import (
    Action,
    Check,
    Click,
    Extract,
    Fill,
    Goto,
    Locator,
    Secret,
    Select,
    Upload,
    Wait,
    Within,
)
from protocol.page.actions.scope import container
from protocol.page.seen.observation import Observation
from tests.given_secrets import given
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]
ANY = Locator()

LISTS = """
<label>Size <select><option value=2>1</option><option value=1 selected>2</option></select></label>
<label>Extras <select multiple><option value=m selected>Milk<option value=s>Sugar<option value=l selected>Lemon</select></label>
<div role=listbox aria-label=Colour tabindex=0><div role=option>Red</div><div role=option aria-selected=true>Green</div></div>
<button role=combobox aria-label=Sort aria-expanded=false>Price</button>
<div role=combobox aria-label=Open aria-expanded=true tabindex=0><div role=listbox><div role=option>A</div>
 <div role=option aria-selected=true>B</div></div></div>
<label>City <input role=combobox value=Bonn></label>
<div role=radiogroup aria-label=Speed>
 <label><input type=radio name=p>Slow</label><label><input type=radio name=p checked>Fast</label></div>
<div role=radiogroup aria-label=Plan><span role=radio aria-checked=false tabindex=0>Free</span>
 <span role=radio aria-checked=true tabindex=0>Paid</span></div>
<fieldset><legend>Ship</legend>
 <label><input type=radio name=q checked value=d>By day</label><label><input type=radio name=q>By night</label></fieldset>
<fieldset><legend>Mixed</legend>Loose text <input type=radio name=r checked value=1></fieldset>
<label>Loud <input type=range value=30></label><progress aria-label=Done value=4 max=9></progress>
<label>Day <input type=date value=2026-11-23></label><label>News <input type=checkbox checked></label>
<div role=checkbox aria-label=Terms aria-checked=true tabindex=0>I agree</div><button role=switch aria-checked=false>Wifi</button>
<div role=menuitemradio aria-checked=true tabindex=0>Big</div><div role=radio aria-checked=false tabindex=0>Thin</div>
<div role=treeitem tabindex=0 aria-label=All><input type=checkbox aria-label=Some><script>
 document.currentScript.previousElementSibling.indeterminate = true</script></div>
<div role=checkbox aria-label=Half aria-checked=mixed tabindex=0>Half</div><img alt=Open width=9 height=9>
<table><tr><td aria-label=State><i role=img aria-label=late style="display:inline-block;width:9px;height:9px"></i>
 <td aria-label=Tick><input type=checkbox checked>
 <td aria-label=Chosen>Of <select><option>S<option selected>M</select> and <select><option selected>S<option>M</select>
 <td aria-label=Part><my-part></my-part></table>
<script>document.querySelector('my-part').attachShadow({mode: 'open'}).innerHTML =
 '<style>p {margin: 0}</style><p>Paid</p><p><img alt=twice width=9 height=9></p>'</script>
<label>Empty <select><option hidden disabled selected value=""></option><option>One</option></select></label>
"""
"""Role, name, what is read, and what a form would send."""
READ = [
    ("combobox", "Size", "2", ("1",)),
    ("listbox", "Extras", "Milk\nLemon", ("m", "l")),
    ("listbox", "Colour", "Green", None),
    ("combobox", "Sort", "Price", None),
    ("combobox", "Open", "B", None),
    ("combobox", "City", "Bonn", ("Bonn",)),
    ("radiogroup", "Speed", "Fast", None),
    ("radiogroup", "Plan", "Paid", None),
    ("group", "Ship", "By day", None),
    ("group", "Mixed", "Mixed\nLoose text", None),
    ("slider", "Loud", "30", ("30",)),
    ("progressbar", "Done", "4", None),
    ("textbox", "Day", "2026-11-23", ("2026-11-23",)),
    ("checkbox", "News", "checked", ("on",)),
    ("checkbox", "Terms", "checked", None),
    ("switch", "Wifi", "unchecked", None),
    ("menuitemradio", "Big", "checked", None),
    ("radio", "Thin", "unchecked", None),
    ("checkbox", "Some", "mixed", ("on",)),
    ("checkbox", "Half", "mixed", None),
    ("img", "Open", "Open", None),
    ("cell", "State", "late", None),
    ("cell", "Tick", "checked", None),
    ("cell", "Chosen", "Of\nM\nand\nS", None),
    ("cell", "Part", "Paid\ntwice", None),
    ("combobox", "Empty", "", ("",)),
]


async def visit(page: Page, site: PageServer, body: str) -> None:
    site.extra["/fields.html"] = f"<!doctype html><title>Fields</title>{body}"
    await page.perform(Goto(url=site.origin + "/fields.html"))


async def error_of(work: Awaitable[object]) -> str:
    """The code of the error that ``work`` ends in; empty if it is done."""
    try:
        await work
    except MeshError as error:
        return error.code
    return ""


def holding(text: str, seen: Observation) -> str:
    """The role of the item of a list that says ``text``; the code of the error if none does."""
    try:
        return container(Within(role="listitem", text=text), "", seen).role
    except MeshError as error:
        return error.code


async def use(page: Page, action: Action, role: str, name: str) -> ActionOutcome:
    observed = await page.observe()
    secrets = given(at=observed.url, key="hunter2!")
    return await page.perform(action, ref=element(observed, role, name).ref, secrets=secrets)


async def test_a_list_is_read_by_what_is_chosen_and_sent_by_its_values(page: Page, site: PageServer) -> None:
    await visit(page, site, LISTS)
    for role, name, text, sent in READ:
        ref = element(await page.observe(), role, name).ref
        outcome = await page.perform(Extract(name="x", target=ANY), ref=ref)
        ref = element(await page.observe(), role, name).ref
        assert (name, outcome.extracted, await page.sent(ref)) == (name, text, sent)


CHOICES = """
<h1>Mugs</h1><main><p role=note aria-label=Hint>Pick <select aria-label=Size><option selected>Small<option>Medium</select> now</p>
<select size=2 aria-label=Open><option selected>Left<option>Right</select>
<select multiple aria-label=Many><option>Milk<option selected>Sugar</select>
<select style="display: none"><option>Mugs<option>None</select></main>
<ul><li>Tray <select aria-label=Kind><option>Round<option selected>Square</select>
 <div role=listbox aria-label=Own><div role=option>Oak</div></div><button>Add</button></ul>"""


async def test_a_text_has_of_closed_lists_only_what_is_chosen(page: Page, site: PageServer) -> None:
    await visit(page, site, CHOICES)
    seen = await page.observe()
    said = "Mugs\nPick\nSmall\nnow\nLeft\nRight\nMilk\nSugar\nTray\nSquare\nOak\nAdd"
    assert await page.read() == (await page.perform(Extract(name="x"))).extracted == said
    main = await page.read(element(seen, "main", "").ref)
    assert main is not None
    assert main.split() == said.split()[1:8]
    found = {text: holding(text, seen) for text in ("Square", "Oak", "Tray", "Round")}
    assert found == dict.fromkeys(found, "listitem") | {"Round": "action.target_missing"}
    goals = {
        text: judge(Condition(text=text), seen)
        for text in ("small", "right", "milk", "oak", "square", "medium", "round")
    }
    assert goals == dict.fromkeys(goals, True) | {"medium": False, "round": False}
    for text, shows in [("Small", True), ("Right", True), ("Medium", False), ("None", False)]:
        wait = page.perform(Wait(text=text, timeout_ms=2_000 if shows else 1), timeout_ms=0)
        assert (text, await error_of(wait)) == (text, "" if shows else "action.text_missing")


MADE = """
<style>.price::before { content: "10 "; } .price::after { content: attr(data-unit); } .icon::before { content: "\\e901"; }
.star::after { content: "*"; } .away::after { content: "no"; display: none; } .told::after { content: "→" / "next"; }
</style>
<p id=made class=price data-unit="€"></p><p id=beside>Price <b class=price data-unit="€"></b> net</p>
<p id=star class=star>Name</p><p id=icon class=icon>Edit</p><p id=away class=away>Go</p><p id=told class=told>On</p>
<div id=tree>Total <x-a><template shadowrootmode=open><style>b::after { content: "10 €" }</style><b></b> for
  <slot></slot></template>two</x-a>!</div>
<div id=lines><template shadowrootmode=open><p style="text-transform: uppercase">One</p><p hidden>Not</p>
  Two<br>Three <select><option>A<option selected>B
  </select></template></div>
<button id=on aria-pressed=true>Bold</button><button id=off aria-pressed=false>Like 5</button>
<div role=tab id=tab aria-selected=true>Day</div>
<div role=tab id=other aria-selected=false>Week</div><div role=tab id=mere>Month</div>
<table><tr><td id=cell aria-selected=false>7</table>
"""


async def test_an_extract_has_what_style_sheets_write_shadow_trees_in_their_place_and_which_tab_is_chosen(
    page: Page, site: PageServer
) -> None:
    """An assertion reads no words of style sheets, as Playwright reads none. Taken out: ``extracts``, ``isComposed``."""
    await visit(page, site, MADE)
    await page.observe()
    extracted = {
        "made": "10 €",
        "beside": "Price 10 € net",
        "star": "Name*",
        "icon": "Edit",
        "away": "Go",
        "told": "On→",
        "tree": "Total 10 € for two!",
        "lines": "ONE\nTwo\nThree B",
        "on": "Bold\npressed",
        "off": "Like 5\nnot pressed",
        "tab": "Day\nselected",
        "other": "Week\nnot selected",
        "mere": "Month",
        "cell": "7",
    }
    read = {
        "star": "Name",
        "beside": "Price net",
        "tree": "Total for two!",
        "lines": extracted["lines"],
        "on": "Bold",
        "tab": "Day",
    }
    told, said = dict[str, str](), dict[str, str | None]()
    for name in extracted:
        found = await page.find(f"css=#{name}")
        assert found is not None
        said[name] = await page.read(found.ref)
        told[name] = (await page.perform(Extract(name="x", target=ANY), ref=found.ref)).extracted
    assert told == extracted
    assert {name: said[name] for name in read} == read
    whole = (await page.perform(Extract(name="x"))).extracted.split("\n")
    assert [line for line in whole if "10 €" in line] == ["10 €", "Price 10 € net", "Total 10 € for two!"]


FIELDS = """
<label>Day <input type=date></label><label>When <input type=datetime-local></label><label>Time <input type=time></label>
<label>Week <input type=week></label><label>Month <input type=month></label><label>Colour <input type=color></label>
<label>Count <input type=number></label><label>Loud <input type=range min=0 max=100></label>
<label>Short <input maxlength=6></label><label>Code <input maxlength=4></label><label>Area <textarea maxlength=6></textarea></label>
<label>Phone <input oninput="this.value=this.value.replace(/\\D/g,'').replace(/(...)(...)(.*)/,'($1) $2-$3')"></label>
<label>Amount <input oninput="this.value=this.value.replace(/\\D/g,'')"></label>
<label>Never <input oninput="this.value=''"></label>
<label>Late <input oninput="const f=this,v=f.value;f.value='';setTimeout(()=>f.value=v,250)"></label>
<label>Secret <input maxlength=4></label>
"""
BAD_DAY = "the field takes a date such as 2026-11-23, and stays empty"
FILLED = [
    ("textbox", "Day", "2026-11-23", ""),
    ("textbox", "Day", "23.11.2026", BAD_DAY),
    ("textbox", "When", "2026-11-23T09:30", ""),
    ("textbox", "When", "2026-11-23", "a date and time such as 2026-11-23T09:30"),
    ("textbox", "Time", "9:30", "a time such as 09:30"),
    ("textbox", "Week", "48", "a week such as 2026-W48"),
    ("textbox", "Month", "11/2026", "a month such as 2026-11"),
    ("textbox", "Colour", "blue-ish", "a colour such as #1e90ff"),
    ("spinbutton", "Count", "12.5", ""),
    ("spinbutton", "Count", "1,5", "a number such as 12.5"),
    ("slider", "Loud", "150", "a number from 0 up to 100, and shows “100” instead"),
    ("textbox", "Short", "Ann Marsh", "note: the field took 6 characters and shows “Ann Ma”"),
    ("textbox", "Area", "Ann Marsh", "note: the field took 6 characters and shows “Ann Ma”"),
    ("textbox", "Code", "123456", "the field shows “1234” instead"),
    ("textbox", "Phone", "5551234567", "note: the field shows “(555) 123-4567”: the same in another form"),
    ("textbox", "Amount", "12.50", "the field shows “1250” instead"),
    ("textbox", "Never", "x", "the field stays empty"),
    ("textbox", "Late", "x", ""),
]


async def test_a_field_is_filled_when_it_shows_what_was_asked_for(page: Page, site: PageServer) -> None:
    await visit(page, site, FIELDS)
    for role, name, value, told in FILLED:
        try:
            outcome = await use(page, Fill(target=ANY, value=value), role, name)
        except MeshError as error:
            assert error.code == "action.not_possible"
            assert told and told in error.message, (name, error.message)
            continue
        assert (name, [f"note: {note}" for note in outcome.notes]) == (name, [told] if told else [])
    with pytest.raises(MeshError) as cut:
        await use(page, Fill(target=ANY, value=Secret(secret="key")), "textbox", "Secret")
    assert cut.value.message == "the field shows something else instead"


BOXES = """
<label><input type=checkbox onclick="event.preventDefault();setTimeout(()=>{this.checked=true},300)"> Slow</label>
<label><input type=checkbox onchange="this.checked=false"> Never</label>
<label><input type=checkbox onchange="setTimeout(()=>this.checked=false,60)"> Back</label>
<label><input type=radio name=a checked> One</label>
<label>Menu <select onchange="this.selectedIndex=0"><option>First</option><option>Second</option></select></label>
<label>Size <select><option>S</option><option>M</option></select></label>
"""


async def test_a_box_and_a_list_are_as_asked_for_by_the_end_of_the_step(page: Page, site: PageServer) -> None:
    await visit(page, site, BOXES)
    await use(page, Check(target=ANY), "checkbox", "Slow")
    assert "checked" in element(await page.observe(), "checkbox", "Slow").states
    await use(page, Select(target=ANY, option="M"), "combobox", "Size")
    for action, role, name, told in (
        (Check(target=ANY), "checkbox", "Never", "does not stay on"),
        (Check(target=ANY), "checkbox", "Back", "turned the box back"),
        (Check(target=ANY, checked=False), "radio", "One", "by choosing another one"),
        (Select(target=ANY, option="Second"), "combobox", "Menu", "taken the choice back"),
    ):
        with pytest.raises(MeshError, match=told) as refused:
            ref = element(await page.observe(), role, name).ref
            await page.perform(action, ref=ref, timeout_ms=1_500)
        assert refused.value.code == "action.not_possible"


WIPED = """
<form><label>Nick <input oninput="wipe('HOW')"></label>
<button type=button onclick="document.forms[0].reset()">Clear</button></form>
<script>
const wipe = how => how && setTimeout(() => {
  const one = document.forms[0].elements[0];
  if (how === 'empty') one.value = ''; else one.outerHTML = '<input>';
}, 300)</script>
"""


@pytest.mark.parametrize("how", ["empty", "anew"])
async def test_a_field_that_the_page_empties_after_it_was_filled_is_noted_beside_the_step(
    page: Page, site: PageServer, how: str
) -> None:
    await visit(page, site, WIPED.replace("HOW", how))
    filled = await use(page, Fill(target=ANY, value="heron"), "textbox", "Nick")
    waited = await page.perform(Wait(still_ms=1_000))
    assert [*filled.notes, *waited.notes] == ["the page has emptied textbox “Nick” after it was filled"]
    assert (await page.perform(Wait())).notes == ()


async def test_what_a_press_empties_is_no_news(page: Page, site: PageServer) -> None:
    await visit(page, site, WIPED.replace("HOW", ""))
    await use(page, Fill(target=ANY, value="heron"), "textbox", "Nick")
    assert (await use(page, Click(target=ANY), "button", "Clear")).notes == ()
    assert (await page.perform(Wait())).notes == ()


async def test_a_service_worker_and_the_clipboard_that_are_refused_are_noted_once(page: Page, site: PageServer) -> None:
    """Taken out: each case of ``denied``. A page that handles its refusal in silence says nothing that could be noted."""
    clipboard = "the clipboard was refused to the page"
    calls = {
        "navigator.serviceWorker.register('/worker.js')": "a service worker of the page was refused: none runs here",
        "navigator.clipboard.readText()": f"{clipboard}: readText",
        "navigator.clipboard.writeText('x').catch(console.warn)": f"{clipboard}: writeText",
        "Promise.reject(new DOMException('no', 'NotAllowedError'))": "",
    }
    ends = ".finally(() => setTimeout(() => document.body.append(`${this.textContent} is over`), 50))"
    buttons = [f'<button onclick="{call}{ends}">Call {place}</button>' for place, call in enumerate(calls)]
    await visit(page, site, "".join(buttons))
    for place, note in enumerate(calls.values()):
        done = await use(page, Click(target=ANY), "button", f"Call {place}")
        over = await page.perform(Wait(text=f"Call {place} is over", timeout_ms=60_000))
        assert (*done.notes, *over.notes) == ((note,) if note else ()), place


async def test_files_are_in_their_field_or_it_is_noted_that_they_are_not(page: Page, site: PageServer) -> None:
    taken = "<label>Taken <input type=file onchange=\"this.value=''\"></label>"
    await visit(page, site, f"<label>Kept <input type=file></label>{taken}")
    files = Given(files=(GivenFile(name="offer.txt", data=b"ten mugs"),))
    for name, notes in (("Kept", 0), ("Taken", 1)):
        ref = element(await page.observe(), "button", name).ref
        outcome = await page.perform(Upload(target=ANY, files=("offer.txt",)), ref=ref, given=files)
        assert (name, len(outcome.notes)) == (name, notes)
