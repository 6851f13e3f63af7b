"""What only a real Chromium can show: crashes, frames, redirects, secrets in odd places, two backends byte for byte."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from adapters.browser.attached import attacher
from adapters.browser.chromium import launcher
from adapters.browser.settings import BrowserSettings
from adapters.browser.state import read_state
from adapters.browser.tunnel import Tunnel
from adapters.ports import Browser, Page
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Click, Extract, Fill, Goto, Locator, Scroll, Secret, Select, Wait
from protocol.page.observation import Observation, encode
from protocol.recording.session import ATTACHED, ATTACHED_WALLED, Profile
from protocol.risk.classes import classify
from protocol.risk.requests import GuardPolicy
from protocol.risk.unguarded import limits_of
from tests.given_secrets import given
from tests.mesh_nodes import browsers_of
from tests.sites.pages.backends import running_chromium
from tests.sites.pages.server import PageServer
from tests.sites.pages.visits import element, shown

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]
ANY = Locator()
WORD = "word"


@pytest_asyncio.fixture(loop_scope="module")
async def page(launched: Browser, site: PageServer) -> AsyncIterator[Page]:
    opened = await (await launched.open(Profile(), GuardPolicy())).page()
    yield opened
    await opened.close()


async def tour(page: Page, origin: str) -> list[bytes]:
    """The observations of a walk over the three pages, each taken once the page shows what its script adds last.

    A page counts as still after a short time without a change. On a busy machine the answer that a script waits for may come later.
    """
    walked: list[tuple[Action, str, str, str]] = [
        *(
            (Goto(url=origin + path), "", "", last)
            for path, last in (
                ("/form.html", ""),
                ("/frames.html", "Plum"),
                ("/table.html", "Item 120"),
                ("/form.html", ""),
            )
        ),
        (Fill(target=ANY, value="Ada"), "textbox", "Your name", ""),
        (Select(target=ANY, option="Price"), "combobox", "Sort by", ""),
        (Click(target=ANY), "checkbox", "I agree", ""),
        (Click(target=ANY), "button", "Load more", "three more"),
        (Click(target=ANY), "button", "Send", ""),
        (Click(target=ANY), "link", "Frames", "Plum"),
    ]
    seen: list[Observation] = []
    for action, role, name, last in walked:
        ref = element(seen[-1], role, name).ref if role else None
        seen.append((await page.perform(action, ref=ref)).observation)
        if last:
            seen[-1] = (await page.perform(Wait(text=last))).observation
    return [encode(item) for item in seen]


@pytest.mark.field
async def test_launched_and_attached_browsers_observe_the_same_bytes(launched: Browser, site: PageServer) -> None:
    async with running_chromium() as (address, _):
        attached = await attacher(BrowserSettings(cdp_url=address))()
        pages = [await (await each.open(Profile(), GuardPolicy())).page() for each in (launched, attached)]
        walks = [await tour(page, site.origin) for page in pages]
        await pages[0].close()
        await attached.close()
    assert walks[0] == walks[1]
    assert len(set(walks[0])) > 6


async def test_a_launched_browser_renders_no_pages_of_its_own_beside_those_of_a_context(
    page: Page, site: PageServer
) -> None:
    await page.perform(Goto(url=site.origin + "/form.html"))
    own = browsers_of(os.getpid())
    assert own
    assert [pid for pid in own if b"--top-chrome-webui" in (Path("/proc") / str(pid) / "cmdline").read_bytes()] == []


async def told_by(address: str) -> str:
    """What a browser that is attached to there says of itself."""
    attached = await attacher(BrowserSettings(cdp_url=address))()
    await attached.close()
    return attached.info.backend


async def test_an_attached_browser_whose_owner_chose_a_proxy_uses_it_and_is_said_to_have_no_second_wall() -> None:
    """Guard: adapters/browser/beside.py, Beside.prove."""
    async with running_chromium("--proxy-server=127.0.0.1:9") as (address, _):
        assert await told_by(address) == ATTACHED
    assert limits_of(ATTACHED) != limits_of(ATTACHED_WALLED)


async def test_an_attached_browser_that_does_not_reach_the_tunnel_is_said_to_have_no_second_wall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guard: adapters/browser/beside.py, Beside._seen."""

    async def elsewhere(_: Tunnel) -> int:
        return 9  # as of another machine: here nobody listens there

    async with running_chromium() as (address, _):
        assert await told_by(address) == ATTACHED_WALLED
        monkeypatch.setattr(Tunnel, "start_as_one", elsewhere)
        assert await told_by(address) == ATTACHED


