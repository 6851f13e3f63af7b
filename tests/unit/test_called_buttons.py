"""Links that the page calls buttons: their address makes no two of them one, and none of them the recorded one."""

from __future__ import annotations

import pytest

from protocol.errors import MeshError
from protocol.goal.features import Draft, one_per_address
from protocol.page.action import Click, Locator
from protocol.page.evidence import Evidence, Judge, collect
from protocol.page.locator import resolve
from protocol.page.observation import Element, Observation, Traits, Tree

ADDRESSES = ("https://shop.example/people#", "javascript:void(0)", "https://shop.example/people")
EDIT = Locator(role="button", name="Edit")


def people(*names: str, url: str) -> Observation:
    """A list of people, each with a link that is called a button."""
    elements = [
        Element(ref=f"e{at}", role="button", name="Edit", url=url, traits=Traits(tag="a")) for at in range(len(names))
    ]
    parents, roles, said, places = [-1], ["main"], [""], [-1]
    for at, name in enumerate(names):
        item = len(parents)
        parents += [0, item, item]
        roles += ["listitem", "text", "button"]
        said += ["", name, "Edit"]
        places += [-1, -1, at]
    tree = Tree(parents=tuple(parents), roles=tuple(roles), said=tuple(said), elements=tuple(places))
    return Observation(url="https://shop.example/people", title="", text="", elements=tuple(elements), tree=tree)


def judge(evidence: Evidence, page: Observation) -> Judge:
    return Judge(evidence, page, lambda text: text, lambda address: address)


@pytest.mark.parametrize("url", ADDRESSES)
def test_of_two_with_one_address_a_locator_means_neither(url: str) -> None:
    with pytest.raises(MeshError) as refused:
        resolve(EDIT, people("Ann", "Bob", url=url))
    assert refused.value.code == "action.target_ambiguous"


@pytest.mark.parametrize("url", ADDRESSES)
def test_one_in_another_row_is_not_the_recorded_one_for_its_address(url: str) -> None:
    page = people("Ann", url=url)
    recorded = collect(page.elements[0], page)
    other = people("Bob", url=url)
    assert judge(recorded, other).differs(other.elements[0], reads=False, writes=True)
    others = people("Bob", "Cid", url=url)
    with pytest.raises(MeshError) as refused:
        judge(recorded, others).choose(EDIT, list(others.elements), writes=True)
    assert refused.value.code == "action.target_differs"


@pytest.mark.parametrize("url", ADDRESSES)
def test_a_search_tries_each_of_them(url: str) -> None:
    drafts = [Draft(Click, each, "", {}) for each in people("Ann", "Bob", url=url).elements]
    assert one_per_address(drafts) == drafts
