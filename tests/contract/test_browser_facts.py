"""What a real Chromium tells of a page: frames, traits of controls and forms, icons, where links lead."""

from __future__ import annotations

import pytest

from adapters.ports.browser import Page
from node.live.acting.driver import Driver, Gate
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator
from protocol.page.seen.observation import encode
from protocol.risk.pressing.classes import classify
from tests.gates import unreported
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()


async def test_frames_and_open_shadow_roots_are_seen_and_used(page: Page, site: PageServer) -> None:
    seen = (await page.perform(Goto(url=site.origin + "/frames.html"))).observation
    assert [item.frame for item in seen.elements if item.name in ("Inside", "Out", "Code")] == ["", "f1", "f2"]
    assert element(seen, "link", "Out").url == site.origin + "/table.html"
    assert b"swordfish" not in encode(seen)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Post").ref)
    assert outcome.blocked == ("POST /send",)
    assert element(outcome.observation, "button", "Post").traits.form_method == "post"
    assert not any(entry.startswith("POST") for entry in site.reached)


async def test_what_a_script_renders_late_is_waited_for(page: Page, site: PageServer) -> None:
    seen = (await page.perform(Goto(url=site.origin + "/frames.html"))).observation
    cards = [item for item in seen.elements if item.name == "Add to cart"]
    assert [item.context for item in cards] == ["Apple", "Pear", "Plum"]


async def test_rows_tell_their_buttons_apart(page: Page, site: PageServer) -> None:
    seen = (await page.perform(Goto(url=site.origin + "/table.html"))).observation
    edits = [item for item in seen.elements if item.name == "Edit" and item.role == "button"]
    assert len(edits) == 120
    assert edits[41].context == "Item 42"


async def test_traits_survive_dom_clobbering(page: Page, site: PageServer) -> None:
    html = (
        "<form method=post action=/account/delete><input name=method value=get><input name=action value=/search>"
        "<input name=elements><input name=parentNode><button name=submit>Go</button></form>"
    )
    seen = await shown(page, site, html)
    button = element(seen, "button", "Go")
    assert (button.traits.form_method, button.traits.form_action, button.traits.submits) == (
        "post",
        "/account/delete",
        True,
    )
    assert classify(Click(target=ANY), button, seen).level == 7


@pytest.mark.parametrize("name", ["getAttribute", "nodeType"])
async def test_a_page_that_hides_the_dom_from_its_reader_is_called_unreadable(
    page: Page, site: PageServer, name: str
) -> None:
    with pytest.raises(MeshError) as caught:
        await shown(page, site, f"<form><input name={name} aria-label=Field><button>Go</button></form>")
    assert (caught.value.code, caught.value.detail["name"]) == ("browser.unreadable", name)


async def test_fields_named_like_harmless_parts_of_the_dom_are_read(page: Page, site: PageServer) -> None:
    fields = "".join(f"<input name={name} aria-label={name}>" for name in ("closest", "children", "tagName", "style"))
    seen = await shown(page, site, f"<form>{fields}</form>")
    assert [item.name for item in seen.elements] == ["closest", "children", "tagName", "style"]


async def test_an_icon_only_button_is_known_by_its_marks(page: Page, site: PageServer) -> None:
    seen = (await page.perform(Goto(url=site.origin + "/form.html"))).observation
    nameless = next(item for item in seen.elements if item.role == "button" and "trash" in item.traits.tokens)
    assert classify(Click(target=ANY), nameless, seen).level == 7


async def test_what_opens_and_what_stands_around_a_button_is_seen(page: Page, site: PageServer) -> None:
    seen = await shown(
        page,
        site,
        "<button aria-haspopup=menu>Wug</button><button aria-expanded=false>Blick</button><button>Fep</button>"
        "<div role=dialog aria-label=Wait><p>This action cannot be undone.</p><button>Fine</button><button>Cancel</button></div>"
        "<form><input autocomplete=cc-number aria-label=Nummer><button type=button>Dax</button></form>",
    )
    levels = {
        item.name: classify(Click(target=ANY), item, seen).level for item in seen.elements if item.role == "button"
    }
    assert levels == {"Wug": 1, "Blick": 1, "Fep": 4, "Fine": 7, "Cancel": 4, "Dax": 5}


async def test_where_a_link_leads_is_seen_whatever_the_page_calls_it(page: Page, site: PageServer) -> None:
    seen = await shown(
        page,
        site,
        "<a role=button href=/rows/7>Zib</a><a role=menuitem href=\"javascript:save('x')\">Pon</a><a role=button>Fep</a>"
        "<button>Wug</button><a href=/rows>Tass</a>",
    )
    found = {item.name: item.url.removeprefix(site.origin) for item in seen.elements if item.name}
    assert found == {"Zib": "/rows/7", "Pon": "javascript:save('x')", "Fep": "", "Wug": "", "Tass": "/rows"}