async def test_an_attached_browser_runs_on_after_close() -> None:
    async with running_chromium() as (address, process):
        for _ in range(2):
            attached = await attacher(BrowserSettings(cdp_url=address))()
            assert attached.info.backend == ATTACHED_WALLED
            await (await attached.open(Profile(), GuardPolicy())).page()
            await attached.close()
            await attached.close()
        assert process.returncode is None


async def test_a_killed_browser_is_reported_promptly(site: PageServer) -> None:
    async with running_chromium() as (address, process):
        attached = await attacher(BrowserSettings(cdp_url=address))()
        page = await (await attached.open(Profile(), GuardPolicy())).page()
        await page.perform(Goto(url=site.origin + "/frames.html"))
        site.hold.clear()
        waiting = asyncio.ensure_future(page.perform(Goto(url=site.origin + "/held.html")))
        await asyncio.wait_for(site.held.wait(), 10)
        began = time.monotonic()
        process.send_signal(signal.SIGKILL)
        with pytest.raises(MeshError) as caught:
            await waiting
        assert caught.value.code == "browser.crashed"
        for call in (page.observe(), page.perform(Scroll()), attached.open(Profile(), GuardPolicy())):
            with pytest.raises(MeshError) as again:
                await call
            assert again.value.code == "browser.crashed"
        assert time.monotonic() - began < 3
        site.hold.set()
        await attached.close()


async def test_an_executable_that_is_not_there_is_missing() -> None:
    with pytest.raises(MeshError) as caught:
        await launcher(BrowserSettings(executable="/no/such/chromium"))()
    assert caught.value.code == "browser.missing"


