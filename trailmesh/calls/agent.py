# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``agent.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.agent import Added, AgentList, RemovedAgent


class AgentVerbs(Calls):
    """The verbs ``agent.*``."""

    async def add(
        self,
        name: str,
        *,
        scopes: Sequence[Literal["explore", "live", "local", "read", "record", "replay"]],
        origins: Sequence[str] = (),
        capsules: Sequence[str] = (),
        expires_s: int = 0,
        calls: int = 0,
        browser_seconds: int = 0,
        progress: Progress | None = None,
    ) -> Added:
        """Create an agent and print its token.

        name: Name of the agent: lower-case letters, digits and -, starting with a letter, at most 32 characters.
        scopes: What it may do: read, record, replay, live, explore, local. Repeat for more.
        origins: An origin that its browser runs may contact, and no other: https://host or https://*.domain.
        Repeat for more. [default: every public site that the configuration allows; private and loopback
        addresses must be named]
        capsules: A capsule whose login it may begin its work with, by name or id, and for which kinds of work:
        shop, or shop=record,replay (docs/capsules.md). Repeat for more.
        expires_s: How long its token is valid: 90m, 12h or 30d, at most 365d. [default: 30d]
        calls: How many calls it may make in total; 0 for no limit.
        browser_seconds: Total browser time of all its runs; 0 for no limit.
        progress: is told what happens meanwhile.
        """
        found: Added = await self._call(
            "agent.add",
            {
                "name": name,
                "scopes": scopes,
                "origins": origins,
                "capsules": capsules,
                "expires_s": expires_s,
                "calls": calls,
                "browser_seconds": browser_seconds,
            },
            progress,
            Added,
        )
        return found

    async def list(self, *, progress: Progress | None = None) -> AgentList:
        """List agents with their scopes, expiry and usage.

        progress: is told what happens meanwhile.
        """
        found: AgentList = await self._call("agent.list", {}, progress, AgentList)
        return found

    async def remove(self, name: str, *, progress: Progress | None = None) -> RemovedAgent:
        """Remove an agent: its token becomes invalid at once, and its calls, browser runs and live sessions are
        ended.

        name: Name of the agent.
        progress: is told what happens meanwhile.
        """
        found: RemovedAgent = await self._call("agent.remove", {"name": name}, progress, RemovedAgent)
        return found


class BlockingAgentVerbs(BlockingCalls):
    """The verbs ``agent.*``, each of which waits until it is done."""

    def add(
        self,
        name: str,
        *,
        scopes: Sequence[Literal["explore", "live", "local", "read", "record", "replay"]],
        origins: Sequence[str] = (),
        capsules: Sequence[str] = (),
        expires_s: int = 0,
        calls: int = 0,
        browser_seconds: int = 0,
        progress: Progress | None = None,
    ) -> Added:
        """Create an agent and print its token.

        name: Name of the agent: lower-case letters, digits and -, starting with a letter, at most 32 characters.
        scopes: What it may do: read, record, replay, live, explore, local. Repeat for more.
        origins: An origin that its browser runs may contact, and no other: https://host or https://*.domain.
        Repeat for more. [default: every public site that the configuration allows; private and loopback
        addresses must be named]
        capsules: A capsule whose login it may begin its work with, by name or id, and for which kinds of work:
        shop, or shop=record,replay (docs/capsules.md). Repeat for more.
        expires_s: How long its token is valid: 90m, 12h or 30d, at most 365d. [default: 30d]
        calls: How many calls it may make in total; 0 for no limit.
        browser_seconds: Total browser time of all its runs; 0 for no limit.
        progress: is told what happens meanwhile.
        """
        found: Added = self._call(
            "agent.add",
            {
                "name": name,
                "scopes": scopes,
                "origins": origins,
                "capsules": capsules,
                "expires_s": expires_s,
                "calls": calls,
                "browser_seconds": browser_seconds,
            },
            progress,
            Added,
        )
        return found

    def list(self, *, progress: Progress | None = None) -> AgentList:
        """List agents with their scopes, expiry and usage.

        progress: is told what happens meanwhile.
        """
        found: AgentList = self._call("agent.list", {}, progress, AgentList)
        return found

    def remove(self, name: str, *, progress: Progress | None = None) -> RemovedAgent:
        """Remove an agent: its token becomes invalid at once, and its calls, browser runs and live sessions are
        ended.

        name: Name of the agent.
        progress: is told what happens meanwhile.
        """
        found: RemovedAgent = self._call("agent.remove", {"name": name}, progress, RemovedAgent)
        return found
