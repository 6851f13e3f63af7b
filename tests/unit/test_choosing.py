"""One action is chosen for a goal, with its reason."""

from __future__ import annotations

from protocol.goal.choosing import choose
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import candidates
from protocol.goal.weights import WEIGHTS
from protocol.page.actions.action import Click
from protocol.page.seen.observation import Element, Observation, Traits
from tests.tables import each
from tests.unit.test_heuristics import SEARCH, link, page

FIELD = Element(ref="s", role="searchbox", name="Search products", traits=SEARCH)
FILLED = Element(ref="s", role="searchbox", name="Search products", value="mug", traits=SEARCH)
EMPTY = page()
ABOUT = page(link("a", "Imprint", "/imprint"), link("b", "Mugs", "/mugs"))
TWICE = page(link("a", "Mugs", "/old"), link("b", "Mugs", "/mugs"))
LANGUAGES = page(link("a", "Imprint", "/imprint"), link("b", "Home", "/"))
DELETE = page(Element(ref="d", role="button", name="Delete mugs", traits=Traits(tag="button")))


@each(
    ("offered", "ref", "deed"),
    [
        (EMPTY, "", ("", "")),
        (ABOUT, "b", ("click", "")),
        (page(FIELD), "s", ("fill", "mug")),
        (page(FILLED), "s", ("press", "Enter")),
        (LANGUAGES, "", ("", "")),
        (DELETE, "", ("", "")),
    ],
)
def test_the_choice_is_what_a_search_tries_first_with_the_reason_of_a_weight(
    offered: Observation, ref: str, deed: tuple[str, str]
) -> None:
    goal = parse_goal("find a mug")
    found = choose(goal, offered)
    assert (found.element.ref if found else "") == ref
    assert (found.deed if found else ("", "")) == deed
    if found:
        assert found.action == candidates(goal, offered)[0].action
        assert found.why in {weight.reason for weight in WEIGHTS.values() if weight.value > 0}


def test_of_elements_with_one_name_the_chosen_one_is_that_of_the_action() -> None:
    found = choose(parse_goal("find a mug"), TWICE)
    assert found is not None
    assert isinstance(found.action, Click)
    assert found.element == TWICE.elements[found.action.target.nth or 0]