async def test_an_executable_that_does_not_start_is_a_launch_error(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho secret-in-output >&2\nexit 1\n")
    os.chmod(program, 0o700)
    with pytest.raises(MeshError) as caught:
        await launcher(BrowserSettings(executable=str(program)))()
    assert caught.value.code == "browser.launch"
    assert "secret-in-output" not in str(caught.value.to_dict())


async def test_an_argument_that_is_not_on_the_list_is_refused() -> None:
    with pytest.raises(MeshError) as caught:
        await launcher(BrowserSettings(extra_args=("--remote-debugging-port=9222",)))()
    assert caught.value.code == "config.invalid"


async def test_an_address_without_a_browser_is_unreachable() -> None:
    with pytest.raises(MeshError) as caught:
        await attacher(BrowserSettings(cdp_url="http://127.0.0.1:9"))()
    assert caught.value.code == "browser.unreachable"


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
    assert levels == {"Wug": 1, "Blick": 1, "Fep": 4, "Fine": 7, "Cancel": 1, "Dax": 5}


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
    assert {name for name, risk in risks.items() if risk.doubt} == {"Zib", "Pon", "Fep"}


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


async def test_a_probed_page_is_left_though_it_asks_not_to_be(launched: Browser, site: PageServer) -> None:
    site.extra["/draft.html"] = "<button onclick='onbeforeunload = e => e.preventDefault()'>Wug</button>"
    for probe in (True, False):
        context = await launched.open(Profile(), GuardPolicy(probe=probe))
        page = await context.page()
        seen = (await page.perform(Goto(url=site.origin + "/draft.html"))).observation
        await page.perform(Click(target=ANY), ref=element(seen, "button", "Wug").ref)
        if probe:
            assert (await page.perform(Goto(url=site.origin + "/form.html"))).observation.url.endswith("/form.html")
        else:
            with pytest.raises(MeshError, match="given up"):
                await page.perform(Goto(url=site.origin + "/form.html"))
        await context.close()


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


async def test_a_form_states_what_runs_when_a_field_of_it_sends_it(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<form method=get action=/find onsubmit='send()'><input aria-label=Wug></form>")
    assert element(seen, "textbox", "Wug").traits.handler


async def test_built_files_below_a_route_that_is_called_by_a_verb_load(page: Page, site: PageServer) -> None:
    built, icon = "/_next/static/chunks/app/logout/page-4f5a6b7c.js", "/delete.svg?v=2"
    refused = "/web/items/delete/42.js"
    files = f"<script src={built}></script><script src={refused}></script><img src={icon} alt=Wug>"
    site.extra["/shown.html"] = files
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    assert outcome.blocked == (f"GET {refused}",)
    assert {f"GET {built}", f"GET {icon}"} <= set(site.reached)
    assert f"GET {refused}" not in site.reached


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


async def test_a_fetch_redirected_to_a_destructive_address_never_arrives(page: Page, site: PageServer) -> None:
    html = "<button onclick=\"fetch('/innocent').catch(() => document.title = 'refused')\">Look</button>"
    seen = await shown(page, site, html)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Look").ref)
    assert outcome.blocked == ("GET /account/close",)
    assert outcome.observation.title == "refused"
    assert "GET /account/close?confirm=1" not in site.reached


async def test_a_frame_redirected_to_a_destructive_address_never_arrives(page: Page, site: PageServer) -> None:
    site.extra["/shown.html"] = "<h1>Outside</h1><iframe src=/innocent></iframe><img src=/innocent>"
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    assert outcome.blocked == ("GET /account/close",)
    assert "GET /account/close?confirm=1" not in site.reached


async def test_a_pop_up_with_a_destructive_address_is_refused(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<title>Here</title><a target=_blank href=/account/close?confirm=1>Help</a>")
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "link", "Help").ref)
    assert outcome.blocked == ("GET /account/close",)
    assert outcome.observation.title == "Here"
    assert site.reached == ["GET /shown.html"]


async def test_a_beacon_and_a_worker_cannot_write(page: Page, site: PageServer) -> None:
    html = (
        "<button onclick=\"navigator.sendBeacon('/beacon', 'x'); new Worker(window.URL.createObjectURL(new Blob(["
        "`fetch('${location.origin}/worker', {method: 'POST'}).finally(() => postMessage(1))`])))"
        ".onmessage = () => document.title = 'done'\">Go</button>"
    )
    seen = await shown(page, site, html)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref)
    later = await page.perform(Scroll())
    assert {*outcome.blocked, *later.blocked} == {"POST /beacon", "POST /worker"}
    assert site.reached == ["GET /shown.html"]


async def test_a_graphql_query_passes_and_a_mutation_does_not(page: Page, site: PageServer) -> None:
    html = (
        "<script>const ask = (query, type) => fetch('/graphql',"
        " {method: 'POST', headers: {'Content-Type': type}, body: JSON.stringify({query})});</script>"
        "<button onclick=\"ask('{ me { name } }', 'application/json')\">Read</button>"
        "<button onclick=\"ask('{ me { name } }', 'text/plain')\">Disguised</button>"
        "<button onclick=\"ask('mutation { drop }', 'application/json')\">Write</button>"
    )
    seen = await shown(page, site, html)
    assert (await page.perform(Click(target=ANY), ref=element(seen, "button", "Read").ref)).blocked == ()
    for name in ("Disguised", "Write"):
        outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", name).ref)
        assert outcome.blocked == ("POST /graphql",)
    assert site.reached.count("POST /graphql") == 1


