"""Whether somebody is logged in is judged by a comparison, never by one page."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from adapters.ports.browser import BrowserState
from node.capsules.seal import digests, from_browser
from node.cli.capsules.capsule import _login_line
from node.process.logging_in import logged_in
from protocol.capsule.flows.login import Look, asks_for_login, judge_login, judge_proof
from protocol.capsule.state import CapsuleState, Cookie
from protocol.errors import MeshError
from protocol.goal.condition import Condition
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.recording.records.session import BrowserInfo
from tests.capsules import CANARY, STATE
from tests.tables import each

PASSWORD = Element(ref="e1", role="textbox", name="Password", traits=Traits(tag="input", input_type="password"))
CODE = Element(ref="e1", role="textbox", traits=Traits(tag="input", input_type="text", autocomplete="one-time-code"))
NEW = Element(ref="e1", role="textbox", traits=Traits(tag="input", input_type="password", autocomplete="new-password"))
STRANGER = frozenset({("cookie", "shop.example", "/", "sid", "a")})
MEMBER = frozenset({("cookie", "shop.example", "/", "sid", "b")})


def page(*elements: Element, url: str = "https://shop.example/account", text: str = "") -> Observation:
    return Observation(url=url, title="", text=text, elements=elements)


@each(("field", "asks"), [(PASSWORD, True), (CODE, True), (NEW, False)])
def test_a_page_asks_for_a_login_by_its_fields_not_by_its_words(field: Element, asks: bool) -> None:
    assert asks_for_login(page(field)) is asks
    assert not asks_for_login(page(text="Please sign in: password"))


def field(name: str, **more: Any) -> Element:
    return Element(ref="", role="textbox", name=name, traits=Traits(tag="input", input_type="password", **more))


SUBMIT = Element(ref="", role="button", name="Go", traits=Traits(tag="button", submits=True))
LEAVE = Element(ref="", role="link", name="Log out", url="https://shop.example/logout")


@each(
    ("elements", "asks"),
    [
        ((field("Login Password"), field("Confirm Password")), False),  # an account is made or edited
        ((field("Current password"), field("New", autocomplete="new-password")), False),
        (
            (field("Password"), SUBMIT, field("Password"), field("Password again"), SUBMIT),
            True,
        ),  # a login, and a sign-up
        ((field("Password", form_action="/in"), field("Password", form_action="/up")), True),
        ((field("Password"), field("PIN")), True),
        ((PASSWORD, SUBMIT, LEAVE), False),  # somebody who is logged in confirms something
        ((CODE, SUBMIT, LEAVE), True),  # a second factor lets its login be broken off
    ],
)
def test_a_form_that_sets_a_password_or_confirms_one_is_no_login(elements: tuple[Element, ...], asks: bool) -> None:
    assert asks_for_login(page(*elements)) is asks


def test_a_login_needs_a_page_without_its_form_and_something_new_in_the_browser() -> None:
    """Guard: protocol/capsule/flows/login.py, judge_login."""
    before = Look(seen=page(PASSWORD), held=STRANGER)
    assert judge_login(before, Look(seen=page(), held=MEMBER), None) == ""
    assert "still asks" in judge_login(before, Look(seen=page(PASSWORD), held=MEMBER), None)
    assert "did not hold before" in judge_login(before, Look(seen=page(), held=STRANGER), None)
    assert "did not hold before" in judge_login(before, Look(seen=page(), held=frozenset()), None)
    assert "browser.timeout" in judge_login(before, Look(failed="browser.timeout"), None)


def test_a_condition_decides_in_place_of_the_form() -> None:
    until = Condition(text="log out")
    before = Look(held=STRANGER)
    assert judge_login(before, Look(seen=page(PASSWORD, text="Log out"), held=MEMBER), until) == ""
    assert "--until" in judge_login(before, Look(seen=page(text="Hello"), held=MEMBER), until)


def test_a_state_is_proven_by_what_a_stranger_gets() -> None:
    given = Look(seen=page(text="Anna's orders"))
    form = Look(seen=page(PASSWORD, url="https://shop.example/login"))
    assert len(judge_proof(form, given, None).reasons) == 2
    assert judge_proof(Look(seen=page(text="Visitor 7")), given, None).fails
    assert judge_proof(form, form, None).fails
    assert judge_proof(form, Look(failed="browser.timeout"), None).fails
    assert judge_proof(Look(seen=page(url="https://login.example/")), given, None).reasons


def test_a_fault_of_the_network_proves_no_login() -> None:
    """Guard: protocol/capsule/flows/login.py, _differences."""
    given = Look(seen=page())
    assert judge_proof(Look(failed="browser.timeout"), given, None).fails
    assert judge_proof(Look(failed="browser.refused"), given, None).reasons


def test_a_condition_proves_nothing_if_a_stranger_meets_it_too() -> None:
    """Guard: protocol/capsule/flows/login.py, judge_proof."""
    until = Condition(text="orders")
    given = Look(seen=page(text="Orders"))
    assert judge_proof(Look(seen=page()), given, until).reasons
    assert judge_proof(given, given, until).fails
    assert judge_proof(Look(seen=page()), Look(seen=page()), until).fails


def test_digests_tell_what_is_new_and_no_value() -> None:
    changed = CapsuleState(cookies=(Cookie(name="sid", value="x", domain="shop.example"),))
    assert digests(STATE) - digests(changed) and digests(changed) - digests(STATE)
    assert CANARY not in str(digests(STATE))
    with pytest.raises(MeshError) as caught:
        from_browser(BrowserState(storage=json.dumps({"cookies": [{"name": CANARY}]}).encode()), CapsuleState())
    assert CANARY not in str(caught.value)


def test_a_request_that_was_refused_is_told_at_its_step_of_the_login() -> None:
    """Else a login without ``--allow`` ends with “the page still asks for a password”, and nobody knows why."""
    step = {
        "step": 4,
        "of": 4,
        "did": "click button “Sign in”",
        "ok": True,
        "helps": "--allow 'POST https://shop.example/login'",
    }
    line = _login_line({**step, "blocked": ["POST https://shop.example/login"]})
    assert "the guard refused POST https://shop.example/login" in line and "--allow" in line
    assert "refused" not in _login_line({**step, "blocked": []})


class Window:
    """A window in memory, whose person logs in as soon as there is word to begin. Implements ``Watched``."""

    def __init__(self) -> None:
        self.info = BrowserInfo(backend="twin", name="twin", version="1")
        self.scripted, self.sent = 0, ()
        self.seen: Observation | None = None
        self.cookies: dict[str, str] = {}

    async def state(self) -> BrowserState:
        held = [
            {"name": name, "value": value, "domain": "shop.example", "path": "/", "expires": -1}
            | {"httpOnly": True, "secure": True, "sameSite": "Lax"}
            for name, value in self.cookies.items()
        ]
        return BrowserState(storage=json.dumps({"cookies": held, "origins": []}).encode())

    async def open(self, url: str) -> None:
        self.seen, self.cookies = page(PASSWORD, url=url), {"seen": "1"}

    async def ended(self) -> None:
        await asyncio.Event().wait()

    def log_in(self, said: dict[str, object]) -> None:
        """What a person does who was waiting for it."""
        self.seen, self.cookies = page(url=str(said["open"])), {"seen": "1", "sid": "of-a-member"}


async def test_a_person_who_logs_in_at_once_is_not_missed() -> None:
    window = Window()
    async with asyncio.timeout(120):
        state = await logged_in(window, "https://shop.example/account", None, window.log_in)
    assert "of-a-member" in state
