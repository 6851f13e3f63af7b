"""What presses of a control did here before counts for its class: at once where they tried to change something, else slowly."""

from __future__ import annotations

import time

import msgspec
import pytest

from node.live.acting import remembering
from node.live.history import Held, History
from protocol import limits
from protocol.page.action import Action, Check, Click, Fill, Locator, Select
from protocol.page.action import Press as Key
from protocol.page.observation import Element, Observation, Traits, Tree
from protocol.risk.classes import classify
from protocol.risk.history import Deed, Past, Press, after, deed_of, element_key, evidence_of, judge_press
from protocol.risk.judgement import Evidence, weigh
from protocol.risk.refused import PROBED_PAGE, SOCKET, WINDOW
from protocol.risk.requests import GuardPolicy, judge_request
from protocol.risk.sites import SiteRule
from tests.twins.clock import ManualClock
from tests.twins.storage import MemoryStore

KEY = bytes(range(32))
DAY_MS = 86_400_000
NOW_MS = 1_000 * DAY_MS
QUIET = Press()
_ROLES = ("banner", "navigation", "contentinfo", "main", "listitem")
_BUTTON = Locator(role="button", name="Frobnicate")
BUTTON = Element(ref="e2", role="button", name="Ⅲ. Frobnicate 7", traits=Traits(tag="button", tokens=("btn", "x-12")))


def page(element: Element = BUTTON, path: str = "/a", role: str = "listitem", context: str = "") -> Observation:
    """A page on which ``element`` stands in an element of ``role``."""
    around = Element(ref="e1", role=role, name=context)
    return Observation(
        url=f"https://shop.example{path}",
        title="",
        text="",
        elements=(around, element),
        tree=Tree(parents=(-1, 0), roles=(role, element.role), said=("", element.name), elements=(0, 1)),
    )


def key_of(element: Element = BUTTON, on: Observation | None = None, key: bytes = KEY) -> bytes:
    return element_key(element, on or page(element), key)


def past(presses: int, press: Press = QUIET) -> Past:
    found = Past()
    for left in reversed(range(presses)):
        found = after(found, press, NOW_MS - left * 1_000)
    return found


def test_a_control_is_known_again_in_another_row_and_page_and_with_other_numbers() -> None:
    other = msgspec.structs.replace(
        BUTTON, name="iii. frobnicate 12", traits=Traits(tag="button", tokens=("X-9", "btn"))
    )
    assert key_of() == key_of(other)
    assert key_of(on=page(path="/rows/7")) == key_of(on=page(path="/rows/8", context="another row"))


def test_beside_a_label_words_of_the_markup_count_only_if_they_say_what_a_control_does() -> None:
    other = msgspec.structs.replace(BUTTON, traits=Traits(tag="button", tokens=("btn", "active", "pt")))
    assert key_of() == key_of(other)
    commands = [("btn", "details"), ("btn", "approve"), ("btn", "order")]
    assert (
        len({key_of(msgspec.structs.replace(BUTTON, traits=Traits(tag="button", tokens=each))) for each in commands})
        == 3
    )
    nameless = [msgspec.structs.replace(each, name="×") for each in (BUTTON, other)]
    assert len({key_of(each, on=page(each)) for each in nameless}) == 2


def test_a_control_is_known_again_on_pages_of_another_form_only_in_what_is_the_same_everywhere() -> None:
    """Guard: protocol/risk/history.py, element_key."""
    same = {role: key_of(on=page(role=role)) == key_of(on=page(path="/b/c", role=role)) for role in _ROLES}
    assert same == {"banner": True, "navigation": True, "contentinfo": True, "main": False, "listitem": False}


@pytest.mark.parametrize(
    ("action", "deed"),
    [
        (Click(target=_BUTTON), "press"),
        (Check(target=_BUTTON), "press"),
        (Click(target=_BUTTON, count=2), ""),
        (Click(target=_BUTTON, button="right"), ""),
        (Fill(target=_BUTTON, value="figs"), "type"),
        (Select(target=_BUTTON, option="figs"), "choose"),
        (Key(key="Enter", target=_BUTTON), "enter"),
        (Key(key="Enter"), ""),
        (Key(key="Tab", target=_BUTTON), ""),
    ],
)
def test_each_deed_has_a_history_of_its_own(action: Action, deed: str) -> None:
    assert deed_of(action) == deed
    others: list[Deed] = [other for other in ("press", "type", "choose", "enter") if other != deed]
    for other in others:
        assert deed == "" or element_key(BUTTON, page(), KEY, deed) != element_key(BUTTON, page(), KEY, other)


