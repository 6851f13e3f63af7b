"""Notices the login form of a site during work, so that a capsule for the site can be proposed."""

from __future__ import annotations

from shlex import quote

from protocol.capsule.flows.login import asks_for_login
from protocol.page.seen.observation import Observation


class LoginForms:
    """The first page of one piece of work that asks for a login."""

    def __init__(self, *, known: bool) -> None:
        """known: True if the work has a login of its own or types one, so that a login form is expected."""
        self._known = known
        self.url = ""
        """The address of that page; empty if there is none."""

    def look(self, page: Observation | None) -> None:
        """The work has reached ``page``."""
        if not (self._known or self.url) and page is not None and asks_for_login(page):
            self.url = page.url


def proposed(capsule: str) -> str:
    """The message to a person about a capsule that would have spared them the login form."""
    return f"a page asks for a login, and this node keeps one for its site: --capsule {quote(capsule)}"
