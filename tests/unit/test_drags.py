"""Drags: written with two elements, judged by both, recorded with the evidence of both, and held to both in a replay."""

from __future__ import annotations

import pytest

from node.sessions.actions.action_files import parse_actions
from protocol.errors import MeshError
from protocol.page.actions.action import Drag, Locator, describe
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.seen.observation import Element, Traits
from protocol.risk.pressing.drag import dropped
from tests.tables import each
from tests.twins.browser import Control, Document, Effect
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

BEER, DONE = Locator(role="listitem", name="Beer"), Locator(role="list", name="Done")
STEPS = f"start: {ORIGIN}/\nsteps:\n- drag: {{role: listitem, name: Beer, onto: {{role: list, name: Done}}}}\n"


def board(*names: str, lists: tuple[str, ...] = ("Done",)) -> Document:
    items = [Element(ref="", role="listitem", name=name) for name in names]
    ends = [Element(ref="", role="list", name=name) for name in lists]
    return Document(title="Board", controls=tuple(Control(element=each) for each in (*items, *ends)))


async def bench_with(document: Document) -> Bench:
    bench = await node_of()
    bench.site.documents[f"{ORIGIN}/"] = document
    return bench


def test_a_drag_names_two_elements() -> None:
    (_, action) = parse_actions(STEPS.encode()).actions
    assert action == Drag(target=BEER, onto=DONE)
    assert describe(action) == "drag listitem “Beer” onto list “Done”"
    (_, action) = parse_actions(STEPS.replace("{role: list, name: Done}", "css=#done").encode()).actions
    assert action == Drag(target=BEER, onto=Locator(selectors=("css=#done",)))
    kept = redacted(Drag(target=BEER, onto=DONE), Redaction({"word": "Done"}))
    assert kept == Drag(target=BEER, onto=Locator(role="list", name="‹secret:word›"))


@each("wrong", ["{role: listitem, name: Beer}", "{role: list, onto: {name: Done}}", "css=#a"])
def test_a_drag_without_both_elements_is_refused(wrong: str) -> None:
    with pytest.raises(MeshError) as refused:
        parse_actions(f"start: {ORIGIN}/\nsteps:\n- drag: {wrong}".encode())
    assert refused.value.code == "input.invalid"


@each(
    ("source", "onto", "level"), [("Beer", "Done", 4), ("Beer", "Delete", 7), ("Pay now", "Done", 5), ("Beer", "", 7)]
)
def test_a_drag_is_judged_by_both_elements(source: str, onto: str, level: int) -> None:
    """Guard: protocol/risk/pressing/drag.py, dropped."""
    end = Element(ref="", role="generic", name=onto, traits=Traits(tokens=("trash",) if not onto else ()))
    assert dropped(Element(ref="", role="listitem", name=source), end).level == level


async def test_a_drag_is_recorded_with_both_elements_and_replayed() -> None:
    bench = await bench_with(board("Wine", "Beer"))
    done = await bench.record(STEPS)
    shown = await bench.call("show", session=done.id)
    step = shown.steps[1]
    assert (step.action, step.evidence.name, step.evidence_onto.name) == (Drag(target=BEER, onto=DONE), "Beer", "Done")
    assert (await bench.call("replay", session=done.id)).report.verdict == "pass"
    bench.site.documents[f"{ORIGIN}/"] = board("Wine", "Beer", lists=("Open",))
    replayed = await bench.call("replay", session=done.id, on_mismatch="go")
    assert replayed.report.steps[1].error == "action.target_missing"


async def test_what_a_drag_onto_something_that_deletes_sends_needs_the_approval_of_that() -> None:
    lists = (Control(element=Element(ref="", role="list", name="Delete")),)
    sends = Control(element=Element(ref="", role="listitem", name="Beer"), effect=Effect(fetch=(("POST", "/cards"),)))
    bench = await bench_with(Document(title="Board", controls=(sends, *lists)))
    allow = (f"POST {ORIGIN}/cards",)
    refused = await bench.refused("record", actions=STEPS.replace("Done", "Delete"), approve_class=4, allow=allow)
    assert (refused.code, refused.detail["level"]) == ("risk.refused", 7)
