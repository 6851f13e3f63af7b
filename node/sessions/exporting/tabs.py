"""The tabs of a recording as the pages of a Playwright test: ``page`` for the tab in front, ``page2`` for the second one."""

from __future__ import annotations

from node.sessions.exporting.written import Unsaid
from protocol.page.actions.action import CloseTab, SwitchTab
from protocol.recording.records.session import Step


class TabLines:
    """Knows which tab is in front, and which tabs have a name in the test."""

    def __init__(self) -> None:
        self._front = 1
        self._named = {1}

    def statement(self, step: Step) -> list[str] | None:
        """The statement that brings another tab to the front or closes this one; None for any other step. Errors: ``Unsaid``."""
        match step.action:
            case SwitchTab(tab=tab):
                self._require(tab)
                self._front = tab
                return [f"page = page{tab}", "page.bring_to_front()"]
            case CloseTab():
                self._require(step.on_tab)
                self._front = step.on_tab
                return ["page.close()", f"page = page{step.on_tab}"]
            case _:
                self._require(self._front)
                return None

    def _require(self, tab: int) -> None:
        if tab not in self._named:
            raise Unsaid(f"the step that opened tab {tab} cannot be said")

    def around(self, step: Step, lines: list[str]) -> list[str]:
        """``lines`` of ``step`` inside a block that waits for the tab that it opens; also notes which tab comes to the front."""
        if step.tab and step.on_tab:
            if step.on_tab in self._named:
                raise Unsaid("it opens several tabs")
            self._named.add(step.on_tab)
            self._front = step.on_tab
            name = f"page{step.on_tab}"
            opened = ["with page.expect_popup() as opened:", *(f"    {line}" for line in lines)]
            return [*opened, f"{name} = opened.value", f"page = {name}"]
        if step.on_tab and step.on_tab != self._front:
            self._require(step.on_tab)
            self._front = step.on_tab
            return [*lines, f"page = page{step.on_tab}"]
        return lines

    def lost(self, step: Step) -> None:
        """The step cannot be expressed; only the tab that it left in front is noted."""
        self._front = step.on_tab or self._front
