"""The pages of a Playwright script, by their names, as tabs of one session."""

from __future__ import annotations

import ast
from typing import Final

from node.sessions.importing.playwright_locators import Bad, chain_of
from protocol.page.actions.action import Action, Assert, CloseTab, SwitchTab

WAITED: Final = ("expect_popup", "expect_download")
DOWNLOADED: Final = Assert(what="download", match="contains")
"""The assertion for ``expect_download``: any download fulfils it."""


class Pages:
    """Knows the tab of each name, and which tab is in front, by the same rules as ``adapters.browser.page.tabs``."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"page": 1}
        self._infos: dict[str, int] = {}
        """Number of the tab that ``expect_popup`` waited for, by the name of its result; 0 for a download."""
        self._opened = 1
        self._fronts = [1]

    def begin(self, name: str) -> None:
        """The first page has this name."""
        self._numbers = {name: 1}

    def waited(self, kind: str, info: str) -> None:
        """A block has waited for a tab or a download, and named its result ``info``."""
        if kind == "expect_popup":
            self._opened += 1
            self._fronts.append(self._opened)
        if info:
            self._infos[info] = self._opened if kind == "expect_popup" else 0

    def take_value(self, name: str, info: str) -> bool:
        """Note ``name = info.value``. Returns True if ``info`` is known."""
        number = self._infos.get(info)
        if number:
            self._numbers[name] = number
        return number is not None

    def call(self, name: str, other: str) -> bool:
        """Note ``name = other``. Returns True if ``other`` is a page."""
        number = self._numbers.get(other)
        if number:
            self._numbers[name] = number
        return number is not None

    def number(self, name: str) -> int:
        """The tab with this name; 0 if there is none."""
        return self._numbers.get(name, 0)

    def is_open(self, number: int) -> bool:
        """True if the tab was not closed yet."""
        return number in self._fronts

    def come(self, number: int) -> tuple[Action, ...]:
        """The action that brings the tab to the front; none if it is there."""
        if self._fronts[-1] == number:
            return ()
        self._fronts.remove(number)
        self._fronts.append(number)
        return (SwitchTab(tab=number),)

    def close(self, number: int) -> tuple[Action, ...]:
        """The actions that close the tab; none for the last tab, with which the session ends."""
        moves = self.come(number)
        self._fronts.remove(number)
        return (*moves, CloseTab()) if self._fronts else ()


def waited_for(block: ast.With | ast.AsyncWith, bad: Bad) -> list[tuple[str, str, str]]:
    """The waits of a block: the names of the page, of the call, and of the result. Errors: ``input.invalid``."""
    found: list[tuple[str, str, str]] = []
    for item in block.items:
        root, links = chain_of(item.context_expr, bad)
        call = links[0] if len(links) == 1 else None
        if call is None or call.name not in WAITED or call.args or set(call.options) - {"timeout"}:
            said = links[-1].name if links else root
            why = "choosing files is not supported: say `set_input_files`" if said == "expect_file_chooser" else ""
            raise bad(block, why or "only calls on the page are read")
        info = item.optional_vars
        found.append((root, call.name, info.id if isinstance(info, ast.Name) else ""))
    return found
