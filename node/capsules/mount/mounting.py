"""Mounts capsules in browsers, and ends work when its capsule may no longer be used.

Before a browser starts, it checks the caller, the address where the work begins, and everything that ``Capsules.using`` checks.
While the browser runs, it checks again every ``CAPSULE_CHECK_S`` seconds, and ends the work at once when the capsule is revoked.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator

import msgspec

from adapters.capsule_records import CapsuleRecord
from adapters.ports.browser import BrowserState
from node.base.tasks import to_its_end
from node.capsules.seal.basic_login import answers_of
from node.capsules.seal.browser_state import from_browser, to_browser
from node.capsules.seal.capsules import Capsules
from node.capsules.seal.sealing import within
from node.capsules.seal.uses import Mounted, Wanted
from node.live.browsers import End, LoginShown, Mount, NewestState, Wish
from node.verbs import CallerKind, current_caller
from protocol import limits
from protocol.capsule.capsule import CapsuleHeader
from protocol.capsule.hidden import hidden_values
from protocol.capsule.policy import Policy, Task
from protocol.capsule.state import CapsuleState
from protocol.errors import MeshError
from protocol.page.secrets.secret_search import Search
from protocol.recording.records.session import LAUNCHED, BrowserInfo, UsedLogin
from protocol.risk.pressing.classes import APPROVAL_CLASS
from protocol.risk.pressing.pressing import reading
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import ANY, common, fits, origin_of

log = logging.getLogger(__name__)


Running = Callable[[], Awaitable[BrowserInfo]]
"""Returns the browser in which work is done. Errors: ``browser.*``."""


async def _unknown() -> BrowserInfo:
    raise MeshError("browser.no_profile")


class Mounting:
    """Opens capsules for work in browsers. Implements ``node.live.Mounts``."""

    def __init__(
        self, capsules: Capsules, browser: Running = _unknown, *, check_s: float = limits.CAPSULE_CHECK_S
    ) -> None:
        """browser: returns the browser that runs. check_s: seconds between two checks of a lasting use."""
        self._capsules, self._kept, self._check_s = capsules, capsules.kept, check_s
        self._browser = browser
        self._running: dict[str, set[End]] = {}
        capsules.endings.follow(self.ended)

    @property
    def running(self) -> int:
        """The number of mounted capsules."""
        return len(self._running)

    @contextlib.asynccontextmanager
    async def mount(self, capsule: str, wish: Wish, over: End) -> AsyncIterator[Mount]:
        """Implements ``node.live.Mounts.mount``."""
        record = await self._granted(capsule, wish.task)
        header = self._kept.open(record).header
        guard = _narrowed(wish.guard, header.policy, wish.start_url)
        await self._check_version(header)
        wanted = Wanted(
            origins=guard.origins,
            task=wish.task,
            level=_level(wish, header.policy),
            holder=self._kept.clock.random(16).hex(),
            seconds=limits.CAPSULE_LEASE_S_MAX,
            work=wish.work,
        )
        ended: list[MeshError] = []

        def end(error: MeshError) -> None:
            ended.append(error)
            over(error)

        # Noted before the state is opened, so that a revocation also ends a mount that has only begun.
        with self._noted(header.id, end):
            async with self._capsules.using(header.id, wanted) as used:
                begun = await asyncio.to_thread(to_browser, used.state, now_s=self._kept.clock.now_ms() // 1000)
                kept = NewestState(begun)
                hidden = await asyncio.to_thread(hidden_values, used.state)
                finds = asyncio.create_task(asyncio.to_thread(Search, hidden), name=f"preparing to hide {header.id}")
                try:
                    mount = Mount(
                        guard=guard,
                        capsule=header.id,
                        kept=kept,
                        origins=header.policy.origins,
                        hidden=hidden,
                        finds=finds,
                        answers=answers_of(within(used.state, header.policy.origins)),
                        renewed=_renewed,
                        class_max=used.header.policy.class_max,
                        own=header.tenant == self._kept.witness.node,
                        probes=header.policy.probes and not _asks_here(wish.task),
                        login=LoginShown(header.id, record.page, record.probe, over) if record.probe.decides else None,
                        used=UsedLogin(
                            name=header.name,
                            tenant=header.tenant,
                            generation=used.header.generation,
                            policy=header.policy,
                        ),
                    )
                    if ended:
                        raise ended[0]
                    watch = asyncio.create_task(self._watch(used, wanted, end), name=f"watching {header.id}")
                    try:
                        yield mount
                    finally:
                        watch.cancel()
                        if kept.state is not begun:
                            await to_its_end(self._keep(used, kept))
                finally:
                    finds.cancel()

    async def _check_version(self, header: CapsuleHeader) -> None:
        """Check that the browser can read the slice of a capsule, if it has one.

        Called before the use is counted, and again for the browser that was started. Errors: ``capsule.slice_version``,
        ``browser.*`` (``browser.no_profile``: it is somebody else's).
        """
        if not header.slice_version:
            return
        found = await self._browser()
        if found.backend != LAUNCHED:
            raise MeshError("browser.no_profile")
        if header.slice_version != found.version:
            told = f"{found.version}, and the files are of {header.slice_version}"
            raise MeshError("capsule.slice_version", told, capsule=header.id)

    async def _granted(self, capsule: str, task: str) -> CapsuleRecord:
        """The capsule, if the caller may have it. An agent does not learn of capsules other than its own.

        Errors: ``caller.refused``, ``input.not_found``, ``input.invalid``, ``capsule.revoked``.
        """
        caller, found = current_caller(), None
        try:
            found = await self._kept.find(capsule)
        except MeshError as error:
            known = error.code == "capsule.revoked" and caller.may_mount(error.detail["capsule"], task)
            if known or caller.kind is not CallerKind.AGENT or not error.code.startswith(("input.", "capsule.")):
                raise
        if found is not None and caller.kind is CallerKind.AGENT and not found.grants(caller.since_ms):
            found = None  # the grant was given under an older policy
        if found is None or not caller.may_mount(found.id, task):
            told = f"this agent was granted no such capsule for the work “{task}”"
            raise MeshError("caller.refused", told, caller=str(caller))
        return found

    async def proposes(self, url: str, task: Task) -> str:
        """Implements ``node.live.Mounts.proposes``."""
        if current_caller().kind is not CallerKind.OWNER:
            return ""  # a caller who cannot name a capsule does not learn of any
        try:
            return await self._kept.proposed(origin_of(url), task)
        except MeshError as error:
            log.warning("no capsule can be proposed: %s", error.code)
            return ""

    async def own(self, url: str, task: Task) -> str:
        """Implements ``node.live.Mounts.own``."""
        return await self._kept.own_login(origin_of(url), task)

    @contextlib.contextmanager
    def _noted(self, capsule_id: str, end: End) -> Iterator[None]:
        running = self._running.setdefault(capsule_id, set())
        running.add(end)
        try:
            yield
        finally:
            running.discard(end)
            if not running:
                self._running.pop(capsule_id, None)

    async def _watch(self, used: Mounted, wanted: Wanted, over: End) -> None:
        """Call ``over`` once the use may not go on."""
        try:
            while True:
                await self._kept.clock.sleep(self._check_s)
                await self._capsules.still(used, wanted)
        except MeshError as error:
            log.warning("work with %s ends: %s", used.header.id, error)
            over(error if error.code.startswith("capsule.") else MeshError("capsule.revoked", error.message))
        except Exception:
            over(MeshError("capsule.revoked", "it cannot be judged again"))
            raise

    async def _keep(self, used: Mounted, kept: NewestState) -> None:
        """Seal the state of the browser at its end, if it is newer.

        Never raises: the work is done. Leaves out capsules of peers, which only the peer seals, and exported ones, because a new
        generation would end their copies.
        """
        header = used.header
        try:
            record = await self._kept.store.capsule(header.id)
            if record is None or record.exported or header.tenant != self._kept.witness.node:
                return
            newer = await asyncio.to_thread(from_browser, kept.state, used.state)
            await self._capsules.renew_if_newer(header.id, newer, used.state)
        except MeshError as error:
            log.warning("newer state of %s was not kept: %s", header.id, error.code)

    async def ended(self, capsule_id: str) -> None:
        """A capsule was revoked or removed: end the work that uses it."""
        for over in tuple(self._running.get(capsule_id, ())):
            over(MeshError("capsule.revoked", capsule=capsule_id))


def _asks_here(task: Task) -> bool:
    """True if somebody other than the owner of this login wrote the steps. The owner is then asked about everything that may do
    more than read. A search needs no such care, because it presses no control with grave words.
    """
    return task != "explore" and current_caller().kind is CallerKind.PEER


def _renewed(state: BrowserState) -> Iterable[str]:
    return hidden_values(from_browser(state, CapsuleState())).values()


def _narrowed(guard: GuardPolicy, policy: Policy, start_url: str) -> GuardPolicy:
    """``guard``, limited to the origins of a capsule. Errors: ``capsule.origin``."""
    origins = common(guard.origins or (ANY,), policy.origins)
    if not origins:
        raise MeshError("capsule.origin", "this node, or its caller, may contact none of the capsule's origins")
    if not fits(origins, origin_of(start_url)):
        raise MeshError(
            "capsule.origin", f"the work begins at {origin_of(start_url) or 'no site'}", origins=list(origins)
        )
    narrowed = msgspec.structs.replace(guard, origins=origins, capsule=True, class_max=policy.class_max)
    # The configuration may let the owner's own work write. The issuer of a capsule for reading did not allow that.
    peer = current_caller().kind is CallerKind.PEER
    return reading(narrowed) if peer or policy.class_max < APPROVAL_CLASS else narrowed


def _level(wish: Wish, policy: Policy) -> int:
    """The highest class that the work may perform: the configured class, limited by the capsule's. A class that the caller
    approves is not limited here, so that one above the capsule's is an error.
    """
    approved = max(wish.approve_class, APPROVAL_CLASS if wish.allows else 0)
    return max(1, approved, min(wish.risk_max, policy.class_max))
