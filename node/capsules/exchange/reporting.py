"""Reports uses of capsules to the node that issued them."""

from __future__ import annotations

import logging
from typing import Any

import msgspec

from adapters.capsule_records import LedgerRecord
from node.capsules.seal.endings import Endings
from node.capsules.seal.kept import Kept
from node.trust import Calls
from protocol import limits
from protocol.capsule.capsule import Capsule, CapsuleHeader
from protocol.errors import MeshError, PeerError
from protocol.messages import CapsuleStands, CapsuleUsed

log = logging.getLogger(__name__)

_TURNED_AWAY = frozenset({"peer.refused_us", "peer.distrusted"})
"""Failures of a call that count as a refusal: the tenant does not talk to this node."""


class Reporting:
    """Reports each use of a capsule to its tenant."""

    def __init__(self, kept: Kept, calls: Calls, endings: Endings) -> None:
        self._kept, self._calls, self._endings = kept, calls, endings

    async def report(self, capsule: Capsule, use: bytes) -> bool:
        """Report a use to the tenant. True if it was reached. Errors: those with which it refuses the use."""
        header = capsule.header
        try:
            await self._calls.call(header.tenant, "capsule/use", CapsuleUsed(use=use), CapsuleStands)
        except MeshError as error:
            if isinstance(error, PeerError) and error.code.startswith("capsule."):
                if error.code == "capsule.revoked":
                    # The answer alone ends the use here: the signed revocation may come later.
                    await self._endings.revoke(ledger_row(header, revoked_ms=self._kept.clock.now_ms()))
                raise MeshError(error.code, f"its issuer says so: {error.message}", capsule=header.id) from error
            # The grant was withdrawn, or the tenant removed the capsule. Its answer ends the freshness window too.
            if error.code in _TURNED_AWAY or (isinstance(error, PeerError) and not error.retryable):
                raise
            log.info("the issuer of %s was not reached: %s", header.id, error.code)
            return False
        return True


def ledger_row(header: CapsuleHeader, **more: Any) -> LedgerRecord:
    """The row of the ledger about a capsule with ``header``."""
    expires_ms = header.captured_ms + limits.CAPSULE_DAYS_MAX * 86_400_000
    row = LedgerRecord(id=header.id, tenant=header.tenant, expires_ms=expires_ms)
    return msgspec.structs.replace(row, **more)
