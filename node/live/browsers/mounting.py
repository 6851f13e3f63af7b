"""The effect of a mounted capsule on work in a browser. The room of capsules implements ``Mounts``.

The guard is narrowed to the capsule's origins before a context exists. The context begins with the capsule's state. The values of
the state are redacted from everything that is stored or shown. No action above the capsule's class is performed. The caller of the
work never gets the state.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final, Literal, Protocol

import msgspec

from adapters.ports.browser import BrowserState, Context
from node.base.tasks import interruptible
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
    """The work for which a capsule should be mounted."""

    task: Task
    guard: GuardPolicy
    """The guard without a capsule."""
    start_url: str
    risk_max: int
    """The highest class that the configuration allows."""
    approve_class: int = 0
    """The highest class that the caller approves for this work."""
    allows: bool = False
    """True if the caller allows requests that may write."""
    work: str = ""
    """The id of the live session or search, told to others that find the capsule in use."""


class NewestState:
    """The newest state of a login in use. It exists in memory only."""

    def __init__(self, state: BrowserState) -> None:
        self.state = state

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """The guard, state and secrets with which work begins; without a capsule, only the guard."""

    guard: GuardPolicy
    capsule: str = ""
    """Id of the capsule."""
    kept: NewestState | None = None
    origins: tuple[str, ...] = ()
    """Patterns of all origins of the capsule; the guard may allow fewer."""
    hidden: Mapping[str, str] = {}
    """Values of the state that no text and no picture may show, under names that reveal nothing about them."""
    finds: asyncio.Task[Search] | None = None
    """The task that builds the search for ``hidden``. It runs in a thread while the browser opens, because many values take long.
    """
    answers: Mapping[str, Basic] = {}
    """The answer to HTTP basic authentication, by origin."""
    renewed: Callable[[BrowserState], Iterable[str]] | None = None
    """Returns the values of a state that must be hidden like ``hidden``; None without a capsule."""
    class_max: int = 7
    probes: bool = True
    """True if controls may be pressed that are not known to only read."""
    own: bool = False
    """True for a capsule of this node."""
    login: LoginShown | None = None
    """Judges the first page of each context; None if no probe can tell that the login works."""
    used: UsedLogin | msgspec.UnsetType = msgspec.UNSET
    """The login as a recording names it."""

    @property
    def state(self) -> BrowserState | None:
        """The state with which a context begins."""
        return self.kept.state if self.kept else None

    def begin_with(self, state: BrowserState | None) -> None:
        """Let the next context begin with ``state``, and seal only a state that is newer."""
        if self.kept is not None and state is not None:
            self.kept.state = state

    async def leave(self, context: Context) -> None:
        """Keep the state of ``context`` before it is closed: the site may have renewed or ended the login. Never raises."""
        if self.kept is None or (self.login is not None and self.login.dead):
            return
        try:
            self.kept.state = await context.last_state(self.origins)
        except MeshError as error:
            log.warning("the state of a login was not read again: %s", error)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.capsule!r})"

    def secrets(self, given: Secrets) -> Secrets:
        """``given`` together with the values that the capsule hides and its answers to basic authentication; ``given`` takes
        precedence.
        """
        if not self.hidden:
            return given
        found = self.finds.result() if self.finds and self.finds.done() else None
        return given.hiding(self.hidden, found).answering(self.answers)

    async def ready(self) -> None:
        """Wait until ``secrets`` returns without delay."""
        if self.finds is not None:
            await self.finds

    async def hiding(self, given: Secrets) -> Secrets:
        """As ``secrets``, after the search for them was built, which takes long for a login with many values."""
        await self.ready()
        return self.secrets(given)

    async def makes(self, context: Context) -> Iterable[str]:
        """The values of the login in ``context`` as the site has renewed it; they are sealed at the end. Errors: ``browser.*``."""
        if self.renewed is None:
            return ()
        return await asyncio.to_thread(self.renewed, await context.state(whole=True))

    def gate(self, gate: Gate) -> Gate:
        """``gate``, narrowed to the limits of the capsule."""
        if not self.capsule:
            return gate
        risk_max = min(gate.risk_max, self.class_max)
        wall = None if gate.wall is None else self.guard
        # A script could read what the capsule hides, and tell it in a form that no search finds.
        scripts: Literal["named", "none"] = "named" if self.own and gate.scripts != "none" else "none"
        return msgspec.structs.replace(
            gate, class_max=self.class_max, risk_max=risk_max, wall=wall, sure=not self.probes, scripts=scripts
        )


class Mounts(Protocol):
    """Opens capsules for work."""

    def mount(self, capsule: str, wish: Wish, over: End) -> contextlib.AbstractAsyncContextManager[Mount]:
        """The capsule in use, until the end of the block. over: called when it may no longer be used.

        Errors: ``capsule.*``, ``input.not_found``, ``caller.refused``, ``keylog.*``, ``log.rollback``, ``store.*``.
        """

    async def proposes(self, url: str, task: Task) -> str:
        """The name of the newest capsule that the caller could have used at ``url``, or its id if the name is not unique; empty if
        there is none. Never raises.
        """

    async def own(self, url: str, task: Task) -> str:
        """The id of the newest capsule for work at ``url`` that belongs to this node and not to a peer. Errors: ``work.no_login``,
        ``store.*``.
        """


class CapsuleNames(Protocol):
    """Translates between ids and names of capsules. Grants keep the id, because a name can pass to another capsule."""

    async def id_of(self, text: str) -> str:
        """The id of the capsule with this name or id. Errors: ``input.not_found``, ``input.invalid``, ``store.*``."""

    async def name_of(self, capsule_id: str) -> str:
        """The name of a capsule; empty if it is missing or no longer valid. Errors: ``store.*``."""

    async def grants(self, capsule_id: str, since_ms: int) -> bool:
        """True if an agent that was granted the capsule at ``since_ms`` may still use it: it exists, is valid, and was not widened
        since. Errors: ``store.*``.
        """


class NoCapsules:
    """Holds no capsules. Implements ``Mounts`` and ``CapsuleNames``."""

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
    """Returns a ``Mounts`` without capsules for any browser."""
    return NO_CAPSULES


@contextlib.asynccontextmanager
async def mounted(mounts: Mounts, capsule: str, wish: Wish) -> AsyncIterator[Mount]:
    """The mount of ``capsule``; for an empty id, the mount of work without a capsule.

    The block ends with an error when the capsule may no longer be used. Errors: those of ``Mounts.mount``.
    """
    if not capsule:
        yield Mount(guard=wish.guard)
        return
    async with interruptible() as end, mounts.mount(capsule, wish, end) as mount:
        yield mount
