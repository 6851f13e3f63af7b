# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``site.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.site import SiteList, SiteShown


class SiteVerbs(Calls):
    """The verbs ``site.*``."""

    async def list(self, *, limit: int = 50, progress: Progress | None = None) -> SiteList:
        """List the sites that this node has sessions of and searches at, the last one first.

        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: SiteList = await self._call("site.list", {"limit": limit}, progress, SiteList)
        return found

    async def show(self, site: str, *, limit: int = 20, progress: Progress | None = None) -> SiteShown:
        """Show what this node has done at a site: its newest sessions and searches, and how many there are.

        site: An address of the site, or its host; then https.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: SiteShown = await self._call("site.show", {"site": site, "limit": limit}, progress, SiteShown)
        return found


class BlockingSiteVerbs(BlockingCalls):
    """The verbs ``site.*``, each of which waits until it is done."""

    def list(self, *, limit: int = 50, progress: Progress | None = None) -> SiteList:
        """List the sites that this node has sessions of and searches at, the last one first.

        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: SiteList = self._call("site.list", {"limit": limit}, progress, SiteList)
        return found

    def show(self, site: str, *, limit: int = 20, progress: Progress | None = None) -> SiteShown:
        """Show what this node has done at a site: its newest sessions and searches, and how many there are.

        site: An address of the site, or its host; then https.
        limit: At most this many.
        progress: is told what happens meanwhile.
        """
        found: SiteShown = self._call("site.show", {"site": site, "limit": limit}, progress, SiteShown)
        return found