async def test_a_stale_ref_is_missing_at_once(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<button onclick='this.remove()'>Once</button><button>Stay</button>")
    ref = element(seen, "button", "Once").ref
    await page.perform(Click(target=ANY), ref=ref)
    seen = await shown(
        page, site, "<button>Once</button><script>onclick = () => document.body.textContent = ''</script>"
    )
    began = time.monotonic()
    await page.perform(Click(target=ANY), ref=element(seen, "button", "Once").ref)
    with pytest.raises(MeshError) as caught:
        await page.perform(Click(target=ANY), ref=element(seen, "button", "Once").ref)
    assert caught.value.code == "action.target_missing"
    assert time.monotonic() - began < 3


async def test_what_goes_while_it_is_reached_for_is_missing_and_left_alone_when_it_is_back(
    page: Page, site: PageServer
) -> None:
    seen = await shown(
        page,
        site,
        "<button onclick=\"document.title = 'clicked'\">Now</button><p id=p>Now</p><script>"
        "const b = document.querySelector('button');"
        "setTimeout(() => { b.remove(); fetch('/more?gone'); "
        "setTimeout(() => { p.before(b); fetch('/more?back') }, 2500) }, 1500)</script>",
    )
    await site.was_asked("GET /more?gone")
    began = time.monotonic()
    with pytest.raises(MeshError) as caught:
        await page.perform(Click(target=ANY), ref=element(seen, "button", "Now").ref)
    assert caught.value.code == "action.target_missing"
    assert time.monotonic() - began < 2
    await site.was_asked("GET /more?back")
    back = await page.observe()
    assert element(back, "button", "Now")
    assert back.title == ""


async def test_a_secret_is_masked_in_addresses_and_page_text(page: Page, site: PageServer) -> None:
    html = (
        "<title>Hi s3cret word</title><form action=/shown.html>"
        "<input name=q aria-label=Field><button>Go</button></form>"
        "<p id=p></p><a href='/x?k=s3cret%20word'>Link</a><script>p.textContent = 'You are s3cret word'</script>"
    )
    seen = await shown(page, site, html)
    field = element(seen, "textbox", "Field").ref
    secrets = given(at=site.origin, word="s3cret word")
    seen = (await page.perform(Fill(target=ANY, value=Secret(secret=WORD)), ref=field, secrets=secrets)).observation
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "Go").ref)
    assert "s3cret" not in encode(outcome.observation).decode(errors="ignore")
    assert outcome.observation.url.endswith("q=‹secret:word›")


async def test_a_page_that_never_rests_is_left_at_the_limit(page: Page, site: PageServer) -> None:
    site.extra["/shown.html"] = "<p id=p>0</p><script>setInterval(() => p.textContent++, 20)</script>"
    outcome = await page.perform(Goto(url=site.origin + "/shown.html"))
    assert not outcome.settled


async def test_downloads_and_workers_are_refused_and_the_page_stays(page: Page, site: PageServer) -> None:
    seen = await shown(page, site, "<a download href='/table.html'>Save</a><a href='#x'>Stay</a>")
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "link", "Save").ref)
    assert outcome.observation.url == site.origin + "/shown.html"
    outcome = await page.perform(Click(target=ANY), ref=element(outcome.observation, "link", "Stay").ref)
    assert outcome.observation.url.endswith("#x")


async def test_the_profile_is_what_the_page_sees(launched: Browser, site: PageServer) -> None:
    profile = Profile(width_px=900, height_px=700, locale="de-DE", timezone="Asia/Tokyo")
    page = await (await launched.open(profile, GuardPolicy())).page()
    seen = await shown(
        page,
        site,
        "<title>x</title><script>document.title = [innerWidth, innerHeight, devicePixelRatio, navigator.language, "
        "Intl.DateTimeFormat().resolvedOptions().timeZone, matchMedia('(prefers-reduced-motion)').matches, "
        "'serviceWorker' in navigator && Notification.permission].join(' ')</script>",
    )
    assert seen.title.startswith("900 700 1 de-DE Asia/Tokyo true")
    await page.close()


async def test_a_selector_finds_what_is_in_a_frame_of_another_site(page: Page, site: PageServer) -> None:
    other = site.origin.replace("127.0.0.1", "localhost")
    site.extra["/other.html"] = "<button>First</button><button id=in>In</button><b id=text>Text</b>"
    seen = await shown(page, site, f"<button id=in>Out</button><iframe src={other}/other.html></iframe>")
    assert await page.find("css=#in") == element(seen, "button", "Out")
    assert await page.find("css=#in", "f1") == element(seen, "button", "In")
    found = await page.find("css=#text", "f1")
    assert found is not None
    assert (found.role, found.frame) == ("generic", "f1")
    read = await page.perform(Extract(name="text", target=Locator(selectors=("css=#text",))), ref=found.ref)
    assert read.extracted == "Text"


async def test_a_selector_that_leads_into_a_frame_means_the_element_in_it_and_none_around_it(
    page: Page, site: PageServer
) -> None:
    site.extra["/other.html"] = "<button>In</button>"
    seen = await shown(page, site, "<button>Out</button><iframe src=/other.html></iframe>")
    found = await page.find("css=iframe >> internal:control=enter-frame >> css=button")
    assert found == element(seen, "button", "In")
    assert found is not None and found.frame


