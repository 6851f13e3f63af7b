"""The chooser of ``benchmarks/agents`` takes the line that a person would take, whatever tool has printed it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agents.chooser import Chooser, NotFound
from benchmarks.agents.comparing import TASKS
from benchmarks.agents.tools import AgentBrowser, Entry, PlaywrightServer, Refused, Tool, Trailmesh

OURS = (
    '# "Orders"\ne4 link "Show" in "Order 3"\ne7 button "Release" in "Order 37"\ne9 button "Release" in "Order 377"\n'
)
TREE = """- row "Order 37" [ref=f1e1]:
  - button "Release" [ref=f1e2]
- row [ref=f1e3]:
  - cell "Order 377" [ref=f1e4]
  - cell [ref=f1e5]:
    - button "Release" [ref=f1e6]
"""
FLAT = '- cell "Order 377" [ref=e1]\n- cell "Release" [ref=e2]\n  - button "Release" [ref=e3]\n'


class Printed(Tool):
    """A tool that prints what it was given, and notes what it is told to click."""

    def __init__(self, like: type[Tool], shown: str, stale: int = 0) -> None:
        super().__init__(Path(), {})
        self.name, self.lasting, self._ref, self._page = like.name, like.lasting, like._ref, like._page
        self.shown, self.stale = shown, stale
        self.clicked: list[str] = []

    def open(self, url: str) -> str:
        return ""

    def look(self) -> str:
        return self.shown

    def fill(self, entries: Sequence[Entry], submit: bool) -> str:
        return ""

    def click(self, ref: str) -> str:
        self.stale -= 1
        if self.stale >= 0:
            raise Refused("that is gone")
        self.clicked.append(ref)
        return ""

    def press(self, key: str) -> str:
        return ""

    def upload(self, ref: str, file: str) -> str:
        return ""

    def wait(self, words: str) -> str:
        return ""

    def close(self) -> None:
        pass


STEP: dict[str, Any] = {"do": "click", "role": "button", "words": "Release", "in": "Order 377"}


@pytest.mark.parametrize(
    ("tool", "shown", "ref"),
    [(Trailmesh, OURS, "e9"), (PlaywrightServer, TREE, "f1e6"), (AgentBrowser, FLAT, "e3")],
    ids=["ours", "tree", "flat"],
)
def test_the_control_of_the_named_row_is_taken(tool: type[Tool], shown: str, ref: str) -> None:
    printed = Printed(tool, shown)
    Chooser(printed, {}).do("http://127.0.0.1/", [STEP])
    assert printed.clicked == [ref]


def test_what_was_refused_is_tried_once_more_after_a_look() -> None:
    printed = Printed(Trailmesh, OURS, stale=1)
    Chooser(printed, {}).do("http://127.0.0.1/", [STEP])
    assert printed.clicked == ["e9"]
    with pytest.raises(Refused):
        Chooser(Printed(Trailmesh, OURS, stale=2), {}).do("http://127.0.0.1/", [STEP])


def test_nothing_is_clicked_that_no_line_names() -> None:
    printed = Printed(Trailmesh, OURS)
    with pytest.raises(NotFound):
        Chooser(printed, {}).do("http://127.0.0.1/", [{**STEP, "in": "Order 4"}])
    assert printed.clicked == []


def test_each_task_is_proven_by_what_the_site_or_the_page_alone_knows() -> None:
    assert len(TASKS) == 10
    for task in TASKS:
        asked = " ".join(str(value) for step in task["steps"] for value in step.values())
        assert task["done"].get("served") or task["done"]["printed"] not in asked, task["name"]
