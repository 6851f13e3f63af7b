# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``policy.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.policy import Explained


class PolicyVerbs(Calls):
    """The verbs ``policy.*``."""

    async def explain(
        self, url: str, *, method: str = "GET", element: str = "", progress: Progress | None = None
    ) -> Explained:
        """Say whether this node would send a request, or click an element, which rule decides that, and where it
        stands.

        url: The address of a request, or of the page.
        method: Method of the request.
        element: Explain a click on this element of the page instead: its role and name, such as 'button "Add to
        cart"'.
        progress: is told what happens meanwhile.
        """
        found: Explained = await self._call(
            "policy.explain", {"url": url, "method": method, "element": element}, progress, Explained
        )
        return found


class BlockingPolicyVerbs(BlockingCalls):
    """The verbs ``policy.*``, each of which waits until it is done."""

    def explain(
        self, url: str, *, method: str = "GET", element: str = "", progress: Progress | None = None
    ) -> Explained:
        """Say whether this node would send a request, or click an element, which rule decides that, and where it
        stands.

        url: The address of a request, or of the page.
        method: Method of the request.
        element: Explain a click on this element of the page instead: its role and name, such as 'button "Add to
        cart"'.
        progress: is told what happens meanwhile.
        """
        found: Explained = self._call(
            "policy.explain", {"url": url, "method": method, "element": element}, progress, Explained
        )
        return found
