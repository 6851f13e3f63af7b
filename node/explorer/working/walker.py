"""Drives one page along the branches of a search tree, by the shortest way that leads to the same state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from adapters.ports import Outcome, Page
from node.explorer.sharing.visit import WalkStep
from node.explorer.working.mounted import Makes
from node.live import Driver, Gate, Probing
from protocol.errors import MeshError
from protocol.page.action import Action, Goto
from protocol.page.observation import Observation
from protocol.page.secrets import NO_SECRETS, Secrets


class Reopening(msgspec.Struct):
    """What is known about opening a tree node's address directly."""

    url: str
    state: bytes
    works: bool | None = None
    """None: not tried yet."""


class Walker:
    """A page and where it stands. One task at a time."""

    def __init__(
        self,
        page: Page,
        start_url: str,
        gate: Gate,
        count_step: Callable[[], None],
        probing: Probing | None = None,
        secrets: Secrets = NO_SECRETS,
        makes: Makes | None = None,
    ) -> None:
        """probing: finds out what a step does that is in doubt; None where nothing is tried. secrets, makes: as ``Worker``."""
        self.page, self._secrets, self._makes = page, secrets, makes
        self._driver = Driver(page, gate, secrets)
        self._probing = probing
        self._way: tuple[Action, ...] = ()
        self._start = Goto(url=start_url)
        self._count_step = count_step
        self._path: tuple[bytes, ...] | None = None
        self._known: dict[bytes, Reopening] = {}
        self._done = 0

    async def reach(self, steps: Sequence[WalkStep]) -> Observation:
        """The page at the end of ``steps``.

        Goes on from where it stands, or reopens the nearest address on the way whose reopening gave the same state, or replays
        from the start. Errors: ``risk.refused``, ``action.*``, ``browser.*``.
        """
        keys = tuple(step.key for step in steps)
        self._done = 0
        self._done = await self._approach(steps, keys)
        for step in steps[self._done :]:
            await self.advance(step)
            self._done += 1
        assert self._driver.observation is not None
        return self._driver.observation

    async def _approach(self, steps: Sequence[WalkStep], keys: tuple[bytes, ...]) -> int:
        """Stand at some prefix of ``steps``; how long it is."""
        here = self._path
        if here is not None and keys[: len(here)] == here:
            return len(here)
        for length in range(len(steps), 0, -1):
            known = self._known.get(keys[length - 1])
            if known is None or known.works is False:
                continue
            if await self._reopen(known, keys[:length]):
                self._way = (self._start, *(step.action for step in steps[:length]))
                return length
        self._driver.observation = None
        await self._do(self._start)
        self._path, self._way = (), (self._start,)
        return 0

    async def _reopen(self, known: Reopening, path: tuple[bytes, ...]) -> bool:
        try:
            outcome = await self._do(Goto(url=known.url), expect=known.state)
        except MeshError as error:
            if error.code in ("browser.crashed", "browser.unreachable"):
                raise
            known.works = False
            return False
        known.works = outcome.observation.state == known.state
        if known.works:
            self._path = path
        return known.works

    async def advance(self, step: WalkStep) -> Outcome:
        """Perform one more step from where the page stands. Errors: ``risk.refused``, ``action.*``, ``browser.*``."""
        assert self._driver.observation is not None and self._path is not None
        before = self._driver.observation.url
        path = (*self._path, step.key)
        # A peer may have named it that has found out what it does; or this node has, and has forgotten it.
        await self.settle([step.action])
        outcome = await self._do(step.action, expect=step.state)
        self._path, self._way = path, (*self._way, step.action)
        if outcome.observation.url != before and step.key not in self._known:
            self._known[step.key] = Reopening(url=outcome.observation.url, state=outcome.observation.state)
        return outcome

    async def settle(self, actions: Iterable[Action], *, at_leisure: bool = False) -> bool:
        """Find out what those of ``actions`` do that are in doubt on the page at hand; whether any was tried."""
        page, probing = self._driver.observation, self._probing
        if page is None or probing is None:
            return False
        return await probing.settle(page, self._way, actions, at_leisure=at_leisure)

    def left(self, actions: Iterable[Action]) -> bool:
        """Whether there was no time to try some of ``actions`` on the page at hand."""
        page, probing = self._driver.observation, self._probing
        return page is not None and probing is not None and probing.left(page, actions)

    async def _do(self, action: Action, *, expect: bytes = b"") -> Outcome:
        # Until the action has succeeded, the position of the page is unknown.
        self._path = None
        self._count_step()
        outcome = await self._driver.act(action, expect=expect or None)
        if self._makes is None:
            return outcome
        # Nothing that the page says goes into the tree before it is known what the site has renewed.
        self._driver.observation = None
        seen = outcome.observation
        if self._secrets.note_login(await self._makes()):
            seen = await self.page.observe()
        self._driver.observation = seen
        return msgspec.structs.replace(outcome, observation=seen)

    def forget(self) -> int:
        """Trust the page's position no more; how many steps of the last path had succeeded."""
        self._path = None
        return self._done
