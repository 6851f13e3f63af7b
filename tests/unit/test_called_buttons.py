"""Links that are buttons, by their role or because they lead nowhere: their address makes no two of them one, and none of them the
recorded one.
"""

from __future__ import annotations

import pytest

from protocol.errors import MeshError
from protocol.goal.features import FeatureDraft, one_per_address
from protocol.page.actions.action import Click, Locator
from protocol.page.actions.evidence import ElementEvidence, Judge, collect
from protocol.page.actions.locator import resolve
from protocol.page.seen.observation import Element, Observation, Traits, Tree
from tests.tables import each

NOWHERE = ("https://shop.example/people#", "javascript:void(0)")
BUTTONS = [("button", url) for url in (*NOWHERE, "https://shop.example/people")] + [("link", url) for url in NOWHERE]


def people(*names: str, role: str, url: str) -> Observation:
    """A list of people, each with a link."""
    elements = [
        Element(ref=f"e{at}", role=role, name="Edit", url=url, traits=Traits(tag="a")) for at in range(len(names))
    ]
    parents, roles, said, places = [-1], ["main"], [""], [-1]
    for at, name in enumerate(names):
        item = len(parents)
        parents += [0, item, item]
        roles += ["listitem", "text", role]
        said += ["", name, "Edit"]
        places += [-1, -1, at]
    tree = Tree(parents=tuple(parents), roles=tuple(roles), said=tuple(said), elements=tuple(places))
    return Observation(url="https://shop.example/people", title="", text="", elements=tuple(elements), tree=tree)


def judge(evidence: ElementEvidence, page: Observation) -> Judge:
    return Judge(evidence, page, lambda text: text, lambda address: address)


@each(("role", "url"), BUTTONS)
def test_of_two_with_one_address_a_locator_means_neither(role: str, url: str) -> None:
    with pytest.raises(MeshError) as refused:
        resolve(Locator(role=role, name="Edit"), people("Ann", "Bob", role=role, url=url))
    assert refused.value.code == "action.target_ambiguous"


@each(("role", "url"), BUTTONS)
def test_one_in_another_row_is_not_the_recorded_one_for_its_address(role: str, url: str) -> None:
    page = people("Ann", role=role, url=url)
    recorded = collect(page.elements[0], page)
    other = people("Bob", role=role, url=url)
    assert judge(recorded, other).differs(other.elements[0], reads=False, writes=True)
    others = people("Bob", "Cid", role=role, url=url)
    with pytest.raises(MeshError) as refused:
        judge(recorded, others).choose(Locator(role=role, name="Edit"), list(others.elements), writes=True)
    assert refused.value.code == "action.target_differs"


@each(("role", "url"), BUTTONS)
def test_a_search_tries_each_of_them(role: str, url: str) -> None:
    drafts = [FeatureDraft(Click, each, "", {}) for each in people("Ann", "Bob", role=role, url=url).elements]
    assert one_per_address(drafts) == drafts


def test_two_links_to_one_place_are_one() -> None:
    page = people("Ann", "Bob", role="link", url="https://shop.example/new")
    assert resolve(Locator(role="link", name="Edit"), page) == page.elements[0]
    drafts = [FeatureDraft(Click, each, "", {}) for each in page.elements]
    assert len(one_per_address(drafts)) == 1