@pytest.mark.parametrize(
    ("action", "element", "before"),
    [
        (Fill(target=_BUTTON, value="figs"), Element(ref="e2", role="textbox", name="Note"), 3),
        (Select(target=_BUTTON, option="one"), Element(ref="e2", role="combobox", name="Size", options=("one",)), 3),
        (Key(key="Enter", target=_BUTTON), Element(ref="e2", role="searchbox", name="Search"), 1),
        (Click(target=_BUTTON), Element(ref="e2", role="link", name="News", url="https://shop.example/news"), 1),
    ],
)
def test_what_the_browser_does_by_itself_is_class_4_once_it_was_seen_to_write(
    action: Action, element: Element, before: int
) -> None:
    """Guard: protocol/risk/classes.py, classify."""
    wrote = evidence_of(past(1, Press(tried=4)), NOW_MS)
    untried = classify(action, element, page(element))
    assert (untried.level, untried.untried) == (before, True)
    assert classify(action, element, page(element), history=wrote).level == 4
    quiet = classify(action, element, page(element), history=evidence_of(past(2), NOW_MS))
    assert (quiet.level, quiet.untried) == (before, False)


def test_typing_into_a_field_that_searches_stays_harmless_whatever_it_sends_to_suggest_something() -> None:
    field = Element(ref="e2", role="searchbox", name="Search")
    wrote = evidence_of(past(1, Press(tried=4)), NOW_MS)
    found = classify(Fill(target=_BUTTON, value="figs"), field, page(field), history=wrote)
    assert (found.level, found.untried) == (1, False)


def test_what_runs_a_script_when_it_changes_is_class_3_once_it_was_seen_to_write_nothing() -> None:
    acts = Element(ref="e2", role="textbox", name="Note", traits=Traits(tag="input", reacts="script"))
    fill, quiet = Fill(target=_BUTTON, value="figs"), evidence_of(past(2), NOW_MS)
    assert classify(fill, acts, page(acts)).doubt
    assert classify(fill, acts, page(acts), history=quiet).level == 3
    secret = msgspec.structs.replace(acts, traits=Traits(tag="input", input_type="password"))
    assert classify(fill, secret, page(secret), history=quiet).level == 6


@pytest.mark.parametrize(
    "other",
    [
        msgspec.structs.replace(BUTTON, role="menuitem"),
        msgspec.structs.replace(BUTTON, name="III. Frobnicate 7 all"),
        msgspec.structs.replace(BUTTON, traits=Traits(tag="div", tokens=("btn", "x-12"))),
        msgspec.structs.replace(BUTTON, traits=Traits(tag="button", tokens=("btn", "icon", "bin"))),
        msgspec.structs.replace(BUTTON, traits=Traits(tag="button", tokens=("btn", "x-12"), submits=True)),
        msgspec.structs.replace(BUTTON, traits=Traits(tag="button", tokens=("btn", "x-12"), handler="811c9dc5")),
    ],
)
def test_a_control_that_is_or_says_something_else_is_another_one(other: Element) -> None:
    assert key_of() != key_of(other)


def test_place_origin_and_installation_count() -> None:
    elsewhere = msgspec.structs.replace(page(), url="https://other.example/a")
    keys = {key_of(), key_of(on=page(role="dialog")), key_of(on=elsewhere), key_of(key=bytes(32))}
    assert len(keys) == 4


@pytest.mark.parametrize("role", ["form", "dialog"])
def test_in_a_form_or_dialog_the_page_and_the_name_of_what_stands_around_count_too(role: str) -> None:
    titled = msgspec.structs.replace(BUTTON, context="Delete account")
    same, other = page(path="/step/1", role=role), page(path="/send", role=role)
    assert key_of(on=same) == key_of(on=page(path="/step/2", role=role))
    assert len({key_of(on=same), key_of(on=other), key_of(titled, on=page(titled, path="/step/1", role=role))}) == 3


