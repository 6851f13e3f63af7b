"""What holds for the heuristics on any page and any goal."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import limits
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import candidates, value
from protocol.page.actions.action import target_of
from protocol.page.actions.locator import locate, resolve
from protocol.page.seen.observation import Element, Observation, Traits
from protocol.risk.pressing.classes import APPROVAL_CLASS

WORDS = st.sampled_from(
    ["Blue mug", "Mugs", "Price: low to high", "4 and up", "Search", "Delete", "Help", "Next", "", "Größe", "Red 12"]
)
URLS = st.sampled_from(
    ["", "http://a.test/", "http://a.test/x?sort=price", "http://b.test/y", "http://a.test/%zz?q=%", "mailto:a"]
)
GOALS = st.one_of(st.sampled_from(["Find the cheapest blue mug with a rating over 4", ""]), st.text(max_size=80))


@st.composite
def observations(draw: st.DrawFn) -> Observation:
    roles = st.sampled_from(["link", "button", "searchbox", "textbox", "combobox", "checkbox", "heading", "spinbutton"])
    elements = []
    for index in range(draw(st.integers(0, 12))):
        role = draw(roles)
        elements.append(
            Element(
                ref=f"e{index}",
                role=role,
                name=draw(WORDS),
                value=draw(WORDS) if role in ("searchbox", "textbox", "combobox") else "",
                url=draw(URLS) if role == "link" else "",
                options=("Blue", "Price: low to high") if role == "combobox" else (),
                states=draw(st.sampled_from([(), ("checked",), ("disabled",)])),
                traits=Traits(form_method=draw(st.sampled_from(["", "get", "post"])), submits=draw(st.booleans())),
            )
        )
    text = draw(st.one_of(st.just("\n".join(f'- {e.role} "{e.name}"' for e in elements)), st.text(max_size=200)))
    return Observation(url=draw(URLS), title=draw(WORDS), text=text, elements=tuple(elements))


@settings(max_examples=150, deadline=None)
@given(GOALS, observations())
def test_candidates_are_bounded_ordered_and_the_same_every_time(text: str, observation: Observation) -> None:
    goal = parse_goal(text)
    found = candidates(goal, observation)
    assert found == candidates(goal, observation)
    assert len(found) <= limits.CANDIDATES_PER_STATE_MAX
    priors = [item.prior for item in found]
    assert priors == sorted(priors, reverse=True)
    assert all(0 <= prior <= 1 for prior in priors)
    free = [item.prior for item in found if item.risk < APPROVAL_CLASS]
    assert not free or abs(sum(free) - 1) < 1e-3
    assert all(item.prior == 0 for item in found if item.risk >= APPROVAL_CLASS)


@settings(max_examples=150, deadline=None)
@given(GOALS, observations())
def test_every_candidate_names_an_element_of_the_page_as_locate_would(text: str, observation: Observation) -> None:
    for item in candidates(parse_goal(text), observation):
        target = target_of(item.action)
        assert target is not None
        assert target == locate(resolve(target, observation), observation)


@settings(max_examples=100, deadline=None)
@given(GOALS, observations(), st.integers(0, 1_000))
def test_a_value_lies_between_zero_and_the_cap(text: str, observation: Observation, visits: int) -> None:
    assert 0 <= value(parse_goal(text), observation, reached=False, visits_of_state=visits) <= 0.7


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=limits.GOAL_CHARS_MAX))
def test_any_text_is_a_goal(text: str) -> None:
    goal = parse_goal(text)
    assert goal.text == text
    assert len(set(goal.words)) == len(goal.words)
