"""Names of elements: each locator of ``Naming`` finds its element, and no other, by the rules of a recording."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.browser.observing.aria import parse
from adapters.browser.observing.view import FrameFacts, assemble
from protocol.errors import MeshError
from protocol.page.actions.action import Locator, Within
from protocol.page.actions.locator import fitting, resolve
from protocol.page.actions.scope import container, part
from protocol.page.seen.observation import Observation, Traits
from protocol.page.showing.naming import SCOPE_ROLES, Naming
from tests.tables import each

ROWS = """\
- heading "Orders" [level=1] [ref=e1]
- button "Save" [ref=e2]
- table "Orders" [ref=e3]:
  - row "Beer 3 Drop" [ref=e4]:
    - cell "Beer" [ref=e5]
    - cell "3" [ref=e6]
    - cell "Drop" [ref=e7]:
      - button "Drop" [ref=e8]
  - row "Root Beer 3 Drop" [ref=e9]:
    - cell "Root Beer" [ref=e10]
    - cell "3" [ref=e11]
    - cell "Drop" [ref=e12]:
      - button "Drop" [ref=e13]
- dialog "Sure?" [ref=e14]:
  - button "Save" [ref=e15]
- button "\\ue001" [ref=e16]
- button [ref=e17]
- button [ref=e18]
"""


def seen(snapshot: str, traits: dict[str, Traits] | None = None) -> Observation:
    view = assemble(
        parse(snapshot), FrameFacts(traits=traits or {}), url="http://a.test/", title="A", mask=lambda text: text
    )
    return view.observation


def found(locator: Locator, observation: Observation) -> tuple[str, int]:
    """Ref of what a recording finds, and how many elements fit."""
    outer = None if locator.within is None else container(locator.within, locator.frame, observation)
    there = part(outer, observation)
    return resolve(locator, there).ref, len(fitting(locator, there))


def named(ref: str, observation: Observation) -> Locator:
    return Naming(observation).locator(next(item for item in observation.elements if item.ref == ref))


@each(
    ("ref", "locator"),
    [
        ("e1", Locator(role="heading", name="Orders")),
        ("e8", Locator(role="button", name="Drop", within=Within(role="row", text="Beer"))),
        ("e13", Locator(role="button", name="Drop", within=Within(role="row", text="Root Beer"))),
        ("e15", Locator(role="button", name="Save", within=Within(role="dialog", name="Sure?"))),
        ("e2", Locator(role="button", name="Save", nth=0)),
        ("e16", Locator(role="button", name="\ue001")),
        ("e18", Locator(role="button", nth=1)),
    ],
)
def test_an_element_is_called_what_only_it_is_called(ref: str, locator: Locator) -> None:
    assert named(ref, seen(ROWS)) == locator


def test_an_attribute_that_only_it_has_tells_an_element_from_its_look_alikes() -> None:
    own = Traits(tag="button", attributes=(("id", "row-17"), ("data-testid", "remove")))
    assert named("e17", seen(ROWS, {"e17": own})).selectors == ("testid=remove",)
    plain = Traits(tag="button", attributes=(("id", "bin"),))
    assert named("e17", seen(ROWS, {"e17": plain})).selectors == ("css=#bin",)
    assert named("e17", seen(ROWS, {"e17": plain, "e18": plain})).nth == 0
    numbered = Traits(tag="button", attributes=(("id", "bin-3"),))
    assert not named("e17", seen(ROWS, {"e17": numbered})).selectors, "a number may be another one tomorrow"


_WORDS = st.sampled_from(["Beer", "beer", "Root Beer", "Drop", "3", "2 hours ago", "", "\ue001", "\u200bBeer"])
_ROLES = st.sampled_from(
    ["button", "row", "listitem", "dialog", "cell", "region", "generic", "heading", *sorted(SCOPE_ROLES)]
)
_NODES = st.lists(st.tuples(_ROLES, _WORDS, st.integers(0, 4)), min_size=1, max_size=24)


@settings(max_examples=300)
@given(_NODES)
def test_every_locator_finds_its_element_on_any_page(nodes: list[tuple[str, str, int]]) -> None:
    """Guard: protocol/page/showing/naming.py, Naming.locators."""
    lines: list[str] = []
    depth = 0
    for number, (role, name, level) in enumerate(nodes, 1):
        depth = min(level, depth + 1) if lines else 0
        lines.append(f"{'  ' * depth}- {role}{f' {chr(34)}{name}{chr(34)}' if name else ''} [ref=e{number}]:")
    observation = seen("\n".join(lines))
    naming = Naming(observation)
    for element in observation.elements:
        locators = list(naming.locators(element))
        assert locators
        for locator in locators:
            try:
                ref, fit = found(locator, observation)
            except MeshError as error:
                ref, fit = error.code, 0
            assert ref == element.ref, locator
            assert (fit > 1) == naming.is_place(locator, element), "only a place may be one of several"
        assert [naming.is_place(locator, element) for locator in locators[:-1]].count(True) == 0