def test_presses_that_tried_nothing_lower_the_class_only_together() -> None:
    assert evidence_of(past(limits.HISTORY_PRESSES_MIN - 1), NOW_MS) is None
    found = evidence_of(past(limits.HISTORY_PRESSES_MIN), NOW_MS)
    assert found is not None
    risk = classify(Click(target=Locator(role="button", name=BUTTON.name)), BUTTON, page(), history=found)
    assert (risk.level, risk.doubt) == (1, False)
    assert classify(Click(target=Locator(role="button", name=BUTTON.name)), BUTTON, page()).doubt


def test_one_press_that_tried_to_change_something_counts_at_once_and_ends_what_was_quiet() -> None:
    """Guard: protocol/risk/history.py, after."""
    found = after(past(8), Press(tried=4), NOW_MS)
    assert found == Past(tried=4, tried_ms=NOW_MS)
    evidence = evidence_of(found, NOW_MS)
    assert evidence is not None and (evidence.level, evidence.certain) == (4, True)
    # Quiet presses do not outweigh it while it counts.
    again = evidence_of(after(after(found, QUIET, NOW_MS), QUIET, NOW_MS), NOW_MS)
    assert again is not None and again.level == 4


def test_the_worst_that_was_tried_stays() -> None:
    found = after(after(Past(), Press(tried=7), NOW_MS), Press(tried=4), NOW_MS)
    assert found.tried == 7


def test_what_is_old_is_forgotten() -> None:
    half_ms = limits.HISTORY_HALF_LIFE_DAYS * DAY_MS
    least, most = past(limits.HISTORY_PRESSES_MIN), past(20)
    assert most.quiet == limits.HISTORY_PRESSES_MAX
    assert [evidence_of(least, NOW_MS + days) is None for days in (half_ms, half_ms + DAY_MS)] == [False, True]
    assert [evidence_of(most, NOW_MS + days) is None for days in (3 * half_ms, 3 * half_ms + DAY_MS)] == [False, True]
    tried = after(Past(), Press(tried=4), NOW_MS)
    assert [evidence_of(tried, NOW_MS + days) is None for days in (3 * half_ms - 1, 3 * half_ms)] == [False, True]


def test_a_clock_that_was_set_back_makes_nothing_younger_than_now() -> None:
    assert evidence_of(past(2), NOW_MS - 900 * DAY_MS) == evidence_of(past(2), NOW_MS)


def test_a_press_of_which_not_everything_was_seen_is_not_counted() -> None:
    assert after(past(1), Press(clear=False), NOW_MS) == past(1)


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ([], Press()),
        ([("POST /search", PROBED_PAGE)], Press()),
        ([("POST /rows", "method")], Press(tried=4)),
        ([("DELETE /rows/7", "method")], Press(tried=7)),
        ([("POST /rows/7/delete", "method")], Press(tried=7)),
        ([("GET /rows/7/delete", "address: delete")], Press(tried=7)),
        ([("POST https://other.example/rows", "method"), ("POST /rows/7/delete", "method")], Press(tried=7)),
        ([("POST https://other.example/collect", "origin")], Press(clear=False)),
        ([("WS /live", SOCKET)], Press(clear=False)),
        ([("POST /rows", WINDOW)], Press(tried=4)),  # a form that opens its answer in a window
        ([("GET /rows", WINDOW)], Press(clear=False)),
        ([("POST /beat", "method")], Press(clear=False)),
        ([("POST /beat", "method"), ("POST /rows", "method")], Press(tried=4, clear=False)),
    ],
)
def test_what_a_press_tried_is_judged_by_what_was_refused(refused: list[tuple[str, str]], expected: Press) -> None:
    assert judge_press(refused, frozenset({"POST /beat"}), shows=True) == expected