async def test_a_file_in_an_address_is_no_part_of_what_is_seen(page: Page, site: PageServer) -> None:
    held = "data:text/csv;charset=utf-8,Ann;4711\nBob;4712"
    seen = await shown(page, site, f"<a role=button href='{held}'>Zib</a><a href='{held}'>Tass</a>")
    assert {item.url for item in seen.elements if item.name} == {"data:text/csv;charset=utf-8,…"}


async def test_addresses_of_what_the_page_calls_a_button_are_kept_up_to_a_length_and_a_number(
    page: Page, site: PageServer
) -> None:
    lengths = [4_096, 4_097, *[4_000] * 200]
    links = (f"<a role=button href=x:{'x' * (length - len('x:'))}>Zib</a>" for length in lengths)
    seen = await shown(page, site, "".join(links))
    found = [len(item.url) for item in seen.elements if item.role == "button"]
    assert found[:3] == [4_096, 0, 4_000]
    assert sum(found) <= 500_000
    assert found[-1] == 0


async def test_a_link_that_leads_nowhere_is_a_button_whatever_the_page_calls_it(page: Page, site: PageServer) -> None:
    seen = await shown(
        page,
        site,
        "<a role=button href=#>Zib</a><a role=button href=/rows#>Pon</a><a href=#>Fep</a><a href=#part>Wug</a><a href=#>Save</a>",
    )
    found = {item.name: item for item in seen.elements if item.name}
    assert {name: item.url.removeprefix(site.origin) for name, item in found.items()} == {
        **{"Zib": "/shown.html#", "Pon": "/rows#", "Fep": "/shown.html#", "Wug": "/shown.html#part"},
        "Save": "/shown.html#",
    }
    risks = {name: classify(Click(target=ANY), item, seen) for name, item in found.items()}
    assert {name: risk.level for name, risk in risks.items()} == {"Zib": 4, "Pon": 4, "Fep": 4, "Wug": 1, "Save": 4}


async def test_what_opens_the_text_around_it_is_a_control_also_where_it_is_the_only_one(
    page: Page, site: PageServer
) -> None:
    seen = await shown(page, site, "<details><summary>Zib</summary>more</details><div aria-label=Pon>text</div>")
    found = {item.name: (item.interactive, item.traits.tag) for item in seen.elements if item.name}
    assert found == {"Zib": (True, "summary"), "Pon": (False, "div")}
    (summary,) = (item for item in seen.elements if item.interactive)
    opened = await page.perform(Click(target=ANY), ref=summary.ref)
    assert "more" in opened.observation.text and "more" not in seen.text


async def test_what_the_page_states_to_do_when_something_changes_is_seen(page: Page, site: PageServer) -> None:
    seen = await shown(
        page,
        site,
        "<form method=post action=/a onchange='save()'><select aria-label=Wug><option>one</select></form>"
        "<form method=post action=/a><select aria-label=Blick onchange='return this.form.submit();'><option>one</select>"
        "<input type=checkbox aria-label=Fep onclick='keep(this.form.submit())'><input aria-label=Dax></form>"
        "<details ontoggle='save()'><summary>Zib</summary>more</details><details><summary>Pon</summary>more</details>"
        "<div contenteditable role=textbox aria-label=Tass oninput='save()'>x</div><button onclick='save()'>Rok</button>"
        "<a href='javascript:save(1)'>Next</a>",
    )
    reacts = {item.name: item.traits.reacts for item in seen.elements if item.traits.tag not in ("", "a")}
    assert reacts == {
        "Wug": "script", "Blick": "submit", "Fep": "script", "Dax": "",
        "Zib": "script", "Pon": "", "Tass": "script", "Rok": "",
    }  # fmt: skip
    assert classify(Click(target=ANY), element(seen, "link", "Next"), seen).level == 4


async def test_controls_that_look_alike_are_told_apart_by_what_they_state_to_run(page: Page, site: PageServer) -> None:
    handlers = {"Wug": "open(1)", "Blick": "open(27)", "Fep": "erase(1)", "Dax": ""}
    buttons = "".join(f"<button onclick='{runs}'>{name}</button>" for name, runs in handlers.items())
    seen = await shown(page, site, buttons)
    found = {item.name: item.traits.handler for item in seen.elements if item.role == "button"}
    assert found["Wug"] == found["Blick"] != found["Fep"]
    assert len(found["Fep"]) == 8
    assert found["Dax"] == ""


async def test_what_a_form_states_counts_and_an_empty_address_states_nothing(page: Page, site: PageServer) -> None:
    forms = {
        "Wug": "<form action='/find'>",
        "Blick": "<form action=''>",
        "Fep": "<form action='#'>",
        "Dax": "<form method=get>",
        "Toma": "<form action='/users'><input type=hidden name=_wpnonce value=8f2c11>",
        "Lorp": "<form method=post action='/users'><input type=hidden name=_wpnonce value=8f2c11>",
        "Kiki": "<form action='/users'><input type=hidden name=csrf_token value=''>",
    }
    html = "".join(f"{form}<input name=q><button>{name}</button></form>" for name, form in forms.items())
    seen = await shown(page, site, html)
    found = {each.name: each.traits for each in seen.elements if each.role == "button"}
    assert {name: traits.form_action for name, traits in found.items()} == {
        **{"Wug": "/find", "Blick": "", "Fep": "", "Dax": "/shown.html"},
        **{"Toma": "/users", "Lorp": "/users", "Kiki": "/users"},
    }
    assert [name for name, traits in found.items() if traits.guarded] == ["Toma"]


