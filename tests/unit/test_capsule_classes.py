"""What leaves while a capsule is mounted: no name, yes, list or wait lets anything graver pass than its class."""

from __future__ import annotations

from typing import Final

import msgspec
import pytest

from adapters.browser.egress.activity import Activity
from adapters.browser.egress.network import NetworkGuard
from adapters.browser.egress.sending import ReadRequest
from adapters.ports.browser import Given
from node.live.acting.gate import Gate
from node.live.acting.giving import accepting
from node.live.browsers.mounting import Mount
from protocol.approval.forms import request_form
from protocol.approval.question import Cover
from protocol.page.actions.action import Click, Fill, Locator
from protocol.page.actions.dialogs import Dialog, DialogAnswer
from protocol.page.seen.observation import Element
from protocol.recording.records.manifest import StepRequests, effect_of
from protocol.risk.pressing.classes import Risk, classify
from protocol.risk.pressing.pressing import UNSURE, raised
from protocol.risk.requests.refused import CAPSULE_CLASS, may_be_allowed, what_helps
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import SiteRule
from tests.unit.test_pressing import AT, PAGE, element

SHOP: Final = "https://shop.example"
JSON: Final = {"content-type": "application/json"}
NAMED: Final = GuardPolicy(allow=tuple(f"{method} {SHOP}/**" for method in ("GET", "POST", "PUT", "DELETE")))
BY_SITE: Final = GuardPolicy(sites=(SiteRule(site=SHOP, why="x", post=("POST /**", "PUT /**")),))
OPEN: Final = GuardPolicy(read_only=False)
CASES: Final = (
    # method, address, body, class
    ("POST", "/note", '{"text": "x"}', 4),
    ("PUT", "/note", '{"text": "x"}', 4),
    ("POST", "/pay", '{"card_number": "4"}', 5),
    ("POST", "/me", '{"new_password": "x"}', 6),
    ("DELETE", "/note/7", "", 7),
    ("POST", "/note/7/delete", "{}", 7),
    ("GET", "/note/7/delete", "", 7),
    ("POST", "/photo", None, 7),
)


@pytest.mark.parametrize("kind", ["yes", "yes to all", "list", "allow", "site", "open", "wait"])
async def test_nothing_graver_leaves_than_the_capsule_allows(kind: str) -> None:
    """Guard: adapters/browser/egress/sending.py, Sending.is_beyond."""
    let_through = 0
    for method, path, body, level in CASES:
        free = _tried(kind, method, path, body)
        let_through += free[0] in ("", "waits")
        for most in range(1, 8):
            found = _tried(kind, method, path, body, most=most)
            assert found == ((CAPSULE_CLASS, []) if most < level else free), (method, path, most)
    assert let_through >= 2, "without a capsule it opens the way"


async def test_a_request_has_the_class_of_the_press_that_it_follows() -> None:
    note = "POST", "/note", "{}"
    for said, most, leaves in ((7, 6, False), (7, 7, True), (3, 4, True), (5, 4, False)):
        assert (_tried("allow", *note, said=said, most=most)[0] == "") is leaves, (said, most)


async def test_a_preflight_has_the_class_of_what_it_announces() -> None:
    announced = {"access-control-request-method": "DELETE"}
    for most in (3, 4, 7):
        activity = Activity()
        guard = NetworkGuard(msgspec.structs.replace(NAMED, class_max=most), activity, None)
        assert guard.permits("OPTIONS", f"{SHOP}/note/7", "preflight", False, "", announced) is (most == 7)


def test_no_answer_helps_and_that_is_told() -> None:
    assert not may_be_allowed(CAPSULE_CLASS)
    assert "--allow does not change that" in what_helps(["POST /x"], [CAPSULE_CLASS], owner=True)