@pytest.mark.parametrize(
    ("line", "tried"),
    [
        ("POST https://counts.example/click", 0),
        ("POST https://api.shop.test/rows", 4),
        ("POST /rows", 4),
    ],
)
def test_what_a_believed_control_sends_to_another_site_says_nothing(line: str, tried: int) -> None:
    refused = [(line, "method")]
    assert judge_press(refused, frozenset(), shows=True, home="https://www.shop.test/").tried == tried
    assert judge_press(refused, frozenset(), shows=True).tried == 4


def test_a_press_after_which_a_dialog_asked_back_is_not_clear() -> None:
    held = [("GET /shelf", PROBED_PAGE)]
    assert judge_press(held, frozenset(), shows=True) == Press()
    assert judge_press(held, frozenset(), shows=True, asks=True) == Press(clear=False)
    believed = judge_press(held, frozenset(), shows=True, asks=True, home="https://shop.example/")
    assert believed == Press(tried=4, clear=False)


def test_a_press_that_shows_nothing_is_not_clear() -> None:
    assert judge_press([], frozenset(), shows=False) == Press(clear=False)


@pytest.mark.parametrize("source", ["words", "surroundings", "request"])
@pytest.mark.parametrize("level", [5, 6, 7])
def test_quiet_presses_never_lower_what_is_certainly_grave(source: str, level: int) -> None:
    """Guard: protocol/risk/judgement.py, weigh."""
    quiet = evidence_of(past(limits.HISTORY_PRESSES_MAX), NOW_MS)
    assert quiet is not None
    grave = Evidence(source=source, level=level, certain=True, says="grave")  # type: ignore[arg-type]
    assert weigh([quiet, grave]).level == level


def test_a_probe_sends_of_posts_only_what_is_known_to_read_and_leaves_no_page_by_one() -> None:
    """Guard: protocol/risk/requests.py, judge_request."""
    search = ("POST", "https://shop.example/search", "fetch", False, '{"q": "blue"}')
    assert judge_request(*search, GuardPolicy()) is None
    assert judge_request(*search, GuardPolicy(probe=True)) is None
    form = ("POST", "https://shop.example/search", "document", True, "q=blue", GuardPolicy(probe=True))
    assert judge_request(*form, content_type="application/x-www-form-urlencoded") == PROBED_PAGE
    assert judge_request("POST", "https://shop.example/rows", "fetch", False, "{}", GuardPolicy(probe=True)) == "method"
    assert judge_request("GET", "https://shop.example/rows", "fetch", False, "", GuardPolicy(probe=True)) is None


def test_without_a_label_the_page_counts_and_one_on_another_frame_is_another_control() -> None:
    """Guard: protocol/risk/history.py, element_key."""
    icon = msgspec.structs.replace(BUTTON, name="×")
    assert key_of(icon) != key_of(icon, on=page(icon, path="/b"))
    assert key_of() != key_of(msgspec.structs.replace(BUTTON, frame="f1"))


def test_in_a_form_pages_that_share_a_path_are_told_apart() -> None:
    pages = [page(path=path, role="form") for path in ("/#/first", "/#/send", "/?do=first", "/?do=send")]
    assert len({key_of(on=each) for each in pages}) == 4
    assert key_of(on=page(path="/#/first")) == key_of(on=page(path="/#/send"))


class OnePress:
    """Knows one thing about every control."""

    wary = False

    def __init__(self, level: int) -> None:
        self.level = level

    async def about(self, url: str) -> None: ...

    def of(self, action: Action, element: Element, page: Observation) -> Evidence | None:
        return Evidence(source="history", level=self.level, certain=True, says="did it before")

    async def note(self, element: Element, page: Observation, press: Press, deed: Deed = "press") -> None: ...


@pytest.mark.parametrize(
    ("guard", "lowers"),
    [
        (GuardPolicy(), True),
        (GuardPolicy(allow=("POST https://shop.example/rows",)), False),
        (GuardPolicy(read_only=False), False),
        (GuardPolicy(sites=(SiteRule(site="https://shop.example", why="orders", post=("POST /rows",)),)), False),
        (GuardPolicy(sites=(SiteRule(site="https://other.example", why="orders", post=("POST /rows",)),)), False),
        (GuardPolicy(sites=(SiteRule(site="https://shop.example", why="read", read=("/**",)),)), True),
    ],
)
def test_what_was_harmless_counts_only_where_nothing_but_reads_can_leave_and_what_wrote_everywhere(
    guard: GuardPolicy, lowers: bool
) -> None:
    """Guard: protocol/risk/pressing.py, only_reads. Guard: node/live/history.py, Held.of."""
    click = Click(target=Locator(role="button", name=BUTTON.name))
    assert (Held(OnePress(1), guard).of(click, BUTTON, page()) is not None) == lowers
    assert Held(OnePress(4), guard).of(click, BUTTON, page()) is not None


