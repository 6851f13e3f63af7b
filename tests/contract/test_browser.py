"""What every browser backend promises; the in-memory twin is held to the same assertions."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from adapters.ports.browser import ActionOutcome, Given, Page
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Extract,
    Fill,
    Focus,
    Forward,
    Goto,
    Hover,
    Locator,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Secret,
    Select,
    SwitchTab,
    Wait,
)
from protocol.page.actions.dialogs import Dialog, DialogAnswer
from protocol.page.seen.observation import BLANK, Observation, encode
from protocol.page.seen.whole import cut_by, is_whole
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from tests.given_secrets import given_all
from tests.sites.pages.backends import NAMES, Backend, backend
from tests.sites.pages.shared import SharedPage
from tests.sites.pages.visits import element

pytestmark = pytest.mark.asyncio(loop_scope="module")
ANY = Locator()
WORD, WHO = "word", "who"


@pytest_asyncio.fixture(params=NAMES, scope="module", loop_scope="module")
async def world(request: pytest.FixtureRequest) -> AsyncIterator[Backend]:
    async with backend(request.param) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(world: Backend) -> AsyncIterator[SharedPage]:
    opened = SharedPage(world.browser)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(loop_scope="module")
async def page(shared: SharedPage, world: Backend) -> AsyncIterator[Page]:
    world.reached.clear()
    yield await shared.blank()
    await shared.leave()


@pytest_asyncio.fixture(loop_scope="module")
async def new_page(world: Backend) -> AsyncIterator[Page]:
    """One that nobody has used."""
    opened = await (await world.browser.open(Profile(), GuardPolicy())).page()
    yield opened
    await opened.close()


async def use(page: Page, action: Action, role: str, name: str, **secrets: str) -> ActionOutcome:
    seen = await page.observe()
    return await page.perform(action, ref=element(seen, role, name).ref, secrets=given_all(secrets, seen.url))


async def form(page: Page, world: Backend) -> Observation:
    return (await page.perform(Goto(url=world.origin + "/form.html"))).observation


async def refused(page: Page, action: Action, ref: str | None = None, **more: int) -> str:
    with pytest.raises(MeshError) as caught:
        await page.perform(action, ref=ref, timeout_ms=more.get("timeout_ms", 0))
    return caught.value.code


async def test_an_opened_address_is_observed_with_title_and_controls(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    assert (seen.url, seen.title) == (world.origin + "/form.html", "Every control")
    assert element(seen, "link", "Table").url == world.origin + "/table.html"
    assert element(seen, "combobox", "Sort by").options == ("Name", "Price")
    assert "disabled" in element(seen, "button", "Not now").states
    assert world.reached == ["GET /form.html"]


async def test_a_new_page_is_blank(new_page: Page) -> None:
    assert await new_page.observe() == BLANK


async def test_observing_twice_gives_the_same_bytes(page: Page, world: Backend) -> None:
    await form(page, world)
    assert encode(await page.observe()) == encode(await page.observe())


async def test_a_page_says_that_it_is_unchanged_until_something_is_typed(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    while not await page.unchanged():  # it may have been busy when its watch began; the test has a time limit
        seen = (await page.perform(Wait())).observation
    assert await page.observe() == seen
    assert await page.unchanged()
    outcome = await page.perform(Fill(target=ANY, value="Ada"), ref=element(seen, "textbox", "Your name").ref)
    assert outcome.observation != seen
    # Whether the page can tell is another question: what was typed is new to its watch.
    assert not await page.unchanged() or await page.observe() == outcome.observation


async def test_an_element_has_one_identity_for_as_long_as_its_document_is_shown(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    first = dict(page.identities())
    assert first.keys() == {item.ref for item in seen.elements}
    assert len(set(first.values())) == len(first)
    filled = await use(page, Fill(target=ANY, value="Ada"), "textbox", "Your name")
    named = element(seen, "textbox", "Your name"), element(filled.observation, "textbox", "Your name")
    assert first[named[0].ref] == page.identities()[named[1].ref]
    await form(page, world)
    assert not set(first.values()) & set(page.identities().values())


async def test_refs_count_from_one_in_document_order_whatever_was_visited_before(page: Page, world: Backend) -> None:
    first = await form(page, world)
    await page.perform(Goto(url=world.origin + "/table.html"))
    again = await form(page, world)
    assert [item.ref for item in again.elements] == [f"e{n + 1}" for n in range(len(again.elements))]
    assert encode(first) == encode(again)


async def test_a_link_leads_to_its_page(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "link", "Table")
    assert outcome.observation.title == "A long table"
    assert outcome.settled


async def test_going_back_leads_to_the_page_before_and_once_more_to_the_one_before_that(
    page: Page, world: Backend
) -> None:
    await form(page, world)
    await use(page, Click(target=ANY), "link", "Table")
    await page.perform(Goto(url=world.origin + "/form.html#here"))
    assert (await page.perform(Back())).observation.title == "A long table"
    outcome = await page.perform(Back())
    assert (outcome.observation.url, outcome.settled) == (world.origin + "/form.html", True)


async def test_going_forward_leads_to_what_was_gone_back_from_until_another_page_is_opened(
    page: Page, world: Backend
) -> None:
    await form(page, world)
    assert await refused(page, Forward()) == "action.not_possible"
    await use(page, Click(target=ANY), "link", "Table")
    await page.perform(Back())
    assert (await page.perform(Forward())).observation.title == "A long table"
    await page.perform(Back())
    await page.perform(Goto(url=world.origin + "/frames.html"))
    assert await refused(page, Forward()) == "action.not_possible"


async def test_a_page_is_loaded_again_and_forgets_what_was_typed(page: Page, world: Backend) -> None:
    assert await refused(page, Reload()) == "action.not_possible"
    before = await form(page, world)
    await use(page, Fill(target=ANY, value="Ada"), "textbox", "Your name")
    world.reached.clear()
    assert (await page.perform(Reload())).observation.state == before.state
    assert world.reached == ["GET /form.html"]


async def test_a_page_that_came_from_a_form_is_not_loaded_again(page: Page, world: Backend) -> None:
    """Guard: adapters/browser/page/navigating.py, Navigation.reload."""
    opened = await (await world.browser.open(Profile(), GuardPolicy(allow=(f"POST {world.origin}/*",)))).page()
    try:
        seen = (await opened.perform(Goto(url=world.origin + "/form.html"))).observation
        await opened.perform(Click(target=ANY), ref=element(seen, "button", "Send").ref)
        world.reached.clear()
        assert await refused(opened, Reload()) == "action.not_possible"
        assert world.reached == []
    finally:
        await opened.close()


async def test_text_is_typed_behind_what_is_there_and_cleared(page: Page, world: Backend) -> None:
    """Guard: adapters/browser/acting/action_performer.py, ActionPerformer._on."""
    await form(page, world)
    for text, whole in (("Ada", "Ada"), (" L.", "Ada L.")):
        outcome = await use(page, Fill(target=ANY, value=text, typed=True), "textbox", "Your name")
        assert element(outcome.observation, "textbox", "Your name").value == whole
    outcome = await use(page, Fill(target=ANY, value=""), "textbox", "Your name")
    assert element(outcome.observation, "textbox", "Your name").value == ""
    ref = element(outcome.observation, "textbox", "Password").ref
    secret = Fill(target=ANY, value=Secret(secret=WORD), typed=True)
    with pytest.raises(MeshError) as caught:
        await page.perform(secret, ref=ref, secrets=given_all({WORD: "tell-nobody"}, outcome.observation.url))
    assert caught.value.code == "action.not_possible"
    assert await refused(page, Fill(target=ANY, value="hunter2", typed=True), ref) == "action.secret_literal"


async def test_the_pointer_the_focus_and_the_view_are_moved(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Focus(target=ANY), "textbox", "Your name")
    assert "active" in element(outcome.observation, "textbox", "Your name").states
    for action in (Hover(target=ANY), ScrollTo(target=ANY), Click(target=ANY, button="right")):
        outcome = await use(page, action, "link", "Table")
        assert outcome.observation.title == "Every control"
    outcome = await use(page, Click(target=ANY, count=2), "checkbox", "I agree")
    assert "checked" not in element(outcome.observation, "checkbox", "I agree").states


async def test_nothing_lies_before_the_first_page(new_page: Page, world: Backend) -> None:
    """Neither the empty page that every page begins with, nor one that was gone back from."""
    assert await refused(new_page, Back()) == "action.not_possible"
    await form(new_page, world)
    assert await refused(new_page, Back()) == "action.not_possible"
    await new_page.perform(Goto(url=world.origin + "/table.html"))
    await new_page.perform(Back())
    assert await refused(new_page, Back()) == "action.not_possible"
    assert (await new_page.observe()).url == world.origin + "/form.html"


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "about:blank",
        "chrome://version",
        "data:text/html,x",
        "x",
        "http://",
    ],
)
async def test_only_web_addresses_are_opened(page: Page, url: str) -> None:
    assert await refused(page, Goto(url=url)) == "browser.scheme"


async def test_an_address_without_a_server_is_a_navigation_error(page: Page) -> None:
    assert await refused(page, Goto(url="http://127.0.0.1:9/")) == "browser.navigation"


async def test_a_filled_field_shows_its_value_and_changes_the_state(page: Page, world: Backend) -> None:
    before = await form(page, world)
    outcome = await use(page, Fill(target=ANY, value="Ada"), "textbox", "Your name")
    assert element(outcome.observation, "textbox", "Your name").value == "Ada"
    assert outcome.observation.state != before.state


async def test_a_password_field_refuses_a_literal(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    ref = element(seen, "textbox", "Password").ref
    assert await refused(page, Fill(target=ANY, value="hunter2"), ref) == "action.secret_literal"


async def test_a_secret_that_was_not_given_is_missing(new_page: Page, world: Backend) -> None:
    seen = await form(new_page, world)
    action = Fill(target=ANY, value=Secret(secret=WORD))
    assert await refused(new_page, action, element(seen, "textbox", "Password").ref) == "action.secret_missing"


async def test_a_secret_in_a_password_field_shows_nowhere(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Fill(target=ANY, value=Secret(secret=WORD)), "textbox", "Password", word="tell-nobody")
    field = element(outcome.observation, "textbox", "Password")
    assert (field.value, field.traits.input_type) == ("", "password")
    assert b"tell-nobody" not in encode(outcome.observation)


async def test_a_secret_in_a_plain_field_shows_by_its_name(page: Page, world: Backend) -> None:
    """Guard: adapters/browser/page/readable.py, ReadablePage._look."""
    await form(page, world)
    outcome = await use(page, Fill(target=ANY, value=Secret(secret=WHO)), "textbox", "Your name", who="Ada L.")
    field = element(outcome.observation, "textbox", "Your name")
    assert field.value == "‹secret:who›"
    read = await page.perform(Extract(name="who", target=ANY), ref=field.ref)
    assert read.extracted == "‹secret:who›"


async def test_an_option_is_selected_by_its_label(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Select(target=ANY, option="Price"), "combobox", "Sort by")
    assert element(outcome.observation, "combobox", "Sort by").value == "Price"


@pytest.mark.parametrize(("value", "label"), [("by-price", "Price"), ("Price", ""), ("", "")])
async def test_the_label_of_an_option_is_told_by_its_value(page: Page, world: Backend, value: str, label: str) -> None:
    seen = await form(page, world)
    assert await page.option_label(element(seen, "combobox", "Sort by").ref, value) == label


async def test_an_option_that_is_not_there_cannot_be_selected(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    action = Select(target=ANY, option="Colour")
    assert await refused(page, action, element(seen, "combobox", "Sort by").ref) == "action.not_possible"


async def test_a_box_is_checked_and_unchecked(page: Page, world: Backend) -> None:
    await form(page, world)
    for wanted in (True, True, False):
        outcome = await use(page, Check(target=ANY, checked=wanted), "checkbox", "I agree")
        assert ("checked" in element(outcome.observation, "checkbox", "I agree").states) is wanted


@pytest.mark.parametrize("name", ["Not now", "Covered"])
async def test_a_disabled_or_covered_button_cannot_be_clicked(page: Page, world: Backend, name: str) -> None:
    seen = await form(page, world)
    ref = element(seen, "button", name).ref
    assert await refused(page, Click(target=ANY), ref, timeout_ms=400) == "action.not_possible"


async def test_filling_a_button_is_not_possible(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    ref = element(seen, "button", "Ask").ref
    assert await refused(page, Fill(target=ANY, value="x"), ref, timeout_ms=400) == "action.not_possible"


async def test_a_ref_that_was_never_seen_is_missing(page: Page, world: Backend) -> None:
    await form(page, world)
    assert await refused(page, Click(target=ANY), "e999") == "action.target_missing"
    assert await refused(page, Click(target=ANY), None) == "action.target_missing"


async def test_a_post_is_refused_reported_and_never_reaches_the_site(page: Page, world: Backend) -> None:
    """Guard: protocol/risk/requests/requests.py, judge_request."""
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "button", "Send")
    assert outcome.blocked == ("POST /send",)
    assert outcome.observation.url == world.origin + "/form.html"
    assert world.reached == ["GET /form.html"]
    assert (await page.perform(Scroll())).blocked == ()


async def test_an_allowed_post_gets_through(world: Backend) -> None:
    world.reached.clear()
    page = await (await world.browser.open(Profile(), GuardPolicy(allow=(f"POST {world.origin}/se*",)))).page()
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "button", "Send")
    assert outcome.observation.title == "Sent"
    assert world.reached[-1] == "POST /send"
    await page.close()


async def test_a_destructive_address_is_refused(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "link", "Leave")
    assert outcome.blocked == ("GET /account/close",)
    assert outcome.observation.title == "Every control"
    assert await refused(page, Goto(url=world.origin + "/account/close?confirm=1")) == "browser.refused"
    assert world.reached == ["GET /form.html"]


async def test_what_a_failed_action_was_refused_is_told_once_and_not_by_the_next(page: Page, world: Backend) -> None:
    await form(page, world)
    assert page.blocked().requests == ()
    assert await refused(page, Goto(url=world.origin + "/account/close?confirm=1")) == "browser.refused"
    assert page.blocked().requests == ("GET /account/close",)
    assert page.blocked().requests == (await page.perform(Scroll())).blocked == ()


async def test_a_redirect_to_a_destructive_address_is_refused(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "link", "A harmless link")
    assert outcome.blocked == ("GET /account/close",)
    assert outcome.observation.title == "Every control"
    assert world.reached == ["GET /form.html", "GET /innocent"]


async def test_a_read_only_page_has_no_sockets(page: Page, world: Backend) -> None:
    """Guard: adapters/browser/egress/network.py, NetworkGuard.watch_sockets."""
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "button", "Open socket")
    assert outcome.blocked == ("WS /socket",)
    assert world.reached == ["GET /form.html"]


async def test_other_origins_are_refused_if_origins_are_given(world: Backend) -> None:
    page = await (await world.browser.open(Profile(), GuardPolicy(origins=("https://elsewhere.example",)))).page()
    assert await refused(page, Goto(url=world.origin + "/form.html")) == "browser.refused"
    await page.close()


async def test_a_script_may_read(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "button", "Load more")
    assert outcome.blocked == ()
    assert world.reached[-1] == "GET /more"


async def test_dialogs_are_dismissed_and_reported_once(page: Page, world: Backend) -> None:
    """Guard: adapters/browser/egress/activity.py, Activity.__init__."""
    await form(page, world)
    assert (await use(page, Click(target=ANY), "button", "Ask")).dialogs == (Dialog(kind="confirm", message="Sure?"),)
    assert (await page.perform(Scroll())).dialogs == ()


async def test_an_expected_dialog_is_accepted_and_no_other_one(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    ask = element(seen, "button", "Ask").ref
    given = Given(answer=DialogAnswer(kind="confirm", accept=True), accepts=lambda dialog: dialog.message == "Sure?")
    outcome = await page.perform(Click(target=ANY), ref=ask, given=given)
    assert outcome.dialogs == (Dialog(kind="confirm", message="Sure?", accepted=True),)
    outcome = await page.perform(Click(target=ANY), ref=element(outcome.observation, "button", "Ask").ref)
    assert outcome.dialogs == (Dialog(kind="confirm", message="Sure?"),)


async def test_a_pop_up_opens_in_the_page(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Click(target=ANY), "link", "In a new window")
    assert (outcome.observation.title, outcome.tab) == ("Beside", True)
    assert world.reached.count("GET /popup.html") == 1


async def test_a_pop_up_is_a_tab_where_there_are_tabs(world: Backend) -> None:
    page = await (await world.browser.open(Profile(), GuardPolicy(), tabs=True)).page()
    first, asked = await form(page, world), world.reached.count("GET /popup.html")
    outcome = await use(page, Click(target=ANY), "link", "In a new window")
    assert (outcome.observation.title, outcome.tab) == ("Beside", True)
    if world.browser.info.backend.startswith("attached"):  # its windows cannot be held
        assert (outcome.on_tab, await refused(page, SwitchTab(tab=1))) == (0, "action.not_possible")
    else:
        assert outcome.on_tab == 2
        again = await page.perform(SwitchTab(tab=1))
        assert (again.on_tab, again.observation.title) == (1, first.title)
        assert await refused(page, SwitchTab(tab=3), timeout_ms=400) == "action.tab_missing"
        await page.perform(SwitchTab(tab=2))
        assert (await page.perform(CloseTab())).observation.title == first.title
        assert await refused(page, CloseTab()) == "action.not_possible"
    assert world.reached.count("GET /popup.html") == asked + 1
    await page.close()


async def test_the_wait_ends_with_the_expected_state(page: Page, world: Backend) -> None:
    await page.perform(Goto(url=world.origin + "/table.html"))
    table = (await page.observe()).state
    seen = await form(page, world)
    outcome = await page.perform(Click(target=ANY), ref=element(seen, "link", "Table").ref, expect=table)
    assert outcome.observation.state == table


async def test_a_state_that_never_comes_is_not_waited_for_beyond_rest(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await page.perform(Scroll(), expect=b"\0" * 16)
    assert outcome.settled
    assert outcome.observation.title == "Every control"


async def test_text_is_waited_for(page: Page, world: Backend) -> None:
    await form(page, world)
    await page.perform(Wait(text="Every control"))
    assert await refused(page, Wait(text="never there", timeout_ms=200)) == "action.text_missing"


async def test_the_text_of_an_element_and_of_the_page_is_extracted(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    heading = element(seen, "heading", "Every control")
    assert (await page.perform(Extract(name="h", target=ANY), ref=heading.ref)).extracted == "Every control"
    assert "Every control" in (await page.perform(Extract(name="all"))).extracted


async def test_text_and_attributes_are_read_without_waiting(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    password, link = element(seen, "textbox", "Password").ref, element(seen, "link", "Table").ref
    assert await page.read(element(seen, "heading", "Every control").ref) == "Every control"
    name = element(seen, "textbox", "Your name").ref
    await page.perform(Fill(target=ANY, value="Ada"), ref=name)
    assert await page.read(name) == "Ada"
    assert "Every control" in (await page.read() or "")
    assert (await page.read(link, "href"), await page.read(link, "data-none")) == ("/table.html", None)
    await page.perform(
        Fill(target=ANY, value=Secret(secret=WORD)), ref=password, secrets=given_all({WORD: "tell-nobody"}, seen.url)
    )
    assert (await page.read(password), await page.read(password, "value")) == ("", "")
    with pytest.raises(MeshError) as caught:
        await page.read("e999")
    assert caught.value.code == "action.target_missing"


async def test_a_page_that_shows_something_and_loads_without_end_is_used_and_noted_and_is_not_whole(
    page: Page, world: Backend
) -> None:
    opened = await page.perform(Goto(url=world.origin + "/unfinished.html"), timeout_ms=1_500)
    assert [note.partition(" after ")[0] for note in opened.notes] == ["the page was still loading"]
    assert [each.bound for each in opened.observation.cut] == ["document"]
    assert (await use(page, Click(target=ANY), "button", "There")).notes == ()
    assert (await form(page, world)).cut == ()


async def test_an_assertion_is_performed_by_waiting_for_a_still_page(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    await page.pause(1)
    outcome = await page.perform(Assert(what="title", expected="of no interest here"))
    assert (encode(outcome.observation), outcome.extracted, outcome.settled) == (encode(seen), "", True)


async def test_enter_in_a_search_field_is_pressed(page: Page, world: Backend) -> None:
    await form(page, world)
    outcome = await use(page, Press(key="Escape", target=ANY), "searchbox", "Search the site")
    assert outcome.observation.title == "Every control"


async def test_a_selector_finds_the_ref_of_the_one_element_it_hits(page: Page, world: Backend) -> None:
    seen = await form(page, world)
    assert await page.find("css=[name=word]") == element(seen, "textbox", "Password")
    assert await page.find("css=[name=absent]") is None


async def targets(page: Page, world: Backend) -> Observation:
    return (await page.perform(Goto(url=world.origin + "/targets.html"))).observation


async def unfound(page: Page, selector: str) -> tuple[str, str]:
    with pytest.raises(MeshError) as caught:
        await page.find(selector)
    return caught.value.code, caught.value.message


async def test_a_selector_of_a_hidden_element_is_refused_and_gives_nothing_around_it(
    page: Page, world: Backend
) -> None:
    """Guard: adapters/browser/finding/finding.py, ElementFinder.ref_at."""
    await targets(page, world)
    code, message = await unfound(page, "css=#sub a")
    assert (code, message.partition(": ")[0]) == ("action.not_possible", "what css=#sub a matches is not visible")


@pytest.mark.parametrize(("selector", "inside"), [("css=.note", ""), ("text=A note", ""), ("css=.cross", "Beer x")])
async def test_an_element_that_the_observation_leaves_out_is_found_itself_with_the_control_around_it(
    page: Page, world: Backend, selector: str, inside: str
) -> None:
    """What is around it is judged, and never used in its place."""
    seen = await targets(page, world)
    found = await page.find(selector)
    assert found is not None
    assert (found.role, found.frame) == ("generic", "")
    assert found.ref not in {item.ref for item in seen.elements}
    assert found.inside == (element(seen, "button", inside).ref if inside else "")


async def test_a_selector_of_several_visible_elements_is_ambiguous(page: Page, world: Backend) -> None:
    await targets(page, world)
    assert await unfound(page, "css=.drop") == ("action.target_ambiguous", "css=.drop matches 2 visible elements")


async def test_hidden_elements_do_not_make_a_selector_ambiguous(page: Page, world: Backend) -> None:
    seen = await targets(page, world)
    assert await page.find("css=.wide") == element(seen, "link", "Shown")


@pytest.mark.parametrize("selector", ["css=#whole", "text=Whole"])
async def test_the_whole_content_of_a_link_stands_for_the_link(page: Page, world: Backend, selector: str) -> None:
    seen = await targets(page, world)
    assert await page.find(selector) == element(seen, "link", "Whole")


async def test_a_selector_is_looked_for_in_one_frame_only(page: Page, world: Backend) -> None:
    seen = await targets(page, world)
    inside = element(seen, "button", "Inside")
    assert inside.frame == "f1"
    assert await page.find("css=.inner", "f1") == inside
    assert await page.find("css=.inner") is None
    assert await page.find("css=.wide", "f1") is None
    assert await page.find("css=.wide", "f7") is None


async def test_what_is_no_selector_is_refused(page: Page, world: Backend) -> None:
    await targets(page, world)
    assert (await unfound(page, "#sub"))[0] == "action.target_missing"


async def test_a_screenshot_is_a_png(page: Page, world: Backend) -> None:
    await form(page, world)
    assert (await page.screenshot()).startswith(b"\x89PNG\r\n\x1a\n")


async def test_a_closed_page_says_so_and_closing_twice_is_once(page: Page, world: Backend) -> None:
    await page.close()
    await page.close()
    with pytest.raises(MeshError) as caught:
        await page.observe()
    assert caught.value.code == "browser.crashed"
    assert await refused(page, Scroll()) == "browser.crashed"


async def test_pages_share_nothing(world: Backend) -> None:
    one = await (await world.browser.open(Profile(), GuardPolicy())).page()
    two = await (await world.browser.open(Profile(), GuardPolicy())).page()
    await form(one, world)
    await use(one, Fill(target=ANY, value="Ada"), "textbox", "Your name")
    seen = await form(two, world)
    assert element(seen, "textbox", "Your name").value == ""
    await one.close()
    await two.close()


async def test_what_stands_in_closed_shadow_trees_is_told_apart_from_what_is_absent(page: Page, world: Backend) -> None:
    await form(page, world)
    assert await page.closed() is None
    seen = (await page.perform(Goto(url=world.origin + "/closed.html"))).observation
    assert "Delete" not in seen.text
    for framed in (False, True):
        part = cut_by(seen, await page.closed(framed=framed))
        whole = {name: is_whole(part, named=name) for name in ("Delete parcel", "Archive", "")}
        assert whole == {"Delete parcel": False, "Archive": True, "": False}
