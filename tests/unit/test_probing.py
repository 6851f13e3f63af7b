"""A search tries what is in doubt where no write can leave, explores what turns out to read only, and remembers both."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from adapters.ports import FormFate, Outcome
from node.cli.explore import show_summary
from node.config.settings import BrowserConfig, PolicyConfig
from node.explorer.showing.show import Parts, show_search
from node.live.acting import judged
from node.live.browsers import Browsers
from node.live.history import Held, History
from node.live.probe_ledger import Ledger, Probes
from node.live.probe_visit import _in_doubt
from node.live.probing import Probing, guard_of_probes, may_probe
from node.verbs.owner import ChangeParams
from protocol import limits
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.page.action import Action, Click, Fill, Goto, Locator, Select, target_of
from protocol.page.action import Press as Key
from protocol.page.locator import resolve
from protocol.page.observation import Element, Traits
from protocol.recording.session import Profile
from protocol.risk.judgement import Risk
from protocol.risk.requests import GuardPolicy, judge_request
from protocol.risk.sites import SiteRule
from tests.mesh_memory import NEVER, ORIGIN, MemoryNode, memory_mesh, until
from tests.owners import ANNA, entry
from tests.twins.browser import Control, Document, Effect, Kept, MemoryBrowser, MemoryPage, MemorySite
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore
from tests.unit.test_explorer_doubts import BEHIND, button, link, questions, say, warehouse

pytestmark = pytest.mark.virtual_time

SHELF = Condition(url="*/shelf")


def shop(*more: Control) -> MemorySite:
    """A site whose goal lies behind a button that nobody understands and that only reads; ``more`` stands on its start page."""
    pages = {
        "/": (button("Frobnicate", Effect(go="/shelf")), link("Hall", f"{ORIGIN}/hall"), *more),
        "/hall": (link("Home", f"{ORIGIN}/"),),
        "/shelf": (link("Home", f"{ORIGIN}/"),),
    }
    return MemorySite({ORIGIN + path: Document(title=path, controls=controls) for path, controls in pages.items()})


@contextlib.asynccontextmanager
async def probing(
    *names: str, site: MemorySite, asks: bool = False, policy: PolicyConfig | None = None, cdp_url: str = ""
) -> AsyncIterator[list[MemoryNode]]:
    """Nodes that try what is in doubt."""
    async with memory_mesh(*(names or ("anna",)), site=site) as nodes:
        nodes[0].mesh.probes, nodes[0].mesh.asks = True, asks
        for node in nodes:
            await node.stop()
            node.config = msgspec.structs.replace(
                node.config, policy=policy or PolicyConfig(), browser=BrowserConfig(cdp_url=cdp_url)
            )
            await node.start()
        yield nodes


async def probes(node: MemoryNode, search: str) -> Probes:
    return (await node.explorer.view(search))[2].probes


async def test_a_search_goes_on_through_a_control_that_turned_out_to_read_only() -> None:
    async with probing(site=shop()) as (anna,):
        found = await anna.run(SHELF, seconds=600)
        assert found.status == "done"
        counts = await probes(anna, found.id)
        assert (counts.probed, counts.harmless, counts.writing) == (1, 1, 0)


async def test_what_was_found_out_is_known_after_a_restart_and_not_tried_again() -> None:
    async with probing(site=shop()) as (anna,):
        await anna.run(SHELF, seconds=600)
        await anna.stop()
        await anna.start()
        found = await anna.run(SHELF, seconds=600)
        assert (found.status, (await probes(anna, found.id)).probed) == ("done", 0)


async def test_a_control_that_writes_is_held_found_out_and_asked_about() -> None:
    async with probing(site=warehouse(), asks=True) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        (asked,) = await questions(anna)
        assert asked.risk == 4
        assert not any(request.startswith("POST") for request in anna.site.reached)
        counts = await probes(anna, found.id)
        assert (counts.probed, counts.harmless, counts.writing, counts.asked) == (1, 0, 1, 1)


async def test_a_yes_while_it_runs_brings_a_search_back_to_what_was_found_to_write() -> None:
    async with probing(site=warehouse(), asks=True) as (anna,):
        made = entry(anna.approvals.keys.owners, ANNA)
        await anna.approvals.keys.change(ChangeParams(by="first", change=made.change.hex(), signed=made.signed.hex()))
        searching = asyncio.create_task(anna.run(BEHIND, seconds=4_000))
        (asked,) = await until(lambda: questions(anna), "a question")
        assert not any("/behind" in request for request in anna.site.reached)
        await say(anna, asked.id)
        found = await searching
        counts = await probes(anna, found.id)
        assert (found.status, counts.writing, counts.asked) == ("done", 1, 1)
        assert "POST /behind" in anna.site.reached


async def test_a_question_about_a_request_counts_as_one_about_an_action_does() -> None:
    hall = msgspec.structs.replace(
        link("Hall", f"{ORIGIN}/hall"), effect=Effect(go="/hall", fetch=(("POST", "/seen"),))
    )
    site = start_page(hall)
    site.documents[f"{ORIGIN}/hall"] = Document(title="Hall", controls=(link("Home", f"{ORIGIN}/"),))
    async with probing(site=site, asks=True, policy=PolicyConfig(probe=False)) as (anna,):
        found = await anna.run(NEVER, seconds=20)
        assert [asked.kind for asked in await questions(anna)] == ["request"]
        assert (await probes(anna, found.id)).asked == 1


async def test_what_a_search_tried_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    async with probing(site=warehouse(), asks=True) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        parts = Parts(anna.explorer, None, anna.peers, anna.store, anna.mesh.clock, anna.name)  # type: ignore[arg-type]
        shown = await show_search(parts, found.id, "")
    assert (shown.probed, shown.found_harmless, shown.found_writing, shown.asked) == (1, 0, 1, 1)
    show_summary(msgspec.to_builtins(shown))
    said = "1 control tried where nothing can be changed: 0 only read, 1 would write; 1 question asked"
    assert said in capsys.readouterr().out
    show_summary(msgspec.to_builtins(shown) | {"given_up": 2})
    assert "1 would write, 2 tries took too long; 1 question asked" in capsys.readouterr().out


async def test_a_control_that_tries_to_delete_is_not_even_asked_about() -> None:
    deletes = button("Frobnicate", Effect(fetch=(("DELETE", "/rows/7"),)))
    async with probing(site=MemorySite({f"{ORIGIN}/": Document(title="", controls=(deletes,))}), asks=True) as (anna,):
        await anna.run(NEVER, seconds=100)
        assert await questions(anna) == ()
        assert not any("DELETE" in request for request in anna.site.reached)


async def test_what_is_known_to_be_dangerous_is_not_tried() -> None:
    known = [
        button(name, Effect(go=f"/done/{at}"))
        for at, name in enumerate(("Delete account", "Pay now", "Change password"))
    ]
    async with probing(site=shop(*known)) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        assert (await probes(anna, found.id)).probed == 1
        assert not any("/done/" in request for request in anna.site.reached)


async def test_what_is_harmless_only_by_what_it_says_is_tried_before_a_search_presses_it() -> None:
    """Guard: node/live/probing.py, Probing._doubtful."""
    posts = button("Next", Effect(fetch=(("POST", "/rows"),)))
    async with probing(site=MemorySite({f"{ORIGIN}/": Document(title="", controls=(posts,))}), asks=True) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        counts = await probes(anna, found.id)
        assert (counts.probed, counts.harmless, counts.writing) == (1, 0, 1)
        assert not any("POST" in request for request in anna.site.reached)
        (asked,) = await questions(anna)
        assert asked.risk == 4
        again = await anna.run(NEVER, seconds=600)
        assert (await probes(anna, again.id)).probed == 0


async def test_what_says_that_it_is_harmless_and_is_costs_one_press() -> None:
    site = shop()
    site.documents[f"{ORIGIN}/"] = Document(title="", controls=(button("Next", Effect(go="/shelf")),))
    async with probing(site=site) as (anna,):
        found = await anna.run(SHELF, seconds=600)
        counts = await probes(anna, found.id)
        assert (found.status, counts.probed, counts.harmless) == ("done", 1, 1)


async def test_what_a_search_presses_by_its_words_is_remembered_where_nothing_is_tried_first() -> None:
    """Guard: node/live/acting.py, Driver._learn."""
    posts = button("Next", Effect(fetch=(("POST", "/rows"),)))
    site = MemorySite({f"{ORIGIN}/": Document(title="", controls=(posts,))})
    async with probing(site=site, policy=PolicyConfig(probe=False)) as (anna,):
        await anna.run(NEVER, seconds=100)
        assert [kept.past.tried for kept in await anna.store.history(ORIGIN)] == [4]


async def test_a_control_that_asks_back_stays_in_doubt() -> None:
    asks = button("Frobnicate", Effect(go="/shelf", dialog="confirm", asks="Sure?"))
    site = shop()
    site.documents[f"{ORIGIN}/"] = Document(title="", controls=(asks,))
    async with probing(site=site) as (anna,):
        found = await anna.run(SHELF, seconds=100)
        counts = await probes(anna, found.id)
        assert (found.status, counts.probed, counts.harmless) == ("failed", 1, 0)


async def test_a_control_whose_choice_stays_for_the_next_load_is_tried_and_so_are_those_after_it() -> None:
    """Guard: node/live/probing.py, Probing._visit."""
    site = shop(button("Quux", Effect(go="/theme", stores=True)))
    site.documents[f"{ORIGIN}/theme"] = Document(title="", items=(("theme", "dark"),))
    start = site.documents[f"{ORIGIN}/"]
    site.documents[f"{ORIGIN}/"] = Document(
        title="", controls=(start.controls[-1], *start.controls[:-1]), later=(button("Quux"),)
    )
    async with probing(site=site) as (anna,):
        found = await anna.run(NEVER, seconds=600)
        counts = await probes(anna, found.id)
        assert (counts.probed, counts.harmless) == (2, 2)


async def test_a_form_that_only_complains_of_what_is_missing_stays_in_doubt() -> None:
    """Guard: node/live/probe_visit.py, Visit.press."""
    complains = button("Quux", Effect(dialog="alert", asks="The title is missing"))
    traits = Traits(tag="button", submits=True, form_method="post", form_action="/rows")
    form = msgspec.structs.replace(complains, element=msgspec.structs.replace(complains.element, traits=traits))
    for control, harmless in ((complains, 1), (form, 0)):
        site = MemorySite({f"{ORIGIN}/": Document(title="", controls=(control,))})
        async with probing(site=site) as (anna,):
            found = await anna.run(NEVER, seconds=100)
            counts = await probes(anna, found.id)
            assert (counts.probed, counts.harmless) == (1, harmless)


@pytest.mark.parametrize(
    ("fate", "level"),
    [("", 4), ("missing", 4), ("complete", 3), ("untouched", 3)],
    ids=lambda each: str(each) or "unknown",
)
async def test_enter_in_a_form_is_known_only_where_nothing_was_missing_or_the_form_was_kept_out_of_it(
    fate: FormFate, level: int
) -> None:
    """Guard: node/live/probe_visit.py, Visit.press."""
    traits = Traits(tag="input", form_method="post", form_action="/rows")
    asks = field("Filter", Effect(form=fate, dialog="alert", asks="Something"))
    form = msgspec.structs.replace(asks, element=msgspec.structs.replace(asks.element, traits=traits))
    async with trying(start_page(form)) as classes:
        assert await classes(Key(key="Enter", target=Locator(role="textbox", name="Filter"))) == [level]


async def test_the_empty_fields_of_a_form_are_filled_in_before_its_button_is_pressed() -> None:
    """Guard: node/live/probe_visit.py, Visit._fill_in."""
    form = Traits(tag="input", form_method="post", form_action="/rows")
    complains = button("Quux", Effect(form="missing", dialog="alert", asks="The title is missing"))
    sends, title, mail = (
        msgspec.structs.replace(each, element=msgspec.structs.replace(each.element, traits=traits))
        for each, traits in (
            (complains, msgspec.structs.replace(form, tag="button", submits=True)),
            (field("Title", Effect()), form),
            (field("E-mail", Effect()), msgspec.structs.replace(form, input_type="email")),
        )
    )
    site = start_page(sends, title, mail, field("Other", Effect()))
    typed: dict[str, object] = {}

    class Told(MemoryPage):
        async def perform(self, action: Action, **more: Any) -> Outcome:
            typed.update({action.target.name: action.value} if isinstance(action, Fill) else {})
            return await super().perform(action, **more)

    class TellingBrowser(MemoryBrowser):
        def new_page(self, guard: GuardPolicy, kept: Kept) -> MemoryPage:
            return Told(self._site, guard, kept)

    async with trying(site, TellingBrowser(site)) as classes:
        assert await classes(Click(target=Locator(role="button", name="Quux"))) == [4]
    # A word is no e-mail address: a browser would not send the form then.
    assert typed == {"Title": "figs", "E-mail": "figs@example.org"}


@pytest.mark.parametrize("fate", ["complete", "untouched"])
async def test_what_a_script_sends_in_place_of_a_form_counts_as_before(fate: FormFate) -> None:
    traits = Traits(tag="button", submits=True, form_method="post", form_action="/rows")
    sends = button("Quux", Effect(form=fate, fetch=(("POST", "/rows"),), dialog="alert", asks="Done"))
    form = msgspec.structs.replace(sends, element=msgspec.structs.replace(sends.element, traits=traits))
    async with trying(start_page(form)) as classes:
        assert await classes(Click(target=Locator(role="button", name="Quux"))) == [4]


@pytest.mark.parametrize(
    ("name", "level"),
    [("Quux", 1), ("10 minutes ago", 1), ("Archive", 4), ("7", 4), ("რუკა", 4)],
    ids=["a name", "a time", "a command", "no label", "a script that is not read"],
)
async def test_of_what_shows_nothing_and_sends_nothing_only_a_name_is_harmless(name: str, level: int) -> None:
    """Guard: node/live/probe_visit.py, _is_name."""
    async with trying(start_page(button(name))) as classes:
        assert await classes(Click(target=Locator(role="button", name=name))) == [level]


async def test_a_name_that_shows_nothing_and_asks_for_data_stays_in_doubt() -> None:
    """Guard: node/live/probe_visit.py, Visit.press."""
    async with trying(start_page(button("Quux", Effect(fetch=(("GET", "/quux/7"),))))) as classes:
        assert await classes(Click(target=Locator(role="button", name="Quux"))) == [4]


@pytest.mark.parametrize("fate", ["complete", "untouched"])
@pytest.mark.parametrize("submits", [True, False])
async def test_a_button_of_a_form_is_no_name(submits: bool, fate: FormFate) -> None:
    """Guard: node/live/probe_visit.py, Visit.press."""
    traits = Traits(tag="button", submits=submits, form_method="post", form_action="/rows")
    element = Element(ref="", role="button", name="Quux", traits=traits)
    async with trying(start_page(Control(element=element, effect=Effect(form=fate)))) as classes:
        assert await classes(Click(target=Locator(role="button", name="Quux"))) == [4]


async def test_what_is_called_as_a_thing_is_a_name_in_a_form_that_only_reads() -> None:
    traits = Traits(tag="button", form_method="get", form_action="/rows")
    element = Element(ref="", role="button", name="Quux", traits=traits)
    async with trying(start_page(Control(element=element, effect=Effect(form="untouched")))) as classes:
        assert await classes(Click(target=Locator(role="button", name="Quux"))) == [1]


@pytest.mark.parametrize(
    "off",
    [
        {"policy": PolicyConfig(probe=False)},
        {"policy": PolicyConfig(sites=(SiteRule(site=ORIGIN, why="a login", probe=False),))},
        {"cdp_url": "http://127.0.0.1:9222"},
    ],
)
async def test_nothing_is_tried_where_probing_is_off(off: dict[str, object]) -> None:
    async with probing(site=shop(), **off) as (anna,):  # type: ignore[arg-type]
        found = await anna.run(SHELF, seconds=100)
        assert (found.status, (await probes(anna, found.id)).probed) == ("failed", 0)


async def test_what_a_peer_found_harmless_counts_here_only_after_an_own_probe() -> None:
    async with probing("anna", "bruno", site=shop()) as (anna, _):
        found = await anna.run(SHELF, seconds=4_000)
        assert found.status == "done"
        # Both have pressed it themselves: whoever verifies the claim too.
        assert await anna.store.history(ORIGIN)


async def test_a_probe_leaves_cookies_and_storage_of_the_work_alone() -> None:
    site = shop()
    site.documents[f"{ORIGIN}/shelf"] = Document(title="", cookies=(("probed", "yes"),), controls=())
    site.documents[f"{ORIGIN}/"] = Document(title="", text=("COOKIES",), controls=site.documents[f"{ORIGIN}/"].controls)
    async with probing(site=site) as (anna,):
        await anna.run(NEVER, seconds=50)
        contexts = [context for browser in anna.browsers_opened for context in browser._contexts]
        assert len(contexts) > 1
        assert all(not page.is_open for context in contexts for page in context._pages)


@contextlib.asynccontextmanager
async def trying(
    site: MemorySite, browser: MemoryBrowser | None = None, counts: Probes | None = None
) -> AsyncIterator[Callable[..., Awaitable[list[int]]]]:
    """Has probes try actions on the start page of ``site``; gives the classes with which a search acts afterwards."""
    browsers, clock = Browsers(lambda: asyncio.sleep(0, browser or MemoryBrowser(site))), ManualClock()
    ledger, history = Ledger(counts or Probes(), clock, 10_000), History(bytes(32), MemoryStore(), clock)
    clock.advance(10_000_000)
    known = Held(history, GuardPolicy(), wary=True)

    async def classes(*actions: Action) -> list[int]:
        start = Goto(url=f"{ORIGIN}/")
        async with browsers.opened(Profile(), GuardPolicy()) as (context, page):
            seen = (await page.perform(start)).observation
            probing = Probing(
                browsers, Profile(), GuardPolicy(), context.state, history=history, ledger=ledger, clock=clock
            )
            while await probing.settle(seen, [start], actions):
                continue
        targets = [target for each in actions if (target := target_of(each)) is not None]
        pairs = zip(actions, targets, strict=True)
        return [judged(each, resolve(target, seen), seen, known).level for each, target in pairs]

    try:
        yield classes
    finally:
        await browsers.close()


def start_page(*controls: Control, **more: Any) -> MemorySite:
    return MemorySite({f"{ORIGIN}/": Document(title="", controls=controls, **more)})


def field(name: str, effect: Effect, role: str = "textbox", **more: Any) -> Control:
    tag = "select" if role == "combobox" else "input"
    element = Element(ref="", role=role, name=name, options=("one", "two"), traits=Traits(tag=tag))
    return Control(element=element, effect=effect, **more)


@pytest.mark.parametrize(
    "control",
    [
        field("Note", Effect(fetch=(("POST", "/note"),)), changes=True),
        field("Note", Effect(late=(("POST", "/note"),)), changes=True),
        field("Note", Effect(fetch=(("DELETE", "/note"),)), role="combobox", changes=True),
        field("Note", Effect(fetch=(("POST", "/chat"),)), role="searchbox"),
        msgspec.structs.replace(link("Note", f"{ORIGIN}/news"), effect=Effect(fetch=(("POST", "/read"),))),
        button("Next", Effect(late=(("POST", "/note"),))),
    ],
    ids=["typing", "typing, after seconds", "choosing", "Enter", "a link", "a press, after seconds"],
)
async def test_what_the_browser_does_by_itself_is_tried_too_and_so_is_what_happens_seconds_later(
    control: Control,
) -> None:
    """Guard: node/live/probe_visit.py, Visit._as_time_passes."""
    site = start_page(control)
    target = Locator(role=control.element.role, name=control.element.name)
    does: dict[str, Action] = {
        "textbox": Fill(target=target, value="figs"),
        "combobox": Select(target=target, option="two"),
        "searchbox": Key(key="Enter", target=target),
    }
    async with trying(site) as classes:
        (level,) = await classes(does.get(control.element.role, Click(target=target)))
    assert level >= 4
    assert set(site.reached) == {"GET /"}


async def test_what_a_page_sends_by_itself_as_time_passes_is_not_held_against_a_control() -> None:
    """Guard: node/live/probe_visit.py, Visit._watch."""
    beats = start_page(button("Next", Effect()), late=(("POST", "/beat"),))
    async with trying(beats) as classes:
        assert await classes(Click(target=Locator(role="button", name="Next"))) == [1]


@pytest.mark.parametrize(
    ("effect", "level"),
    [
        (Effect(dialog="alert"), 1),
        (Effect(dialog="alert", fetch=(("POST", "/beat"),)), 1),
        (Effect(dialog="alert", fetch=(("POST", "/beat"),), says="more"), 4),
        (Effect(dialog="alert", fetch=(("POST", "/other"),)), 4),
    ],
    ids=["nothing", "word for word", "something else", "elsewhere"],
)
async def test_what_a_page_says_word_for_word_by_itself_leaves_a_control_harmless_and_nothing_else_does(
    effect: Effect, level: int
) -> None:
    """Guard: node/live/probe_visit.py, Heard._repeats."""
    beats = start_page(button("Frobnicate", effect), late=(("POST", "/beat"),))
    async with trying(beats) as classes:
        assert await classes(Click(target=Locator(role="button", name="Frobnicate"))) == [level]


async def test_what_a_press_has_a_page_send_at_its_next_load_is_not_taken_for_what_the_page_sends_by_itself() -> None:
    """Guard: node/live/probe_visit.py, Visit.leave."""
    site = start_page(button("Frobnicate", Effect(stores=True, dialog="alert")), pending=(("POST", "/rows"),))
    async with trying(site) as classes:
        assert await classes(Click(target=Locator(role="button", name="Frobnicate"))) == [4]


async def test_a_probe_opens_no_page_but_the_one_that_it_tries() -> None:
    """Guard: node/live/probe_visit.py, Visit.press."""
    site = start_page(link("News", f"{ORIGIN}/news"), button("Frobnicate", Effect(go="/shelf")))
    names = (("link", "News"), ("button", "Frobnicate"))
    async with trying(site) as classes:
        found = await classes(*(Click(target=Locator(role=role, name=name)) for role, name in names))
    assert found == [1, 1]
    assert set(site.reached) == {"GET /"}


async def test_what_is_no_control_by_its_role_but_acts_is_known_again_too() -> None:
    sorts = Element(ref="", role="columnheader", name="Date", traits=Traits(tag="div"))
    site = start_page(Control(element=sorts, effect=Effect(fetch=(("POST", "/sorted"),))))
    async with trying(site) as classes:
        assert await classes(Click(target=Locator(role="columnheader", name="Date"))) == [4]


async def test_of_several_that_look_alike_the_last_one_is_tried_too() -> None:
    """Guard: node/live/probing.py, Probing._doubtful."""
    names = ("Next", "Frobnicate")
    pairs = [(button(name, Effect(go="/shelf")), button(name, Effect(fetch=(("POST", "/rows"),)))) for name in names]
    site = start_page(*(control for pair in pairs for control in pair))
    async with trying(site) as classes:
        locators = [Locator(role="button", name=name, nth=nth) for name in names for nth in (0, 1)]
        assert await classes(*(Click(target=each) for each in locators)) == [4, 4, 4, 4]


async def test_a_link_that_asks_back_is_no_link_that_only_leads_somewhere() -> None:
    asks = Effect(dialog="confirm", asks="Sure?")
    site = start_page(msgspec.structs.replace(link("Details", f"{ORIGIN}/rows/7"), effect=asks))
    async with trying(site) as classes:
        assert await classes(Click(target=Locator(role="link", name="Details"))) == [4]


class Fragile(MemoryPage):
    """A page that does not survive a press of “Break”, and does not come to an end after one of “Wait”."""

    async def perform(self, action: Action, **more: Any) -> Outcome:
        if isinstance(action, Click) and action.target.name == "Break":
            raise MeshError("browser.timeout")
        if isinstance(action, Click) and action.target.name == "Wait":
            await asyncio.Event().wait()
        return await super().perform(action, **more)


class FragileBrowser(MemoryBrowser):
    """Its pages are fragile."""

    def new_page(self, guard: GuardPolicy, kept: Kept) -> MemoryPage:
        return Fragile(self._site, guard, kept)


async def test_a_control_that_breaks_its_page_does_not_keep_the_others_from_being_tried() -> None:
    """Guard: node/live/probing.py, Probing._open."""
    site = start_page(button("Break", Effect()), button("Frobnicate", Effect(go="/shelf")))
    async with trying(site, FragileBrowser(site)) as classes:
        found = await classes(*(Click(target=Locator(role="button", name=name)) for name in ("Break", "Frobnicate")))
    assert found == [4, 1]


async def test_a_control_that_takes_too_long_is_given_up_stays_in_doubt_and_the_others_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "PROBE_MS_MAX", 500)
    site, counts = start_page(button("Wait", Effect()), button("Frobnicate", Effect(go="/shelf"))), Probes()
    async with trying(site, FragileBrowser(site), counts) as classes:
        presses = (Click(target=Locator(role="button", name=name)) for name in ("Wait", "Frobnicate"))
        found = await asyncio.wait_for(classes(*presses), 20)
    assert (found, counts.given_up, counts.probed) == ([4, 1], 1, 1)


def test_one_press_that_took_long_is_not_expected_of_the_others() -> None:
    clock = ManualClock()
    ledger = Ledger(Probes(), clock, 600)
    ledger.took(limits.PROBE_FREE_MS - 3 * limits.PROBE_EXPECTED_MS)
    assert ledger.room == limits.PROBES_PER_SEARCH_MAX
    ledger.took(2 * limits.PROBE_EXPECTED_MS + 1)
    assert ledger.room == 0, "now the time is spent"


def test_where_each_press_takes_long_the_beginning_of_a_search_is_longer_within_its_share_of_the_whole() -> None:
    ledger, short = Ledger(Probes(), ManualClock(), 600), Ledger(Probes(), ManualClock(), 100)
    for each in (ledger, short):
        for _ in range(4):
            each.took(5_000)
    assert (ledger.room, short.room) == (limits.PROBES_PER_SEARCH_MAX, limits.PROBES_PER_SEARCH_MAX)
    for _ in range(2):
        short.took(5_000)
    assert short.room == 0, "a quarter of its 100 seconds"
    for _ in range(17):
        ledger.took(5_000)
    assert ledger.room == 0, "as many presses as others have"


def test_what_the_browser_does_by_itself_is_tried_with_a_small_share_of_the_time() -> None:
    clock = ManualClock()
    ledger = Ledger(Probes(), clock, 600)
    assert (ledger.spare, ledger.room) == (0, limits.PROBES_PER_SEARCH_MAX)
    clock.advance(60_000)
    assert ledger.spare == limits.PROBES_PER_SEARCH_MAX
    ledger.counts.milliseconds = round(limits.PROBE_UNTRIED_SHARE_MAX * 60_000)
    assert (ledger.spare, ledger.room) == (0, limits.PROBES_PER_SEARCH_MAX)


def test_a_guard_of_probes_lets_nothing_pass_that_the_owner_allows_otherwise() -> None:
    """Guard: node/live/probing.py, guard_of_probes."""
    rule = SiteRule(site=ORIGIN, why="orders", post=("POST /orders",), read=("/shelf/**",))
    guard = guard_of_probes(GuardPolicy(allow=(f"POST {ORIGIN}/rows",), sites=(rule,), read_only=False))
    for path in ("/orders", "/rows", "/search"):
        assert judge_request("POST", ORIGIN + path, "fetch", False, "{}", guard) is not None
    assert judge_request("GET", f"{ORIGIN}/shelf/1", "document", True, "", guard) is None
    assert judge_request("GET", f"{ORIGIN}/hall", "document", True, "", guard) is not None  # what is narrowed stays so


def test_probing_is_off_where_a_web_socket_is_allowed() -> None:
    socket = SiteRule(site=ORIGIN, why="quotes", connect=("/live",))
    assert may_probe(GuardPolicy(), ORIGIN)
    assert not may_probe(GuardPolicy(sites=(socket,)), f"{ORIGIN}/a")
    assert not may_probe(GuardPolicy(sites=(socket,)), "http://other.test/"), "a page may connect to any site"
    assert not may_probe(GuardPolicy(allow=("WS https://quotes.example/live",)), ORIGIN)


def test_probes_take_a_share_of_the_time_of_a_search_and_a_number_of_controls() -> None:
    clock = ManualClock()
    ledger = Ledger(Probes(), clock, 600)
    assert ledger.room == limits.PROBES_PER_SEARCH_MAX
    ledger.tried.add(b"1")
    ledger.counts.milliseconds = limits.PROBE_FREE_MS - 1000
    assert ledger.room == 0, "another like it would take too long"
    clock.advance(4 * 40 * 1000)
    assert ledger.room == limits.PROBES_PER_SEARCH_MAX
    ledger.counts.probed = limits.PROBES_PER_SEARCH_MAX
    assert ledger.room == 0


def test_a_short_search_is_not_spent_on_probes() -> None:
    clock = ManualClock()
    short, longer = Ledger(Probes(), clock, 4), Ledger(Probes(), clock, 9)
    assert (short.room, longer.room) == (0, limits.PROBES_PER_SEARCH_MAX)
    longer.tried.add(b"1")
    longer.counts.milliseconds = 1500
    assert longer.room == 0


def test_a_probe_presses_what_is_in_doubt_and_nothing_else_beyond_its_class() -> None:
    """Guard: node/live/probe_visit.py, _in_doubt."""
    press = Click(target=Locator(role="button", name="Frobnicate"))
    assert _in_doubt(press, Risk(level=4, reason="not understood", doubt=True))
    assert not _in_doubt(press, Risk(level=4, reason="says “save”"))
    assert not _in_doubt(press, Risk(level=7, reason="says “delete”"))
