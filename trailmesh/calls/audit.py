# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``audit.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.audit import AuditExportEnd, AuditListing, TrailVerification


class AuditVerbs(Calls):
    """The verbs ``audit.*``."""

    async def list(
        self,
        *,
        since_s: int = 0,
        until_s: int = 0,
        who: str = "",
        what: str = "",
        limit: int = 50,
        progress: Progress | None = None,
    ) -> AuditListing:
        """List privileged actions: caller, action, key and approval.

        since_s: Rows at or after this UTC time (2025-03-01T12:00).
        until_s: Rows before this UTC time.
        who: Caller: owner, node (what the node did by itself), or the name or id of a peer.
        what: An action (session.record) or a group of them (session, branch).
        limit: Only the newest N matching rows.
        progress: is told what happens meanwhile.
        """
        found: AuditListing = await self._call(
            "audit.list",
            {"since_s": since_s, "until_s": until_s, "who": who, "what": what, "limit": limit},
            progress,
            AuditListing,
        )
        return found

    async def export(self, *, out: str, progress: Progress | None = None) -> AuditExportEnd:
        """Write the whole trail to a file: one JSON object per line; the last line is the signed head.

        out: File to write the trail to.
        progress: is told what happens meanwhile.
        """
        found: AuditExportEnd = await self._call("audit.export", {"out": out}, progress, AuditExportEnd)
        return found

    async def verify(self, path: str = "", *, progress: Progress | None = None) -> TrailVerification:
        """Check that no row of an audit trail was changed, removed or inserted.

        path: Absolute path of an export; empty for this node's own trail.
        progress: is told what happens meanwhile.
        """
        found: TrailVerification = await self._call("audit.verify", {"path": path}, progress, TrailVerification)
        return found


class BlockingAuditVerbs(BlockingCalls):
    """The verbs ``audit.*``, each of which waits until it is done."""

    def list(
        self,
        *,
        since_s: int = 0,
        until_s: int = 0,
        who: str = "",
        what: str = "",
        limit: int = 50,
        progress: Progress | None = None,
    ) -> AuditListing:
        """List privileged actions: caller, action, key and approval.

        since_s: Rows at or after this UTC time (2025-03-01T12:00).
        until_s: Rows before this UTC time.
        who: Caller: owner, node (what the node did by itself), or the name or id of a peer.
        what: An action (session.record) or a group of them (session, branch).
        limit: Only the newest N matching rows.
        progress: is told what happens meanwhile.
        """
        found: AuditListing = self._call(
            "audit.list",
            {"since_s": since_s, "until_s": until_s, "who": who, "what": what, "limit": limit},
            progress,
            AuditListing,
        )
        return found

    def export(self, *, out: str, progress: Progress | None = None) -> AuditExportEnd:
        """Write the whole trail to a file: one JSON object per line; the last line is the signed head.

        out: File to write the trail to.
        progress: is told what happens meanwhile.
        """
        found: AuditExportEnd = self._call("audit.export", {"out": out}, progress, AuditExportEnd)
        return found

    def verify(self, path: str = "", *, progress: Progress | None = None) -> TrailVerification:
        """Check that no row of an audit trail was changed, removed or inserted.

        path: Absolute path of an export; empty for this node's own trail.
        progress: is told what happens meanwhile.
        """
        found: TrailVerification = self._call("audit.verify", {"path": path}, progress, TrailVerification)
        return found
