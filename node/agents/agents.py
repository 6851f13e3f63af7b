"""Agents: programs that call with their own token. Keeps them, their remaining budgets and their calls in progress.

Checks on a call, in order: form of the token; delay after many wrong tokens; token; expiry; number of calls in progress; budget of
calls. A call is counted before it runs, so that a crash cannot restore the budget; only `live.close` is allowed beyond it. When the
token is removed or expires, or the browser time is used up, the agent's calls are ended at once, as if it had disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Final

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.records import AgentRecord
from adapters.ports.store import Store
from node.agents.browser_time import BrowserTime, End
from node.agents.tokens import AgentTokens, caller_of
from node.base.tasks import interruptible
from node.live.browsers import NO_CAPSULES, CapsuleNames
from node.signing import Feed
from node.verbs import Bound, Caller, CallerKind, current_caller
from node.verbs.live import live
from node.verbs.nodes import agent as verbs
from node.verbs.nodes.agent import AGENT_TASKS, Added, AddParams, Agent, AgentList, NameParams, RemovedAgent, State
from protocol import limits
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.refusals import CONTROL, Refusals
from protocol.trust.agent_token import make_token
from protocol.trust.origin import ANY, parse_pattern, widest

_DAY_MS: Final = 86_400_000
_SLEEP_S_MAX: Final = 3_600.0
"""Longest sleep before an expiry is checked again. Timers stop while the machine is suspended, but the expiry does not."""


class _Use(msgspec.Struct, eq=False):
    """Work in progress of an agent: a call or a browser run."""

    agent: AgentRecord
    end: End
    is_call: bool


_call: ContextVar[_Use | None] = ContextVar("call of an agent", default=None)


class Agents:
    """The room of agents."""

    def __init__(
        self, store: Store, clock: Clock, refusals: Refusals, feed: Feed, capsules: CapsuleNames = NO_CAPSULES
    ) -> None:
        self._store, self._clock, self._refusals, self._feed = store, clock, refusals, feed
        self._capsules = capsules
        self._told_ms: dict[tuple[str, FeedKind], int] = {}
        """When the feed was told last that an agent was refused, for each kind of refusal."""
        self._uses: set[_Use] = set()
        self._tokens = AgentTokens(store, clock)
        self._adding = asyncio.Lock()
        self.bound: Bound = {
            verbs.ADD: lambda params, tell: self.add(params),
            verbs.LIST: lambda params, tell: self.listed(),
            verbs.REMOVE: lambda params, tell: self.remove(params),
        }

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def add(self, asked: AddParams) -> Added:
        """Create an agent and its token. Errors: ``input.invalid`` (malformed origin or capsule, name in use, too many
        agents), ``input.not_found`` (no such capsule), ``store.*``."""
        origins = widest(parse_pattern(text) for text in asked.origins)
        now_ms = self._clock.now_ms()
        token = make_token(asked.name, self._clock.random(limits.AGENT_TOKEN_BYTES))
        agent = AgentRecord(
            name=asked.name,
            token_hash=hashlib.sha256(token.encode()).digest(),
            scopes=tuple(sorted(set(asked.scopes))),
            origins=() if ANY in origins else origins,
            capsules=await self._granted(asked.capsules),
            created_ms=now_ms,
            expires_ms=now_ms + (asked.expires_s * 1_000 or limits.AGENT_DAYS_USUAL * _DAY_MS),
            calls_max=asked.calls,
            browser_ms_max=asked.browser_seconds * 1_000,
        )
        # One at a time, so that two calls cannot both pass the limit.
        async with self._adding:
            if len(await self._store.agents()) >= limits.AGENTS_MAX:
                raise MeshError("input.invalid", f"there are already {limits.AGENTS_MAX} agents: remove one first")
            if not await self._store.add_agent(agent):
                raise MeshError(
                    "input.invalid", f"the agent {agent.name} already exists: remove it, or choose another name"
                )
        for kind in set(_REFUSALS.values()):
            self._told_ms.pop((agent.name, kind), None)  # of an agent of the same name that was removed
        await self._feed.tell(FeedKind.AGENT_ADDED, agent.name)
        return Added(**msgspec.structs.asdict(await self._shown(agent)), token=token)

    async def _granted(self, texts: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The capsules by id, so that a capsule that later gets the same name is not granted. Errors: ``input.invalid``,
        ``input.not_found``.
        """
        granted: dict[str, tuple[str, ...]] = {}
        for text in texts:
            name, given, kinds = text.partition("=")
            tasks = tuple(sorted(set(kinds.split(",")))) if given else AGENT_TASKS
            if unknown := set(tasks) - set(AGENT_TASKS):
                raise MeshError("input.invalid", f"no kind of work for an agent: {min(unknown)[:40] or 'nothing'}")
            granted[await self._capsules.id_of(name)] = tasks
        return tuple(sorted(granted.items()))

    async def listed(self) -> AgentList:
        """All agents, by name. Errors: ``store.*``."""
        return AgentList(agents=tuple([await self._shown(agent) for agent in await self._store.agents()]))

    async def remove(self, asked: NameParams) -> RemovedAgent:
        """Remove an agent and end its work in progress. Errors: ``input.not_found``, ``store.*``."""
        if not await self._store.remove_agent(asked.name):
            raise MeshError("input.not_found", f"no agent {asked.name}")
        ended = [use for use in self._uses if use.agent.name == asked.name]
        for use in ended:
            self._tokens.forget(use.agent.token_hash)
            use.end(MeshError("control.unauthorised", "the owner of the node has removed this agent"))
        await self._feed.tell(FeedKind.AGENT_REMOVED, asked.name)
        return RemovedAgent(name=asked.name, ended=len(ended))

    async def _shown(self, agent: AgentRecord) -> Agent:
        state: State = "valid"
        if agent.expires_ms <= self._clock.now_ms():
            state = "expired"
        elif 0 < agent.calls_max <= agent.calls or 0 < agent.browser_ms_max <= agent.browser_ms:
            state = "used up"
        return Agent(
            name=agent.name,
            state=state,
            scopes=agent.scopes,
            origins=agent.origins,
            capsules=tuple(f"{id}={','.join(tasks)}" for id, tasks in agent.capsules),
            capsule_names={id: name for id, _ in agent.capsules if (name := await self._capsules.name_of(id))},
            capsules_ended=tuple(
                [id for id, _ in agent.capsules if not await self._capsules.grants(id, agent.created_ms)]
            ),
            created_ms=agent.created_ms,
            expires_ms=agent.expires_ms,
            calls=agent.calls,
            calls_max=agent.calls_max,
            browser_seconds=agent.browser_ms // 1_000,
            browser_seconds_max=agent.browser_ms_max // 1_000,
            running=self._running(agent.name),
        )

    def _running(self, name: str) -> int:
        return len(self._calls_of(name))

    def _calls_of(self, name: str) -> list[_Use]:
        return [use for use in self._uses if use.is_call and use.agent.name == name]

    # --- who calls ---------------------------------------------------------------------------------------------------

    async def authenticate(self, token: str) -> AgentRecord:
        """The agent with this token. Refusals are counted.

        Errors: ``control.unauthorised``, ``agent.expired``, ``agent.busy`` (too many wrong tokens are waiting), ``store.*``.
        """
        try:
            return await self._tokens.agent(token)
        except MeshError as error:
            who = str(error.detail.get("caller", ""))
            self._refusals.count(CONTROL, node=who, code=error.code)
            await self._tell_refused(who, error)
            raise

    async def refused(self, error: MeshError) -> None:
        """Count that the guard refused an address to the calling agent, and tell the feed. For other callers do nothing."""
        caller = current_caller()
        if caller.kind is CallerKind.AGENT:
            self._refusals.count(CONTROL, node=str(caller), code=error.code)
            await self._tell_refused(str(caller), error)

    async def _tell_refused(self, who: str, error: MeshError) -> None:
        """Tell the feed that an agent was refused, but not every time, because that could crowd out all other changes."""
        kind, (prefix, _, name) = _REFUSALS.get(error.code), who.partition(":")
        if kind is None or prefix != CallerKind.AGENT.value:
            return
        now_ms, last_ms = self._clock.now_ms(), self._told_ms.get((name, kind))
        if last_ms is None or not 0 <= now_ms - last_ms < limits.FEED_REFUSAL_EVERY_S * 1_000:
            self._told_ms[name, kind] = now_ms
            await self._feed.tell(kind, name, who=who)

    # --- what it does ------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def calling(self, agent: AgentRecord, verb: str) -> AsyncIterator[Caller]:
        """One call of ``verb``, counted before the block begins; it ends early when the agent may not go on.

        An agent whose calls are used up may still close its live sessions, which would otherwise use up its browser time.

        Errors: ``agent.busy``, ``agent.budget``, ``control.unauthorised`` (removed meanwhile); in the block ``agent.expired`` too.
        """
        caller = caller_of(agent)
        try:
            if self._running(agent.name) >= limits.AGENT_CALLS_AT_ONCE_MAX:
                told = f"an agent can make at most {limits.AGENT_CALLS_AT_ONCE_MAX} calls at a time"
                raise MeshError("agent.busy", told, caller=str(caller))
            # Registered before the first await, so that concurrent calls cannot all pass the limit above.
            async with interruptible() as end:
                use = _Use(agent, end, is_call=True)
                async with self._going_on(use):
                    await self._count(agent, verb)
                    token = _call.set(use)
                    try:
                        yield caller
                    finally:
                        _call.reset(token)
        except MeshError as error:
            if error.code in _ENDS:
                self._refusals.count(CONTROL, node=str(caller), code=error.code)
            await self._tell_refused(str(caller), error)
            raise

    @contextlib.asynccontextmanager
    async def going_on(self, caller: Caller, verb: str) -> AsyncIterator[Caller]:
        """Work that ``caller`` asked for by an earlier call. Of an agent it is a call again. Errors: as ``calling``."""
        if caller.kind is not CallerKind.AGENT:
            yield caller
            return
        agents = await self._store.agents()
        same = [each for each in agents if (each.name, each.created_ms) == (caller.name, caller.since_ms)]
        if not same:
            raise MeshError("control.unauthorised", "the owner of the node has removed this agent")
        async with self.calling(same[0], verb) as now:
            yield now

    async def _count(self, agent: AgentRecord, verb: str) -> None:
        try:
            await self._store.count_agent_call(agent.token_hash)
        except MeshError as error:
            if error.code == "input.not_found":
                raise MeshError("control.unauthorised", "the owner of the node has removed this agent") from error
            if error.code != "agent.budget" or verb != live.CLOSE.name:
                raise
            # Otherwise its live sessions would stay open until they are idle, and go on using its time with a browser.

    @contextlib.asynccontextmanager
    async def _going_on(self, use: _Use) -> AsyncIterator[None]:
        """Register ``use`` while it is in progress, and end it when its token expires."""
        self._uses.add(use)
        watch = asyncio.create_task(self._watch(use), name=f"expiry of agent {use.agent.name}")
        try:
            yield
        finally:
            self._uses.discard(use)
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _watch(self, use: _Use) -> None:
        while (left_ms := use.agent.expires_ms - self._clock.now_ms()) > 0:
            await self._clock.sleep(min(left_ms / 1_000, _SLEEP_S_MAX))
        use.end(MeshError("agent.expired", "its token expired during the call"))

    async def check(self) -> None:
        """Raise if the calling agent has used up its browser time, or is removed.

        Errors: ``agent.budget``, ``control.unauthorised``, ``store.*``.
        """
        calls = self._calls_now()
        if calls:
            left = await self._store.agent(calls[0].agent.token_hash)
            if left is None:
                raise MeshError("control.unauthorised", "the owner of the node has removed this agent")
            if 0 < left.browser_ms_max <= left.browser_ms:
                raise MeshError("agent.budget", f"{left.name} has used up its time with a browser")

    @contextlib.asynccontextmanager
    async def counted(self, spent: End) -> AsyncIterator[None]:
        """Count the block as browser time of the calling agent; for other callers do nothing.

        Time is taken from the budget in slices before it is used, and the rest of the last slice is returned. spent: ends
        the work of the block when the agent may not go on; the surrounding call is ended too.
        Errors: ``agent.budget``, ``control.unauthorised`` (removed meanwhile).
        """
        calls = self._calls_now()
        if not calls:
            yield
            return
        agent = calls[0].agent

        # The work ends first, in order, and then the calls that wait for it.
        def end(error: MeshError) -> None:
            spent(error)
            for call in calls:
                call.end(error)

        time = BrowserTime(self._store, self._clock, agent)
        async with self._going_on(_Use(agent, end, is_call=False)):
            await time.take()
            taking = asyncio.create_task(time.go_on(end), name=f"browser time of agent {agent.name}")
            try:
                yield
            finally:
                taking.cancel()
                await asyncio.gather(taking, return_exceptions=True)
                await time.give_back()

    def _calls_now(self) -> list[_Use]:
        """The calls that use the browser time now; none unless the caller is an agent. Errors: ``control.unauthorised``."""
        caller = current_caller()
        if caller.kind is not CallerKind.AGENT:
            return []
        # The replay of a peer's claim is work for the agent that owns the search, but happens outside its calls.
        here = _call.get()
        calls = [here] if here is not None else self._calls_of(caller.name)
        if not calls:
            raise MeshError("control.unauthorised", "the call that this work belongs to has ended", caller=str(caller))
        return calls


_REFUSALS: Final = {
    "caller.refused": FeedKind.AGENT_REFUSED,
    "browser.refused": FeedKind.AGENT_REFUSED,
    "agent.budget": FeedKind.AGENT_SPENT,
    "agent.expired": FeedKind.AGENT_EXPIRED,
}
"""The kinds of change in the feed, by the code of the refusal."""
_ENDS: Final = frozenset({"agent.busy", "agent.budget", "agent.expired", "control.unauthorised"})
