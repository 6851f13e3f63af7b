"""The pages of a Playwright script by their names, as tabs of one session."""

from __future__ import annotations

import ast
from typing import Final

from node.sessions.importing.playwright_locators import Bad, chain_of
from protocol.page.actions.action import Action, Assert, CloseTab, SwitchTab

WAITED: Final = ("expect_popup", "expect_download")
DOWNLOADED: Final = Assert(what="download", match="contains")
"""Any download at all: what ``expect_download`` waits for."""


class Pages:
    """Which tab each name is, and which one would be in front: the same rules as in ``adapters.browser.page.tabs``."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"page": 1}
        self._infos: dict[str, int] = {}
        """Number of the tab that ``expect_popup`` waited for, by the name of what it gave; 0 for a download."""
        self._opened = 1
        self._fronts = [1]

    def begin(self, name: str) -> None:
        """The first page has this name."""
        self._numbers = {name: 1}

    def waited(self, kind: str, info: str) -> None:
        """A block has waited for a tab or a download, and calls it ``info``."""
        if kind == "expect_popup":
            self._opened += 1
            self._fronts.append(self._opened)
        if info:
            self._infos[info] = self._opened if kind == "expect_popup" else 0

    def take_value(self, name: str, info: str) -> bool:
        """``name = info.value``; whether ``info`` is known."""
        number = self._infos.get(info)
        if number:
            self._numbers[name] = number
        return number is not None

    def call(self, name: str, other: str) -> bool:
        """``name = other``; whether ``other`` is a page."""
        number = self._numbers.get(other)
        if number:
            self._numbers[name] = number
        return number is not None

    def number(self, name: str) -> int:
        """The tab that is called so; 0 if there is none."""
        return self._numbers.get(name, 0)

    def is_open(self, number: int) -> bool:
        """Whether the tab was not closed yet."""
        return number in self._fronts

    def come(self, number: int) -> tuple[Action, ...]:
        """What brings the tab to the front: nothing if it is there."""
        if self._fronts[-1] == number:
            return ()
        self._fronts.remove(number)
        self._fronts.append(number)
        return (SwitchTab(tab=number),)

    def close(self, number: int) -> tuple[Action, ...]:
        """What closes the tab; nothing for the last one, with which the session ends."""
        moves = self.come(number)
        self._fronts.remove(number)
        return (*moves, CloseTab()) if self._fronts else ()


def waited_for(block: ast.With | ast.AsyncWith, bad: Bad) -> list[tuple[str, str, str]]:
    """What a block waits for: the name of the page, of the call, and of what it gives. Errors: ``input.invalid``."""
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
