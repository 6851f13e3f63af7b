"""The errors in the console of a page, by the step in which they appeared."""

from __future__ import annotations

from collections import Counter

from adapters.ports.browser import Page


class Console:
    """The console of one page."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._before: tuple[str, ...] = ()

    def new(self) -> tuple[str, ...]:
        """The errors since the last call, in the page's words; at most ``CONSOLE_ERRORS_MAX`` for a page."""
        now = tuple(self._page.console_errors())
        # Compared by count, not by position: with tabs, a later error of the first tab precedes those of the second.
        known = Counter(self._before)
        self._before = now
        new = []
        for each in now:
            if known[each]:
                known[each] -= 1
            else:
                new.append(each)
        return tuple(new)