async def test_a_page_that_asks_for_a_file_is_said_to_and_gets_none(page: Page, site: PageServer) -> None:
    html = "<button onclick=\"document.querySelector('input').click()\">Wug</button><input type=file hidden><button>Blick</button>"
    seen = await shown(page, site, html)
    asked = await page.perform(Click(target=ANY), ref=element(seen, "button", "Wug").ref)
    after = await page.perform(Click(target=ANY), ref=element(asked.observation, "button", "Blick").ref)
    assert (asked.chooser, after.chooser) == (True, False)


async def test_a_form_states_what_runs_when_a_field_of_it_sends_it(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<form method=get action=/find onsubmit='send()'><input aria-label=Wug></form>")
    assert element(seen, "textbox", "Wug").traits.handler


async def test_an_icon_is_seen_behind_any_number_of_classes(page: Page, site: PageServer) -> None:
    painted = " ".join(f"c{letter * 3}" for letter in "abcdefghijklmnopqrstuvwxyz")
    html = (
        f"<button class='{painted}'><svg class='lucide lucide-trash'></svg></button>"
        "<button class='peer-hover/menu-button:text-x data-[variant=destructive]:focus:text-y'>Wug</button>"
    )
    seen = await shown(page, site, html)
    icon, named = (each.traits.tokens for each in seen.elements if each.role == "button")
    assert "trash" in icon
    assert named == ()


async def test_areas_of_a_picture_are_links_that_can_be_followed(page: Page, site: PageServer) -> None:
    areas = (
        "<area shape=rect coords='0,0,90,50' href=/form.html?left alt='Left half'>"
        "<area shape=circle coords='150,25,20' href=/form.html?round aria-label=Round>"
        "<area shape=poly coords='100,0,110,0,110,10,100,10' href=/form.html?poly alt=Corner><area nohref alt=None>"
    )
    html = f"<p>Map</p><img usemap='#m' alt=Plan width=200 height=50 style='padding: 5px'><map name=m>{areas}</map>"
    seen = await shown(page, site, f"{html}<map name=unused><area href=/x alt=Unused></map><p>End</p>")
    links = {item.name: item.url for item in seen.elements if item.role == "link"}
    path = f"{site.origin}/form.html"
    assert links == {"Left half": f"{path}?left", "Round": f"{path}?round", "Corner": f"{path}?poly"}
    listed = [line for line in seen.text.split("\n") if "link" in line]
    assert listed == ['- link "Left half"', '- link "Round"', '- link "Corner"']
    driver = Driver(page, Gate(report=unreported, risk_max=4))
    for name, target in (
        ("left", Locator(role="link", name="Left half")),
        ("round", Locator(selectors=("css=area[shape=circle]",))),
        ("poly", Locator(role="link", name="Corner")),
    ):
        await shown(page, site, html)
        driver.observation = await page.observe()
        done = await driver.act(Click(target=target))
        assert done.observation.url == f"{path}?{name}"


_MOVING = """
<button id=follow onclick="this.textContent = this.textContent == 'Follow' ? 'Unfollow' : 'Follow'">Follow</button>
<button onclick="list.append(list.firstElementChild)">Sort</button>
<button onclick="list.firstElementChild.remove()">Drop</button>
<ul id=list><li><a href=/a>One</a></li><li><a href=/b>Two</a></li></ul>
<iframe srcdoc="<button>Inside</button>"></iframe>
"""


async def test_an_element_keeps_its_identity_whatever_it_says_and_wherever_it_moves(
    page: Page, site: PageServer
) -> None:
    seen = await shown(page, site, _MOVING)
    own = dict(page.identities())
    assert own.keys() == {item.ref for item in seen.elements}
    assert len(set(own.values())) == len(own)

    async def press(name: str) -> dict[str, str]:
        outcome = await page.perform(Click(target=ANY), ref=element(await page.observe(), "button", name).ref)
        found = page.identities()
        return {item.name: found[item.ref] for item in outcome.observation.elements if item.name}

    first = {item.name: own[item.ref] for item in seen.elements if item.name}
    renamed = await press("Follow")
    assert renamed["Unfollow"] == first["Follow"]
    assert await press("Sort") == {**renamed}, "moved within the page"
    left = await press("Drop")
    assert (left["One"], left.get("Two"), left["Inside"]) == (first["One"], None, first["Inside"])
    seen = await shown(page, site, _MOVING)
    assert not set(page.identities().values()) & set(own.values()), "another document"
    assert page.identities().keys() == {item.ref for item in seen.elements}
