"""What a mounted capsule changes about work in a browser. Whoever keeps capsules implements ``Mounts``.

The guard is narrowed to the capsule's origins before there is a context; the context begins with the state; its values are taken
out of everything that is stored or shown; no action above the capsule's class is performed. Who does the work never gets the state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final, Protocol

import msgspec

from adapters.ports import BrowserState, Context
from node.base import interruptible
from node.live.acting.gate import Gate
from node.live.browsers.first_look import LoginShown
from node.live.browsers.metering import End
from protocol.capsule.policy import Task
from protocol.errors import MeshError
from protocol.page.secrets.secret_search import Search
from protocol.page.secrets.secrets import Basic, Secrets
from protocol.recording.records.session import UsedLogin
from protocol.risk.requests.requests import GuardPolicy

log = logging.getLogger(__name__)


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """The work that a capsule is to be mounted for."""

    task: Task
    guard: GuardPolicy
    """As it is without a capsule."""
    start_url: str
    risk_max: int
    """The highest class that the configuration allows."""
    approve_class: int = 0
    """The highest class that the caller approves for this work."""
    allows: bool = False
    """Whether the caller allows requests that may write."""
    work: str = ""
    """What is told of it to who finds the capsule in use: the id of a live session or of a search."""


class NewestState:
    """The newest state of a login that is in use. It stands in memory only."""

    def __init__(self, state: BrowserState) -> None:
        self.state = state

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """What work begins with; without a capsule nothing but its guard."""

    guard: GuardPolicy
    capsule: str = ""
    """Id of the capsule."""
    kept: NewestState | None = None
    origins: tuple[str, ...] = ()
    """Patterns of all that the capsule is for; the guard may let pass fewer."""
    hidden: Mapping[str, str] = {}
    """Values of the state that no text and no picture may show, by a name that says nothing of them."""
    finds: asyncio.Task[Search] | None = None
    """What finds ``hidden``: made beside the opening of the browser, in a thread, as it takes long for many values."""
    answers: Mapping[str, Basic] = {}
    """By origin, what answers HTTP basic authentication."""
    renewed: Callable[[BrowserState], Iterable[str]] | None = None
    """What of a state is to be hidden like that; None without a capsule."""
    class_max: int = 7
    probes: bool = True
    """True if anything may be pressed that is not known to read only."""
    login: LoginShown | None = None
    """Judges the first page of each context; None where nothing tells the login from none."""
    used: UsedLogin | msgspec.UnsetType = msgspec.UNSET
    """What a recording says of it."""

    @property
    def state(self) -> BrowserState | None:
        """What a context begins with."""
        return self.kept.state if self.kept else None

    def begin_with(self, state: BrowserState | None) -> None:
        """Let the next context begin with ``state``, and seal nothing newer than that."""
        if self.kept is not None and state is not None:
            self.kept.state = state

    async def leave(self, context: Context) -> None:
        """Keep what ``context`` holds, before it is closed: the site may have renewed or ended the login. Never raises."""
        if self.kept is None or (self.login is not None and self.login.dead):
            return
        try:
            self.kept.state = await context.last_state(self.origins)
        except MeshError as error:
            log.warning("the state of a login was not read again: %s", error)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.capsule!r})"

    def secrets(self, given: Secrets) -> Secrets:
        """``given``, what the capsule hides, and what answers for it where ``given`` has nothing."""
        if not self.hidden:
            return given
        found = self.finds.result() if self.finds and self.finds.done() else None
        return given.hiding(self.hidden, found).answering(self.answers)

    async def ready(self) -> None:
        """Wait until ``secrets`` takes no time."""
        if self.finds is not None:
            await self.finds

    async def hiding(self, given: Secrets) -> Secrets:
        """As ``secrets``, and ready to be searched for: to make that ready takes long where a login has many values."""
        await self.ready()
        return self.secrets(given)

    async def makes(self, context: Context) -> Iterable[str]:
        """The values of the login as the site has renewed it in ``context``, which are sealed at its end. Errors: ``browser.*``."""
        if self.renewed is None:
            return ()
        return await asyncio.to_thread(self.renewed, await context.state(whole=True))

    def gate(self, gate: Gate) -> Gate:
        """``gate``, but for what the capsule does not allow."""
        if not self.capsule:
            return gate
        risk_max = min(gate.risk_max, self.class_max)
        wall = None if gate.wall is None else self.guard
        return msgspec.structs.replace(
            gate, class_max=self.class_max, risk_max=risk_max, wall=wall, sure=not self.probes
        )


class Mounts(Protocol):
    """Opens capsules for work."""

    def mount(self, capsule: str, wish: Wish, over: End) -> contextlib.AbstractAsyncContextManager[Mount]:
        """A capsule in use, until the end of the block. over: called once it may not be used any longer.

        Errors: ``capsule.*``, ``input.not_found``, ``caller.refused``, ``keylog.*``, ``log.rollback``, ``store.*``.
        """

    async def proposes(self, url: str, task: Task) -> str:
        """The name of the newest capsule that the caller could have used at ``url``, or its id where others are called the same;
        empty if there is none. Never raises.
        """

    async def own(self, url: str, task: Task) -> str:
        """Id of the newest capsule of this node's own (of no peer) for work at ``url``. Errors: ``work.no_login``, ``store.*``."""


class CapsuleNames(Protocol):
    """Tells ids and names of capsules apart. What is granted is kept by id: a name can get another capsule later."""

    async def id_of(self, text: str) -> str:
        """The id of the capsule with this name or id. Errors: ``input.not_found``, ``input.invalid``, ``store.*``."""

    async def name_of(self, capsule_id: str) -> str:
        """The name of a capsule; empty if it is not here, or does not hold. Errors: ``store.*``."""

    async def grants(self, capsule_id: str, since_ms: int) -> bool:
        """True if an agent that was granted it then may still use it: it is here, holds, and was not widened since. Errors:
        ``store.*``."""


class NoCapsules:
    """Nobody keeps capsules. Implements ``Mounts`` and ``CapsuleNames``."""

    async def id_of(self, text: str) -> str:
        """Implements ``CapsuleNames.id_of``."""
        raise MeshError("input.not_found", "there are no capsules here")

    async def name_of(self, capsule_id: str) -> str:
        """Implements ``CapsuleNames.name_of``."""
        return ""

    async def grants(self, capsule_id: str, since_ms: int) -> bool:
        """Implements ``CapsuleNames.grants``."""
        return False

    def mount(self, capsule: str, wish: Wish, over: End) -> contextlib.AbstractAsyncContextManager[Mount]:
        """Implements ``Mounts.mount``."""
        raise MeshError("input.not_found", "there are no capsules here")

    async def proposes(self, url: str, task: Task) -> str:
        """Implements ``Mounts.proposes``."""
        return ""

    async def own(self, url: str, task: Task) -> str:
        """Implements ``Mounts.own``."""
        raise MeshError("work.no_login")


NO_CAPSULES: Final = NoCapsules()


def no_capsules(browsers: object) -> Mounts:
    """Makes what opens no capsules in any browser."""
    return NO_CAPSULES


@contextlib.asynccontextmanager
async def mounted(mounts: Mounts, capsule: str, wish: Wish) -> AsyncIterator[Mount]:
    """What work with ``capsule`` begins with; with an empty text, what it begins with anyway.

    The block ends with an error once the capsule may not be used any longer. Errors: those of ``Mounts.mount``.
    """
    if not capsule:
        yield Mount(guard=wish.guard)
        return
    async with interruptible() as end, mounts.mount(capsule, wish, end) as mount:
        yield mount
