# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``page.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.page import PageSnapshot


class PageVerbs(Calls):
    """The verbs ``page.*``."""

    async def snapshot(
        self,
        url: str,
        *,
        wait: str = "",
        timeout_ms: int = 10000,
        text: str = "",
        actions_only: bool = False,
        limit: int = 300,
        capsule: str = "",
        progress: Progress | None = None,
    ) -> PageSnapshot:
        """Print what can be named on a page, as lines to paste into an action file.

        url: Address of the page.
        wait: Wait until this text is visible.
        timeout_ms: How long to wait for it.
        text: Only elements with this text in role, name, options or what they stand in.
        actions_only: Only what can be acted on: no lines that read or assert.
        limit: At most this many elements.
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        progress: is told what happens meanwhile.
        """
        found: PageSnapshot = await self._call(
            "page.snapshot",
            {
                "url": url,
                "wait": wait,
                "timeout_ms": timeout_ms,
                "text": text,
                "actions_only": actions_only,
                "limit": limit,
                "capsule": capsule,
            },
            progress,
            PageSnapshot,
        )
        return found


class BlockingPageVerbs(BlockingCalls):
    """The verbs ``page.*``, each of which waits until it is done."""

    def snapshot(
        self,
        url: str,
        *,
        wait: str = "",
        timeout_ms: int = 10000,
        text: str = "",
        actions_only: bool = False,
        limit: int = 300,
        capsule: str = "",
        progress: Progress | None = None,
    ) -> PageSnapshot:
        """Print what can be named on a page, as lines to paste into an action file.

        url: Address of the page.
        wait: Wait until this text is visible.
        timeout_ms: How long to wait for it.
        text: Only elements with this text in role, name, options or what they stand in.
        actions_only: Only what can be acted on: no lines that read or assert.
        limit: At most this many elements.
        capsule: Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).
        progress: is told what happens meanwhile.
        """
        found: PageSnapshot = self._call(
            "page.snapshot",
            {
                "url": url,
                "wait": wait,
                "timeout_ms": timeout_ms,
                "text": text,
                "actions_only": actions_only,
                "limit": limit,
                "capsule": capsule,
            },
            progress,
            PageSnapshot,
        )
        return found
