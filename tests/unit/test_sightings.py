"""A recording warns of an assertion that something is absent which was never there."""

from __future__ import annotations

import pytest

from protocol.page.seen.observation import Element
from protocol.recording.records.verdict import Verdict
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_sessions_room import ORIGIN, Bench

HOME = f"{ORIGIN}/"
CART = f"{ORIGIN}/cart"
WALK = f"start: {HOME}\nsteps:\n- click: {{role: link, name: Cart}}\n- assert: {{}}\n"


async def bench() -> Bench:
    """A shop whose first page has a banner, and whose second page has not."""
    made = Bench()
    await made.witness.load()
    await made.peers.load()
    banner = Control(element=Element(ref="", role="button", name="Close"), selectors=("css=.banner",))
    ghost = Control(element=Element(ref="", role="generic", name=""), hidden=True, selectors=("css=.menu",))
    cart = Control(element=Element(ref="", role="link", name="Cart", url="/cart"), effect=Effect(go=CART))
    made.site.documents |= {
        HOME: Document(title="Shop", controls=(cart, banner, ghost)),
        CART: Document(title="Cart"),
    }
    return made


@pytest.mark.parametrize(
    ("step", "is_doubtful"),
    [
        ("{role: button, name: Close, hidden: yes}", False),
        ("{role: button, name: Clsoe, hidden: yes}", True),
        ("{role: link, name: Close, hidden: yes}", True),
        ("{role: button, name: close, count: 0}", False),
        ("{role: button, name: Clsoe, count: 0}", True),
        ("{role: button, name: Clsoe, visible: no, soft: yes}", True),
        ('{selectors: ["css=.banner"], hidden: yes}', False),
        ('{selectors: ["css=.baner"], hidden: yes}', True),
        ('{selectors: ["css=.menu"], hidden: yes}', False),
        ('{selectors: ["css=.baner", "css=.banner"], count: 0}', False),
    ],
)
async def test_an_absence_is_doubtful_if_no_page_before_had_the_element(step: str, is_doubtful: bool) -> None:
    """Guard: node/live/recording/sightings.py, Sightings.judge."""
    made = await bench()
    done = await made.record(WALK.replace("{}", step))
    assert done.verdict is Verdict.PASS, "a doubt decides nothing"
    assert bool(done.doubts) is is_doubtful
    notes = [event["note"] for event in made.told if "note" in event]
    assert notes == list(done.doubts)
    assert all(note.startswith("step 3: it was never there") for note in notes)
    shown = await made.call("show", session=done.id)
    assert [each.unseen for each in shown.steps] == [False, False, is_doubtful]


async def test_what_comes_only_later_was_not_there_before() -> None:
    made = await bench()
    walk = f"start: {CART}\nsteps:\n- assert: {{role: button, name: Close, hidden: yes}}\n- goto: {HOME}\n"
    assert len((await made.record(walk)).doubts) == 1
