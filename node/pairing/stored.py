"""The table of open invites."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
from protocol.trust.grants import Grants


class InviteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An open invite. The token itself is not stored."""

    token_hash: bytes
    expires_s: int
    grants: Grants
    failures: int = 0


INVITES: Final = Table(
    name="invites", record=InviteRecord, key="token_hash", order="expires_s", bound="limits.INVITES_OPEN_MAX"
)
