"""The table of work with a capsule that a peer has asked for."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
from protocol.kinds import Plain


class WorkRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Work that a peer asked for, with a login of this node. Its verdict is an artefact, once there is one."""

    id: Plain
    """The id, in hexadecimal."""
    asker: Plain
    ask: bytes
    """The encoded ``WorkAsk``."""
    began_ms: int


WORKS: Final = Table(name="works", record=WorkRecord, key="id", bound="limits.WORK_KEPT_MAX")
