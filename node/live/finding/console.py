"""The errors in the console of a page, by the step that they came in."""

from __future__ import annotations

from collections import Counter

from adapters.ports import Page


class Console:
    """Of one page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._before: tuple[str, ...] = ()

    def new(self) -> tuple[str, ...]:
        """The errors since the last call, as the page said them: of a page at most ``CONSOLE_ERRORS_MAX``."""
        now = tuple(self._page.console_errors())
        # By count and not by place: with tabs, a later error of the first one stands before those of the second.
        known = Counter(self._before)
        self._before = now
        new = []
        for each in now:
            if known[each]:
                known[each] -= 1
            else:
                new.append(each)
        return tuple(new)