async def test_what_is_harmless_by_its_words_is_asked_about_by_searches_alone() -> None:
    """Guard: node/live/acting.py, remembering."""
    says = msgspec.structs.replace(BUTTON, name="Next")
    on = page(says)
    history = History(KEY, MemoryStore(), ManualClock())
    await history.note(says, on, Press(tried=4))
    press, guard = Click(target=Locator(role="button", name="Next")), GuardPolicy()
    assert remembering(press, says, on, Held(history, guard, wary=True)).level == 4
    assert remembering(press, says, on, Held(history, guard)).level == 1


def test_a_search_form_that_a_probe_held_back_shows_that_it_reads() -> None:
    search = ("POST", "https://shop.example/search", "document", True, "q=figs")
    guard = GuardPolicy(probe=True)
    rule = judge_request(*search, guard, content_type="application/x-www-form-urlencoded")
    assert rule == PROBED_PAGE
    assert judge_press([("POST /search", rule)], frozenset(), shows=False) == Press()


async def test_of_several_controls_without_a_label_none_is_harmless_because_another_was() -> None:
    """Guard: node/live/history.py, History._alone."""
    icon = msgspec.structs.replace(BUTTON, name="×")
    click = Click(target=Locator(role="button", name="×"))
    alone = page(icon)
    history = History(KEY, MemoryStore(), ManualClock())
    for _ in range(limits.HISTORY_PRESSES_MIN):
        await history.note(icon, alone, QUIET)
    assert history.of(click, icon, alone) is not None
    twice = msgspec.structs.replace(
        alone,
        elements=(*alone.elements, msgspec.structs.replace(icon, ref="e3")),
        tree=Tree(
            parents=(-1, 0, 0),
            roles=("listitem", "button", "button"),
            said=("", "×", "×"),
            elements=(0, 1, 2),
        ),
    )
    assert history.key(icon, twice) == history.key(icon, alone)
    assert history.of(click, icon, twice) is None


async def test_a_control_that_the_page_does_not_list_is_not_alone_beside_one_that_looks_like_it() -> None:
    sign = msgspec.structs.replace(BUTTON, name="×")
    twin = msgspec.structs.replace(sign, ref="e9")
    page = Observation(url="https://shop.example/a", title="", text="", elements=(twin,))
    history, press = History(KEY, MemoryStore(), ManualClock()), Click(target=Locator())
    for _ in range(limits.HISTORY_PRESSES_MIN):
        await history.note(twin, page, Press())
    assert history.of(press, twin, page) is not None
    assert history.of(press, sign, page) is None, "beyond the limit of elements, or found by a selector"
    other = History(KEY[::-1], MemoryStore(), ManualClock())
    for _ in range(limits.HISTORY_PRESSES_MIN):
        await other.note(twin, page, Press())
    assert other.of(press, sign, page) is None, "what was compared for one store says nothing to another"


async def test_each_sign_of_a_page_of_signs_is_looked_at_once() -> None:
    signs = [
        msgspec.structs.replace(BUTTON, ref=f"e{place}", name=chr(0x2500 + place), traits=Traits(tag="button"))
        for place in range(250)
    ]
    page = Observation(url="https://shop.example/a", title="", text="", elements=tuple(signs))
    history, press = History(KEY, MemoryStore(), ManualClock()), Click(target=Locator())
    for sign in signs:
        for _ in range(limits.HISTORY_PRESSES_MIN):
            await history.note(sign, page, Press())
    began = time.process_time()
    assert all(history.of(press, each, page) for each in signs)
    assert time.process_time() - began < 1.5, "each compared with each takes several seconds"
