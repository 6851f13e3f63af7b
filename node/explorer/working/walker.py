"""Drives one page along the branches of a search tree, by the shortest way that leads to the same state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from adapters.ports.browser import ActionOutcome, Page
from node.explorer.sharing.visit import WalkStep
from node.live.acting import Driver, Gate, Makes
from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import Request
from protocol.page.actions.action import Action, Goto, Reload, describe
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.page.seen.observation import Observation
from protocol.risk.requests.refused import may_change
from protocol.search.places import has_opened

_GONE = ("browser.crashed", "browser.unreachable")


class Reopening(msgspec.Struct):
    """The experience with opening a tree node's address directly."""

    url: str
    state: bytes
    works: bool | None = None
    """None: not tried yet."""


class _Unsent(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that the guard refused, and the action that caused them."""

    lines: tuple[Request, ...]
    action: Action


class Walker:
    """A page and its position in the tree. One task at a time."""

    def __init__(
        self,
        page: Page,
        start_url: str,
        gate: Gate,
        count_step: Callable[[], None],
        secrets: Secrets = NO_SECRETS,
        makes: Makes | None = None,
        addresses: Mapping[bytes, str] | None = None,
        begun: ActionOutcome | None = None,
        would_send: list[str] | None = None,
    ) -> None:
        """secrets, makes: as ``Worker``. addresses: of seen links, by the node that they lead to.

        begun: the outcome, if the page already shows the start page. would_send: collects the refused requests of actions.
        """
        self.page, self._secrets = page, secrets
        self._driver = Driver(page, gate, secrets, press_ms=limits.SEARCH_PRESS_MS, makes=makes)
        self._start = Goto(url=start_url)
        self._count_step = count_step
        self._path: tuple[bytes, ...] | None = None
        self._known: dict[bytes, Reopening] = {}
        self._states: dict[bytes, bytes] = {}
        """The state of each node when it was last left for another: the state to wait for there."""
        self._addresses = {} if addresses is None else addresses
        self._would_send = [] if would_send is None else would_send
        self._pressed: set[bytes] = set()
        """Nodes that were reached by performing their action, not only by opening an address."""
        self._by_itself: set[str] = set()
        """Refused requests that pages sent by themselves when they opened: no press caused them."""
        self.unconfirmed = False
        """True if a press on this document tried to change something, and the request was refused: the page may look as if the
        change had been made."""
        self._done = 0
        if begun is not None and makes is None:
            self._driver.observation, self._path = begun.observation, ()
            self._by_itself |= set(begun.blocked)

    async def reach(self, steps: Sequence[WalkStep]) -> Observation:
        """The page at the end of ``steps``.

        Continues from the current page; or opens the nearest address on the way, either of a link or one whose reopening gave
        the same state; or replays from the start. Errors: ``risk.refused``, ``action.*``, ``browser.*``.
        """
        return await self._go(steps, by_address=True)

    async def press(self, steps: Sequence[WalkStep]) -> Observation:
        """As ``reach``, but performs each action on the way, now or earlier, as the replay of a claim does."""
        return await self._go(steps, by_address=False)

    def was_pressed(self, steps: Sequence[WalkStep]) -> bool:
        """True if each action on the way was performed."""
        return all(step.key in self._pressed for step in steps)

    async def _go(self, steps: Sequence[WalkStep], *, by_address: bool) -> Observation:
        self._done = 0
        self._done = await self._approach(steps, by_address=by_address)
        for step in steps[self._done :]:
            await self.advance(step, by_address=by_address)
            self._done += 1
        assert self._driver.observation is not None
        return self._driver.observation

    async def _approach(self, steps: Sequence[WalkStep], *, by_address: bool) -> int:
        """Go to the end of some prefix of ``steps``. Returns its length."""
        keys, here = tuple(step.key for step in steps), self._path
        if here is not None and keys[: len(here)] == here and (by_address or self.was_pressed(steps[: len(here)])):
            return len(here)
        for length in range(len(steps), 0, -1):
            key = keys[length - 1]
            if not by_address and not self.was_pressed(steps[:length]):
                continue
            known = self._known.get(key)
            if known is not None and known.works is not False:
                if await self._reopen(known, keys[:length]):
                    return length
            elif known is None and key in self._addresses and await self._follow(keys[:length]):
                return length
        self._driver.observation = None
        await self._do(self._start)
        self._path = ()
        return 0

    async def _reopen(self, known: Reopening, path: tuple[bytes, ...]) -> bool:
        try:
            outcome = await self._do(Goto(url=known.url), expect=known.state)
        except MeshError as error:
            if error.code in _GONE:
                raise
            known.works = False
            return False
        known.works = outcome.observation.state == known.state
        if known.works:
            self._path = path
        return known.works

    async def _follow(self, path: tuple[bytes, ...]) -> bool:
        """Open the address of a link that nobody has opened yet, instead of pressing it. True if it opened."""
        url = self._addresses[path[-1]]
        try:
            outcome = await self._do(Goto(url=url))
        except MeshError as error:
            if error.code in _GONE:
                raise
            self._known[path[-1]] = Reopening(url=url, state=b"", works=False)
            return False
        self._known[path[-1]] = Reopening(url=url, state=outcome.observation.state, works=True)
        self._path = path
        return True

    async def advance(self, step: WalkStep, *, by_address: bool = True) -> Observation:
        """Perform one more step from the current page; a seen link is followed by its address.

        Errors: ``risk.refused``, also if the action only tried to change something; ``action.*``, ``browser.*``.
        """
        before = self._driver.observation
        assert before is not None and self._path is not None
        path = (*self._path, step.key)
        if by_address and step.key in self._addresses and step.key not in self._known and await self._follow(path):
            assert self._driver.observation is not None
            return self._driver.observation
        if self._path is None:  # the address did not open
            raise MeshError("browser.navigation", "the address of a link did not open")
        unsure = self.unconfirmed
        outcome = await self._do(step.action, expect=self._states.get(step.key, b""))
        outcome = await self._confirmed(step, before, outcome, unsure)
        page = outcome.observation
        self._path = path
        self._pressed.add(step.key)
        self._states[step.key] = page.state
        if page.url != before.url and step.key not in self._known:
            self._known[step.key] = Reopening(url=page.url, state=page.state)
        return page

    async def _confirmed(
        self, step: WalkStep, before: Observation, outcome: ActionOutcome, unsure: bool
    ) -> ActionOutcome:
        """``outcome`` of ``step``; or the page opened again by its address, if it may show a change that was not made.

        Errors: ``risk.refused`` if the action did nothing but try to change something.
        """
        lines = self._writes(outcome)
        after = outcome.observation
        if not lines and not unsure:
            return outcome
        moved = after.url.rstrip("#") != before.url.rstrip("#")
        if moved:
            outcome = await self._do(Reload())
            lines = tuple(line for line in lines if line not in self._by_itself)
        if lines:
            self._note(step, lines)
        if moved:
            return outcome
        if lines and not has_opened(before, after):
            told = ", ".join(self._plain(_Unsent(lines=lines, action=step.action)).lines)
            raise MeshError("risk.refused", f"it would send {told}, and does nothing else")
        self.unconfirmed = True
        return outcome

    def _note(self, step: WalkStep, lines: tuple[str, ...]) -> None:
        unsent = self._plain(_Unsent(lines=lines, action=step.action))
        told = f"{', '.join(unsent.lines)}, by {describe(unsent.action)}"[: limits.REASON_CHARS_MAX]
        if told not in self._would_send and len(self._would_send) < limits.SEARCH_REFUSED_MAX:
            self._would_send.append(told)

    def _plain(self, unsent: _Unsent) -> _Unsent:
        """``unsent``, redacted for showing and storing."""
        return redacted(unsent, Redaction(self._secrets))

    def _writes(self, outcome: ActionOutcome) -> tuple[str, ...]:
        """The refused requests of an action that may change something."""
        found = zip(outcome.blocked, outcome.blocked_by, strict=True)
        return tuple(line for line, rule in found if may_change(rule) and line not in self._by_itself)

    async def _do(self, action: Action, *, expect: bytes = b"") -> ActionOutcome:
        # Until the action has succeeded, the position of the page is unknown.
        self._path = None
        self._count_step()
        here = self._driver.observation.url if self._driver.observation else ""
        outcome = await self._driver.act(action, expect=expect or None)
        if isinstance(action, Goto | Reload):
            self._by_itself |= set(outcome.blocked)
            if self.unconfirmed and isinstance(action, Goto) and _whole(here) == _whole(action.url) != action.url:
                # For another fragment, a browser does not load anything.
                outcome = await self._driver.act(Reload())
            self.unconfirmed = False
        return outcome

    def forget(self) -> int:
        """Distrust the page's position. Returns how many steps of the last path had succeeded."""
        self._path = None
        return self._done


def _whole(url: str) -> str:
    """An address without its fragment."""
    return url.partition("#")[0]
