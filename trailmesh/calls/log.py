# Written by `make client` from node/verbs/; change the declarations instead.
"""The verbs ``log.*`` as methods (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.calling import BlockingCalls, Calls, Progress
from trailmesh.records.log import OwnAudit, PeerAudit, Proven, ShownLog


class LogVerbs(Calls):
    """The verbs ``log.*``."""

    async def show(self, *, peer: str = "", out: str = "", progress: Progress | None = None) -> ShownLog:
        """Show the witness log: name, size, root hash, and the peers that cosigned it.

        peer: Show what this node holds of this peer's log.
        out: With --peer: write the proof of equivocation (two signed histories) to this file.
        progress: is told what happens meanwhile.
        """
        found: ShownLog = await self._call("log.show", {"peer": peer, "out": out}, progress, ShownLog)
        return found

    async def prove(self, target: str, *, out: str = "", progress: Progress | None = None) -> Proven:
        """Prove that an artefact is in the log of the node that signed it.

        target: A session id, the SHA-256 of an envelope (hex), or the absolute path of a bundle.
        out: File to write the proof to. [default: ARTEFACT.tmproof]
        progress: is told what happens meanwhile.
        """
        found: Proven = await self._call("log.prove", {"target": target, "out": out}, progress, Proven)
        return found

    async def audit(self, *, progress: Progress | None = None) -> OwnAudit:
        """Check the whole log: every artefact in the store must be in it, and the root hash is recomputed.

        progress: is told what happens meanwhile.
        """
        found: OwnAudit = await self._call("log.audit", {}, progress, OwnAudit)
        return found

    async def audit_peer(self, *, peer: str, progress: Progress | None = None) -> PeerAudit:
        """Ask a peer to prove that its log extends what this node has seen of it.

        peer: Audit this peer's log instead.
        progress: is told what happens meanwhile.
        """
        found: PeerAudit = await self._call("log.audit_peer", {"peer": peer}, progress, PeerAudit)
        return found

    async def renew(self, *, progress: Progress | None = None) -> ShownLog:
        """Open a new log that is signed and refers to the old one.

        progress: is told what happens meanwhile.
        """
        found: ShownLog = await self._call("log.renew", {}, progress, ShownLog)
        return found


class BlockingLogVerbs(BlockingCalls):
    """The verbs ``log.*``, each of which waits until it is done."""

    def show(self, *, peer: str = "", out: str = "", progress: Progress | None = None) -> ShownLog:
        """Show the witness log: name, size, root hash, and the peers that cosigned it.

        peer: Show what this node holds of this peer's log.
        out: With --peer: write the proof of equivocation (two signed histories) to this file.
        progress: is told what happens meanwhile.
        """
        found: ShownLog = self._call("log.show", {"peer": peer, "out": out}, progress, ShownLog)
        return found

    def prove(self, target: str, *, out: str = "", progress: Progress | None = None) -> Proven:
        """Prove that an artefact is in the log of the node that signed it.

        target: A session id, the SHA-256 of an envelope (hex), or the absolute path of a bundle.
        out: File to write the proof to. [default: ARTEFACT.tmproof]
        progress: is told what happens meanwhile.
        """
        found: Proven = self._call("log.prove", {"target": target, "out": out}, progress, Proven)
        return found

    def audit(self, *, progress: Progress | None = None) -> OwnAudit:
        """Check the whole log: every artefact in the store must be in it, and the root hash is recomputed.

        progress: is told what happens meanwhile.
        """
        found: OwnAudit = self._call("log.audit", {}, progress, OwnAudit)
        return found

    def audit_peer(self, *, peer: str, progress: Progress | None = None) -> PeerAudit:
        """Ask a peer to prove that its log extends what this node has seen of it.

        peer: Audit this peer's log instead.
        progress: is told what happens meanwhile.
        """
        found: PeerAudit = self._call("log.audit_peer", {"peer": peer}, progress, PeerAudit)
        return found

    def renew(self, *, progress: Progress | None = None) -> ShownLog:
        """Open a new log that is signed and refers to the old one.

        progress: is told what happens meanwhile.
        """
        found: ShownLog = self._call("log.renew", {}, progress, ShownLog)
        return found
