# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``explore.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.explore import RemovedSearch, SearchList, Summary


class ExploreVerbs(Calls):
    """The verbs ``explore.*``."""

    async def run(
        self,
        *,
        goal: str,
        start: str,
        until: Any,
        peers: Sequence[str] | None = None,
        seconds: int = 120,
        seed: int = 0,
        capsule: str = "",
        chooser: str = "",
        progress: Progress | None = None,
    ) -> Summary:
        """Explore a site until a page meets the condition.

        goal: What to reach, as a sentence: 'find the cheapest blue mug with a rating over 4'.
        start: Start address. Every peer in the search receives it, so it must not contain a token.
        until: Condition that the page must meet: an object with url, title, text or element; all, any and not
        combine conditions.
        peers: Explore with this peer. Repeat for more. [default: every peer that grants us branch:assign; for an
        agent none]
        seconds: Time limit.
        seed: Seed of the random choices in the rollouts.
        capsule: Begin with the login of this capsule, and contact only its origins. Peers explore with logins of
        their own, if each node grants the others `login:read`, and the peers grant `login:use`
        (docs/capsules.md).
        chooser: Ask this http address of this machine which action of each page to prefer (docs/choosers.md).
        progress: is told what happens meanwhile.
        """
        found: Summary = await self._call(
            "explore.run",
            {
                "goal": goal,
                "start": start,
                "until": until,
                "peers": peers,
                "seconds": seconds,
                "seed": seed,
                "capsule": capsule,
                "chooser": chooser,
            },
            progress,
            Summary,
        )
        return found

    async def resume(self, search: str, *, seconds: int = 0, progress: Progress | None = None) -> Summary:
        """Follow a running search, or resume one that ended without success, for --seconds from now.

        search: Id of the search.
        seconds: Time limit from now; 0 for the time that the search had left.
        progress: is told what happens meanwhile.
        """
        found: Summary = await self._call("explore.resume", {"search": search, "seconds": seconds}, progress, Summary)
        return found

    async def list(self, *, limit: int = 50, progress: Progress | None = None) -> SearchList:
        """List searches, newest first. On the command line it is `explore show` without a search.

        limit: Without SEARCH: list at most this many.
        progress: is told what happens meanwhile.
        """
        found: SearchList = await self._call("explore.list", {"limit": limit}, progress, SearchList)
        return found

    async def show(self, search: str, *, html: str = "", progress: Progress | None = None) -> Summary:
        """Show a search: its status, the work of each node, and the path that was found.

        search: Id of the search.
        html: Also write an HTML report here: picture of the tree, screenshots, signers.
        progress: is told what happens meanwhile.
        """
        found: Summary = await self._call("explore.show", {"search": search, "html": html}, progress, Summary)
        return found

    async def stop(self, search: str, *, progress: Progress | None = None) -> Summary:
        """Stop a running search; it can be resumed.

        search: Id of the search.
        progress: is told what happens meanwhile.
        """
        found: Summary = await self._call("explore.stop", {"search": search}, progress, Summary)
        return found

    async def remove(self, search: str, *, progress: Progress | None = None) -> RemovedSearch:
        """Remove a search that is not running: its tree, its leases, and the data that peers sent for it.

        search: Id of the search.
        progress: is told what happens meanwhile.
        """
        found: RemovedSearch = await self._call("explore.remove", {"search": search}, progress, RemovedSearch)
        return found


class BlockingExploreVerbs(BlockingCalls):
    """The verbs ``explore.*``, each of which waits until it is done."""

    def run(
        self,
        *,
        goal: str,
        start: str,
        until: Any,
        peers: Sequence[str] | None = None,
        seconds: int = 120,
        seed: int = 0,
        capsule: str = "",
        chooser: str = "",
        progress: Progress | None = None,
    ) -> Summary:
        """Explore a site until a page meets the condition.

        goal: What to reach, as a sentence: 'find the cheapest blue mug with a rating over 4'.
        start: Start address. Every peer in the search receives it, so it must not contain a token.
        until: Condition that the page must meet: an object with url, title, text or element; all, any and not
        combine conditions.
        peers: Explore with this peer. Repeat for more. [default: every peer that grants us branch:assign; for an
        agent none]
        seconds: Time limit.
        seed: Seed of the random choices in the rollouts.
        capsule: Begin with the login of this capsule, and contact only its origins. Peers explore with logins of
        their own, if each node grants the others `login:read`, and the peers grant `login:use`
        (docs/capsules.md).
        chooser: Ask this http address of this machine which action of each page to prefer (docs/choosers.md).
        progress: is told what happens meanwhile.
        """
        found: Summary = self._call(
            "explore.run",
            {
                "goal": goal,
                "start": start,
                "until": until,
                "peers": peers,
                "seconds": seconds,
                "seed": seed,
                "capsule": capsule,
                "chooser": chooser,
            },
            progress,
            Summary,
        )
        return found

    def resume(self, search: str, *, seconds: int = 0, progress: Progress | None = None) -> Summary:
        """Follow a running search, or resume one that ended without success, for --seconds from now.

        search: Id of the search.
        seconds: Time limit from now; 0 for the time that the search had left.
        progress: is told what happens meanwhile.
        """
        found: Summary = self._call("explore.resume", {"search": search, "seconds": seconds}, progress, Summary)
        return found

    def list(self, *, limit: int = 50, progress: Progress | None = None) -> SearchList:
        """List searches, newest first. On the command line it is `explore show` without a search.

        limit: Without SEARCH: list at most this many.
        progress: is told what happens meanwhile.
        """
        found: SearchList = self._call("explore.list", {"limit": limit}, progress, SearchList)
        return found

    def show(self, search: str, *, html: str = "", progress: Progress | None = None) -> Summary:
        """Show a search: its status, the work of each node, and the path that was found.

        search: Id of the search.
        html: Also write an HTML report here: picture of the tree, screenshots, signers.
        progress: is told what happens meanwhile.
        """
        found: Summary = self._call("explore.show", {"search": search, "html": html}, progress, Summary)
        return found

    def stop(self, search: str, *, progress: Progress | None = None) -> Summary:
        """Stop a running search; it can be resumed.

        search: Id of the search.
        progress: is told what happens meanwhile.
        """
        found: Summary = self._call("explore.stop", {"search": search}, progress, Summary)
        return found

    def remove(self, search: str, *, progress: Progress | None = None) -> RemovedSearch:
        """Remove a search that is not running: its tree, its leases, and the data that peers sent for it.

        search: Id of the search.
        progress: is told what happens meanwhile.
        """
        found: RemovedSearch = self._call("explore.remove", {"search": search}, progress, RemovedSearch)
        return found