async def test_a_selector_reaches_into_shadow_roots(page: Page, site: PageServer) -> None:
    html = "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<p></p><button>Deep</button>'</script>"
    seen = await shown(page, site, html)
    assert await page.find("css=#host button") == element(seen, "button", "Deep")


@pytest.mark.parametrize(
    ("selector", "id_"),
    [
        ("testid=go", "one"),
        ("label=Street", "two"),
        ('label="Street name"', "two"),
        ("placeholder=Town", "three"),
        ("title=Send it", "four"),
        ("alt=A cat", "five"),
        ("pierce/#deep", "deep"),
        ("css=canvas", "six"),
        ("css=.editor", "seven"),
    ],
)
async def test_each_way_finds_the_one_element_that_playwright_finds(
    page: Page, site: PageServer, selector: str, id_: str
) -> None:
    await shown(
        page,
        site,
        "<button id=one data-testid=go>Go</button><label>Street name <input id=two></label><input id=three placeholder=Town>"
        "<button id=four title='Send it'>S</button><img id=five alt='A cat' width=9 height=9><canvas id=six></canvas>"
        "<div id=seven class=editor contenteditable>two<br>lines</div><div id=host></div>"
        "<script>host.attachShadow({mode: 'open'}).innerHTML = '<button id=deep>Deep</button>'</script>",
    )
    found = await page.find(selector)
    assert found is not None
    assert dict(found.traits.attributes)["id"] == id_


async def test_an_editor_without_a_role_is_filled_itself(page: Page, site: PageServer) -> None:
    await shown(page, site, "<div class=editor contenteditable>old</div><div contenteditable>other</div>")
    target = Locator(selectors=("css=.editor",))
    found = await page.find("css=.editor")
    assert found is not None
    after = await page.perform(Fill(target=target, value="new"), ref=found.ref)
    assert "new" in after.observation.text
    assert "old" not in after.observation.text
    assert "other" in after.observation.text


async def test_a_part_of_a_button_does_not_stand_for_the_button_and_cannot_be_clicked(
    page: Page, site: PageServer
) -> None:
    """Neither does what says the same but lies elsewhere: the click would land beside it."""
    await shown(
        page,
        site,
        "<button>Beer <span class=part>x</span></button>"
        "<button>A <span class=most>mug of beer</span></button>"
        "<button style='width:200px;text-align:left'><i class=beside style='display:inline-block;width:9px;height:9px'></i>"
        "</button>",
    )
    beside = await page.find("css=.beside")
    assert beside is not None
    assert (beside.role, beside.inside) == ("generic", "e3")
    for place, selector in enumerate(("css=.part", "css=.most"), 1):
        found = await page.find(selector)
        assert found is not None
        assert found.role == "generic"
        assert found.inside == f"e{place}"
        assert await page.read(found.ref) == ("x", "mug of beer")[place - 1]
        assert await page.read(found.ref, "class") == selector.removeprefix("css=.")
        with pytest.raises(MeshError) as caught:
            await page.perform(Click(target=Locator(selectors=(selector,))), ref=found.ref)
        assert caught.value.code == "action.not_possible"


async def test_a_frame_of_another_site_is_observed_and_guarded(page: Page, site: PageServer) -> None:
    other = site.origin.replace("127.0.0.1", "localhost")
    site.extra["/other.html"] = (
        "<form method=post action=/send><input type=password value=swordfish><button>In</button></form>"
    )
    site.extra["/late.html"] = "<title>x</title><button onclick=\"fetch('/innocent')\">Late</button>"
    seen = await shown(page, site, f"<iframe src={other}/other.html></iframe><iframe src={other}/late.html></iframe>")
    assert element(seen, "button", "In").traits.form_method == "post"
    assert b"swordfish" not in encode(seen)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "button", "In").ref)
    assert outcome.blocked == (f"POST {other}/send",)
    outcome = await page.perform(Click(target=ANY), ref=element(outcome.observation, "button", "Late").ref)
    assert outcome.blocked == (f"GET {other}/account/close",)
    assert not any("close" in entry for entry in site.reached)


