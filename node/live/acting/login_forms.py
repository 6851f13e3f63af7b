"""Notices where work meets the form of a login, so that a capsule for the site can be proposed."""

from __future__ import annotations

from shlex import quote

from protocol.capsule.flows.login import asks_for_login
from protocol.page.seen.observation import Observation


class LoginForms:
    """The first page of one piece of work that asks for a login."""

    def __init__(self, *, known: bool) -> None:
        """known: whether the work has a login of its own, or types one, so that a form is no surprise."""
        self._known = known
        self.url = ""
        """Its address; empty for none."""

    def look(self, page: Observation | None) -> None:
        """The work has come to ``page``."""
        if not (self._known or self.url) and page is not None and asks_for_login(page):
            self.url = page.url


def proposed(capsule: str) -> str:
    """What a person is told of a capsule that would have spared them the form."""
    return f"a page asks for a login, and this node keeps one for its site: --capsule {quote(capsule)}"
