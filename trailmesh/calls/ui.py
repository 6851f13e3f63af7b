# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``ui.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.ui import PageLink


class UiVerbs(Calls):
    """The verbs ``ui.*``."""

    async def open(self, *, progress: Progress | None = None) -> PageLink:
        """Make a link to the page of the node, for a web browser on this machine (docs/page.md).

        progress: is told what happens meanwhile.
        """
        found: PageLink = await self._call("ui.open", {}, progress, PageLink)
        return found


class BlockingUiVerbs(BlockingCalls):
    """The verbs ``ui.*``, each of which waits until it is done."""

    def open(self, *, progress: Progress | None = None) -> PageLink:
        """Make a link to the page of the node, for a web browser on this machine (docs/page.md).

        progress: is told what happens meanwhile.
        """
        found: PageLink = self._call("ui.open", {}, progress, PageLink)
        return found
