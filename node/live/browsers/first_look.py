"""Checks on the first page of work that the site accepts the login, so that a dead login is an error at once.

If the first page does not show it, the page of the capsule is opened before the work goes on. Later pages are never checked: work
may log out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from adapters.ports.browser import ActionOutcome
from node.live.browsers.metering import End
from protocol.capsule.flows.portability import Standing
from protocol.capsule.flows.probe import Probe, judge_page, plain
from protocol.errors import NOT_LOADED, MeshError
from protocol.page.actions.action import Goto
from protocol.page.secrets.secrets import refuses

_NOT_SEEN = NOT_LOADED | {"browser.refused"}
Open = Callable[[Goto], Awaitable[ActionOutcome]]
"""Opens an address in the page at hand."""


class LoginShown:
    """The knowledge about a login in use. All contexts of the work share it."""

    def __init__(self, capsule: str, page: str, probe: Probe, over: End) -> None:
        """over: ends the work, even where the work would handle the error as that of a step."""
        self._capsule, self._page, self._probe, self._over = capsule, page, probe, over
        self._alive = False
        self.dead = False
        """True if the site was seen to refuse the login: the browser then holds no newer state of it."""

    async def opened(self, first: Goto, open_: Open) -> ActionOutcome:
        """Open the first page of a context, and judge it. Errors: ``capsule.logged_out``, those of ``open_``."""
        try:
            outcome = await open_(first)
        except MeshError as error:
            if error.code == "browser.refused" and self._probe.refused and plain(first.url) == plain(self._page):
                raise self._dead(error.detail.get("chain", ())) from error
            if self._unanswered(error.detail.get("challenges", ()), first.url):
                raise self._dead() from error
            raise
        found = self._standing(first.url, outcome)
        if found == "unknown" and not self._alive and plain(first.url) != plain(self._page):
            found = await self._looked(open_)
            if found != "dead":
                outcome = await open_(first)
        if found == "dead":
            raise self._dead()
        self._alive = True
        return outcome

    async def _looked(self, open_: Open) -> Standing:
        """The standing of the login on the page of the capsule."""
        try:
            outcome = await open_(Goto(url=self._page))
        except MeshError as error:
            if error.code not in _NOT_SEEN:
                raise
            refused = error.code == "browser.refused" and self._probe.refused
            in_vain = self._unanswered(error.detail.get("challenges", ()), self._page)
            return "dead" if refused or in_vain else "unknown"
        return self._standing(self._page, outcome)

    def _standing(self, asked: str, outcome: ActionOutcome) -> Standing:
        if self._unanswered(outcome.challenges, asked):
            return "dead"
        return judge_page(self._probe, self._page, asked, outcome.observation)

    def _unanswered(self, challenges: Iterable[str], asked: str) -> bool:
        return self._probe.challenged and refuses(challenges, asked)

    def _dead(self, chain: Sequence[str] = ()) -> MeshError:
        """chain: the sites that the first page led to; the last one was refused."""
        self.dead = True
        led = {"chain": list(chain)} if chain else {}
        told = f"the page leads on to a site that the capsule does not name: {' → '.join(chain)}" if chain else ""
        error = MeshError("capsule.logged_out", told, capsule=self._capsule, **led)
        self._over(error)
        return error