def test_a_capsule_that_forbids_trials_follows_links_and_opens_what_certainly_reads() -> None:
    """Guard: protocol/risk/pressing/pressing.py, surely_reads."""
    link = element("Mugs", "link", f"{SHOP}/mugs", tag="a")
    search = element("Search", tag="button", submits=True, form_method="get", form_action="/search")
    free = [(Click(target=AT), link), (Click(target=AT), search), (Click(target=AT), element("More", tag="summary"))]
    kept: list[tuple[Click | Fill, Element]] = [
        (Click(target=AT), element("Next", tag="button")),
        (Click(target=AT), element("Details", "tab", tag="div")),
        (Click(target=AT), element("Frobnicate", tag="button")),
        (Fill(target=AT, value="x"), element("Your name", "textbox", tag="input", input_type="text")),
    ]
    gate = Mount(guard=GuardPolicy(), capsule="cap-1", probes=False).gate(Gate(report=unreported, wall=GuardPolicy()))
    for press, on in free:
        assert gate.needs_yes(press, on, classify(press, on, PAGE), PAGE.url) == "", on.name
    for action, on in kept:
        risk = classify(action, on, PAGE)
        assert gate.needs_yes(action, on, risk, PAGE.url) == UNSURE, on.name
        assert raised(risk, UNSURE).level >= 4


async def test_no_dialog_is_accepted_that_asks_for_more_than_the_capsule_allows() -> None:
    gate = Mount(guard=GuardPolicy(), capsule="cap-1", class_max=4).gate(Gate(report=unreported, risk_max=7))
    answer = DialogAnswer(kind="confirm", text="Sure?", accept=True)
    said = {"Sure?": True, "Sure? This will delete the account.": False}
    for message, taken in said.items():
        accepts = accepting(answer, Risk(level=4, reason="x"), gate.approved_max)
        assert accepts(Dialog(kind="confirm", message=message)) is taken


def test_by_default_a_capsule_lets_anything_be_typed_and_pressed() -> None:
    gate = Mount(guard=GuardPolicy(), capsule="cap-1", class_max=2).gate(Gate(report=unreported, wall=GuardPolicy()))
    for action, on in (
        (Click(target=AT), element("Delete", tag="button")),
        (Fill(target=AT, value="x"), element("Your name", "textbox", tag="input", input_type="text")),
    ):
        assert gate.needs_yes(action, on, classify(action, on, PAGE), PAGE.url) == ""


def _tried(
    kind: str, method: str, path: str, body: str | None, *, most: int = 7, said: int = 0
) -> tuple[str, list[str]]:
    """The rule that refuses a request where ``kind`` lets it through, empty if it leaves, and what waits for a yes."""
    url, media, held = SHOP + path, JSON["content-type"], list[str]()

    def hold(asked: ReadRequest) -> bool:
        held.append(asked.url)
        return True

    policy = msgspec.structs.replace(
        {"allow": NAMED, "site": BY_SITE, "open": OPEN}.get(kind, GuardPolicy()), class_max=most
    )
    covers: tuple[Cover, ...] = ()
    listed = None
    if kind == "yes":
        covers = (Cover(requests=(request_form(method, url, media, body),)),)
    elif kind == "yes to all":
        covers = (Cover(origin=SHOP, level=7),)
    elif kind == "list":
        listed = StepRequests((effect_of(method, url, media, body),), told=lambda each: each, level_max=7)
    given = Given(covers=covers, listed=listed, level_min=said)
    activity = Activity()
    guard = NetworkGuard(policy, activity, None)
    activity.begin(given)
    guard.sending.begin(Click(target=Locator()), given)
    if guard.permits(method, url, "fetch", False, body, JSON, hold=hold if kind == "wait" else None):
        return "", held
    refused, forms, _ = guard.taken()
    if not refused:
        return "waits", held
    assert not (forms and refused[0].rule == CAPSULE_CLASS), "nobody is asked about what no answer lets through"
    return refused[0].rule, held


async def unreported(action: object, risk: object, approved: bool) -> None:
    raise AssertionError("nothing is admitted")
