"""Where the control API of a running node is found: what its clients need, and no more, so that they start fast."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

CONTROL_FILE: Final = "control.json"
SOCKET_FILE: Final = "control.sock"
AGENTS_DIRECTORY: Final = "control"
"""Below the data directory: holds the socket for agents and no secret, so that it can be shown to a container."""
AGENTS_SOCKET_FILE: Final = "agents.sock"
_SOCKET_PATH_BYTES_MAX: Final = 100


class ControlInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a client needs to reach the running node."""

    pid: int
    token: str


def socket_path(socket: Path, directory: int) -> str:
    """A path of ``socket`` that fits ``sun_path`` (108 bytes), through its open ``directory`` if need be."""
    direct = str(socket)
    if len(direct.encode()) <= _SOCKET_PATH_BYTES_MAX:
        return direct
    return f"/proc/self/fd/{directory}/{socket.name}"