async def test_a_selector_leads_into_frames_and_finds_what_is_observed_there(page: Page, site: PageServer) -> None:
    site.extra["/inner.html"] = "<button onclick=\"this.textContent='Done'\">Pay</button>"
    site.extra["/outer.html"] = "<iframe name=b src=/inner.html></iframe><button>Pay</button>"
    await shown(
        page, site, "<iframe src=/popup.html></iframe><iframe name=a src=/outer.html></iframe><button>Pay</button>"
    )
    enter = " >> internal:control=enter-frame >> "
    outer, inner = f"css=[name=a]{enter}role=button", f"css=[name=a]{enter}css=[name=b]{enter}role=button"
    seen = await page.observe()
    found = [await page.find(selector) for selector in (outer, inner)]
    listed = {item.ref: item for item in seen.elements}
    assert [listed[item.ref].frame for item in found if item] == [item.frame for item in found if item] == ["f2", "f3"]
    assert found[1] is not None
    await page.perform(Click(target=Locator()), ref=found[1].ref)
    assert (await page.find(inner, found[1].frame) or found[0]) != found[1]
    names = {item.frame: item.name for item in (await page.observe()).elements if item.role == "button"}
    assert names == {"": "Pay", "f2": "Pay", "f3": "Done"}
    assert await page.find(f"css=[name=a]{enter}css=#none") is None


async def test_several_options_are_chosen_where_the_list_takes_them(page: Page, site: PageServer) -> None:
    options = "<option value=r>Red<option value=g selected>Green<option value=b>Blue</select>"
    await shown(page, site, f"<select multiple aria-label=Many>{options}<select aria-label=One>{options}")
    many, one = (item.ref for item in (await page.observe()).elements if item.role in ("listbox", "combobox"))
    await page.perform(Select(target=Locator(), option="Red", also=("Blue",)), ref=many)
    chosen = {item.name: "selected" in item.states for item in (await page.observe()).elements if item.role == "option"}
    assert chosen == {"Red": True, "Green": False, "Blue": True}
    with pytest.raises(MeshError, match="does not take several"):
        await page.perform(Select(target=Locator(), option="Red", also=("Blue",)), ref=one)


_KEEPS = """<title>Keeps</title><script>
const asked = indexedDB.open('base', 1);
asked.onupgradeneeded = () => { const it = {}; it.self = it; asked.result.createObjectStore('s').put(it, 1); };
asked.onsuccess = () => { asked.result.close(); document.body.append('kept'); };
</script><body>"""
_BROKEN = """<title>Broken</title><script>
localStorage.good = 'value'; localStorage.bad = '\\ud800'; localStorage['\\ud800'] = 'x';
</script>"""


async def test_a_page_that_keeps_what_cannot_be_written_ends_nothing_but_the_reading_of_its_own_state(
    launched: Browser, site: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/browser.py, connected."""
    site.extra["/keeps.html"] = _KEEPS
    context = await launched.open(Profile(), GuardPolicy())
    page = await context.page()
    await page.perform(Goto(url=f"{site.origin}/keeps.html"))
    await page.perform(Wait(text="kept"))
    monkeypatch.setattr(limits, "NAVIGATION_TIMEOUT_MS", 3_000)
    with pytest.raises(MeshError) as caught:
        await context.state(whole=True)
    assert caught.value.code == "browser.timeout"
    monkeypatch.undo()
    other = await launched.open(Profile(), GuardPolicy())
    await (await other.page()).perform(Goto(url=f"{site.origin}/form.html"))
    await other.close()
    await context.close()
    assert "NODE_OPTIONS" not in os.environ


async def test_text_that_is_no_unicode_is_left_out_of_the_state_and_named(launched: Browser, site: PageServer) -> None:
    site.extra["/broken.html"] = _BROKEN
    context = await launched.open(Profile(), GuardPolicy())
    page = await context.page()
    await page.perform(Goto(url=f"{site.origin}/broken.html"))
    state = await context.state(whole=True)
    await context.close()
    (origin,) = read_state(state).origins
    assert [item.name for item in origin.localStorage] == ["good"]
    assert [each.what for each in state.untaken] == ["broken-text"]
