"""What passes the gate and is reported, and what an action becomes on the page at hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from adapters.ports.browser import Given
from node.config.settings import PolicyConfig
from node.live.acting.driver import Driver, Gate, never
from node.live.acting.preparing import prepare
from node.live.browsers.policy import guard_for
from node.live.finding.options import fit
from node.live.recording.arrivals import Arrival, check_arrival
from node.verbs import OWNER, Caller, CallerKind, called_by
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Extract, Fill, Goto, Locator, Press, Scroll, Select, target_of
from protocol.page.secrets.secrets import NO_SECRETS
from protocol.page.seen.observation import BLANK, Element, Observation, Traits
from protocol.risk.pressing.classes import APPROVAL_CLASS, Risk
from protocol.risk.requests.requests import GuardPolicy
from tests.tables import each
from tests.twins.browser import Control, Document, MemoryPage, MemorySite

HOME = "http://shop.test/"
ANY = Locator()
SIZES = Element(
    ref="", role="combobox", name="Size", options=("Small", "Large"), traits=Traits(tag="select", input_type="")
)
PAGE = Document(
    title="Shop",
    controls=(
        Control(element=Element(ref="", role="link", name="Mugs", url="/mugs"), selectors=("css=a",)),
        Control(element=SIZES, values=(("Small", "s"), ("Large", "l"))),
        Control(element=Element(ref="", role="textbox", name="Note")),
    ),
)


class Asked:
    """Whoever is asked whether an action is approved, and told what was decided."""

    def __init__(self, *, approves: bool) -> None:
        self._approves = approves
        self.reported: list[bool] = []

    def approve(self, action: Action, risk: Risk) -> bool:
        return self._approves

    async def report(self, action: Action, risk: Risk, admitted: bool) -> None:
        self.reported.append(admitted)


# --- the gate --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "risk_max", "approves", "admitted", "reported"),
    [
        (1, APPROVAL_CLASS - 1, False, True, []),
        (APPROVAL_CLASS - 1, APPROVAL_CLASS - 1, False, True, []),
        (APPROVAL_CLASS, APPROVAL_CLASS - 1, False, False, [False]),
        (APPROVAL_CLASS, APPROVAL_CLASS - 1, True, True, [True]),
        (APPROVAL_CLASS, APPROVAL_CLASS, False, True, [True]),
        (APPROVAL_CLASS + 1, APPROVAL_CLASS, False, False, [False]),
        (2, 1, False, False, [False]),
        (2, 1, True, True, []),
        (7, 7, False, True, [True]),
    ],
)
async def test_what_the_gate_admits_and_what_it_reports(
    level: int, risk_max: int, approves: bool, admitted: bool, reported: list[bool]
) -> None:
    asked = Asked(approves=approves)
    gate = Gate(report=asked.report, risk_max=risk_max, approve=asked.approve)
    risk = Risk(level=level, reason="it buys")
    if admitted:
        await gate.admit(Scroll(), risk)
    else:
        with pytest.raises(MeshError) as refused:
            await gate.admit(Scroll(), risk)
        assert (refused.value.code, refused.value.detail) == ("risk.refused", {"level": level, "reason": "it buys"})
        assert refused.value.message == f"risk class {level}: it buys"
    assert asked.reported == reported


def test_nothing_is_approved_unless_somebody_says_so() -> None:
    gate = Gate(report=Asked(approves=True).report)
    assert (gate.risk_max, gate.approve is never) == (APPROVAL_CLASS - 1, True)
    assert never(Scroll(), Risk(level=1, reason="")) is False


# --- the driver ------------------------------------------------------------------------------------------------------


class Watched(MemoryPage):
    """A page that counts how often it is looked at."""

    def __init__(self, page: Document = PAGE) -> None:
        super().__init__(MemorySite({HOME: page, f"{HOME}mugs": Document(title="Mugs")}), GuardPolicy())
        self.looked = 0
        self.given: list[dict[str, Any]] = []

    async def observe(self) -> Observation:
        self.looked += 1
        return await super().observe()

    async def perform(self, action: Action, **more: Any) -> Any:
        self.given.append(more)
        done = await super().perform(action, **more)
        self.looked -= 1  # the page's own look
        return done


async def test_a_page_is_looked_at_only_where_the_action_depends_on_it() -> None:
    page, asked = Watched(), Asked(approves=False)
    driver = Driver(page, Gate(report=asked.report))
    assert (driver.observation, driver.prepared) == (None, None)
    await driver.act(Goto(url=HOME), expect=b"state")
    assert (page.looked, page.given[-1]) == (
        0,
        {"ref": None, "expect": b"state", "secrets": NO_SECRETS, "timeout_ms": 0, "given": Given(level_max=4)},
    )
    assert driver.observation is not None and driver.observation.title == "Shop"
    await driver.act(Click(target=Locator(role="link", name="Mugs")))
    assert (page.looked, page.given[-1]["ref"], page.given[-1]["expect"]) == (0, "e1", None)
    assert driver.prepared is not None and driver.prepared.ref == "e1"
    with pytest.raises(MeshError):
        await driver.act(Click(target=Locator(role="link", name="Cups")))
    left: list[Any] = [page.looked, driver.prepared]
    assert left == [3, None]  # as it may have changed; to tell a hidden one; for what is there instead
    driver.observation = None
    await driver.act(Scroll())
    assert page.looked == 4


async def test_an_element_that_came_later_is_found_on_a_fresh_look() -> None:
    page = Watched()
    await page.perform(Goto(url=HOME))
    ready, seen = await prepare(page, BLANK, Click(target=Locator(role="link", name="Mugs")))
    assert (ready.ref, seen.title, page.looked) == ("e1", "Shop", 1)
    ready, seen = await prepare(page, seen, Click(target=Locator(role="link", name="Mugs")))
    assert (ready.ref, page.looked) == ("e1", 1)
    ready, _ = await prepare(page, seen, Scroll())
    assert (ready.ref, ready.element, ready.risk.level, page.looked) == (None, None, 1, 1)


async def test_a_locator_is_completed_where_it_lacks_a_role_or_names_selectors() -> None:
    page = Watched()
    seen = (await page.perform(Goto(url=HOME))).observation
    for given, kept in (
        (Locator(role="link", name="mugs"), Locator(role="link", name="mugs")),
        (Locator(name="Mugs"), Locator(role="link", name="Mugs")),
        (Locator(selectors=("css=a",)), Locator(role="link", name="Mugs", selectors=("css=a",))),
        (
            Locator(role="link", name="mugs", selectors=("css=a",)),
            Locator(role="link", name="Mugs", selectors=("css=a",)),
        ),
    ):
        ready, _ = await prepare(page, seen, Extract(name="x", target=given))
        assert target_of(ready.action) == kept


async def test_an_option_is_chosen_by_its_value_or_its_label() -> None:
    page = Watched()
    seen = (await page.perform(Goto(url=HOME))).observation
    where = Locator(role="combobox", name="Size")
    for value in ("l", "Large", "large"):
        ready, _ = await prepare(page, seen, Fill(target=where, value=value))
        assert ready.action == Select(target=where, option="Large")
    note = Fill(target=Locator(role="textbox", name="Note"), value="l")
    assert (await prepare(page, seen, note))[0].action == note
    with pytest.raises(MeshError) as refused:
        await prepare(page, seen, Fill(target=where, value="m"))
    assert refused.value.message == "“Size” has no option “m”; it has: Small, Large"


async def test_a_key_that_is_none_is_refused_before_anything_is_asked() -> None:
    page, asked = Watched(), Asked(approves=True)
    with pytest.raises(MeshError) as refused:
        await Driver(page, Gate(report=asked.report)).act(Press(key="Control+v"))
    assert (refused.value.code, asked.reported, page.given) == ("action.clipboard", [], [])


def test_an_option_that_is_missing_is_told_with_the_first_of_those_that_there_are() -> None:
    options = tuple(f"Option {number}" for number in range(13))
    element = msgspec.structs.replace(SIZES, options=options)
    with pytest.raises(MeshError) as refused:
        fit(Fill(target=ANY, value="x" * 81), element)
    told = ", ".join(options[:12])
    assert refused.value.message == f"“Size” has no option “{'x' * 80}”; it has: {told}"
    assert refused.value.detail == {"options": list(options[:12])}
    for role in ("radio", "switch", "menuitemcheckbox", "menuitemradio"):
        with pytest.raises(MeshError) as refused:
            fit(Fill(target=ANY, value="on"), Element(ref="", role=role, name="A"))
        assert refused.value.message.startswith(f"“A” is a {role}: use check or click")


# --- what bounds it --------------------------------------------------------------------------------------------------


def test_a_page_is_the_one_that_was_asserted_to_the_letter() -> None:
    page = Observation(url="http://a.test/x?token=1", title="Hi Ann", text="", elements=())
    secrets = {"user": "Ann"}
    for url, title in (("", ""), (page.url, ""), ("", "Hi Ann"), ("http://a.test/x?token=2", "Hi Ann")):
        check_arrival(Arrival(url=url, title=title), page, secrets)
    for url, title, what in (("http://a.test/y", "No", "address"), ("", "hi Ann", "title"), ("", "Hi", "title")):
        with pytest.raises(MeshError) as differs:
            check_arrival(Arrival(url=url, title=title), page, secrets)
        assert (differs.value.code, differs.value.detail) == ("action.arrival_differs", {"what": what})
        assert "Ann" not in differs.value.message
    with pytest.raises(MeshError) as differs:
        check_arrival(Arrival(title="y" * 201), msgspec.structs.replace(page, title="x" * 201), {})
    shown = f"is “{'x' * 200}”, and the file asserts “{'y' * 200}”"
    assert differs.value.message == f"the title after the step {shown}"


AGENT = Caller(kind=CallerKind.AGENT, name="anna")
HERE, THERE = "https://here.test", "https://there.test"


@each(
    ("caller", "policy", "within", "origins", "private"),
    [
        (OWNER, (), None, (), ("*",)),
        (OWNER, (HERE,), None, (HERE,), ("*", HERE)),
        (AGENT, (), None, (), ()),
        (AGENT, (HERE,), None, (HERE,), (HERE,)),
        (AGENT, ("*",), None, (), ()),
        (msgspec.structs.replace(AGENT, origins=(HERE,)), (), None, (HERE,), (HERE,)),
        (msgspec.structs.replace(AGENT, origins=("*", HERE)), (), None, (), (HERE,)),
        (msgspec.structs.replace(AGENT, origins=(HERE,)), (HERE, THERE), None, (HERE,), (HERE, HERE, THERE)),
        (OWNER, (), (HERE,), (HERE,), ("*",)),
        (OWNER, (HERE, THERE), (THERE,), (THERE,), ("*",)),
        (OWNER, (), ("*",), (), ("*",)),
    ],
)
def test_the_guard_is_the_policy_within_what_the_caller_may(
    caller: Caller,
    policy: tuple[str, ...],
    within: tuple[str, ...] | None,
    origins: tuple[str, ...],
    private: tuple[str, ...],
) -> None:
    with called_by(caller):
        made = guard_for(PolicyConfig(origins=policy, allow_requests=("POST a",)), ("POST b",), within=within)
    assert made == GuardPolicy(read_only=True, allow=("POST a", "POST b"), origins=origins, private=private)


def test_what_nobody_has_in_common_is_refused() -> None:
    for caller, within, code in (
        (OWNER, (THERE,), "policy.refused"),
        (msgspec.structs.replace(AGENT, origins=(THERE,)), None, "caller.refused"),
        (msgspec.structs.replace(AGENT, origins=(THERE,)), (HERE,), "caller.refused"),
    ):
        with called_by(caller), pytest.raises(MeshError) as refused:
            guard_for(PolicyConfig(origins=(HERE,)), within=within)
        assert refused.value.code == code
