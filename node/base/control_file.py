"""Lets a client find the control API of a running node. It imports little, because every command loads it at its start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

CONTROL_FILE: Final = "control.json"
SOCKET_FILE: Final = "control.sock"
PAGE_FILE: Final = "page.html"
"""Leads a web browser to the page of the node. The node removes it when its link was used."""
KEY_HEADER: Final = "Idempotency-Key"
"""The header with the key of a call, which is done once for all requests that have it."""
AGENTS_DIRECTORY: Final = "control"
"""Directory inside the data directory for the socket of agents. It contains no secret, so it can be mounted in a container."""
AGENTS_SOCKET_FILE: Final = "agents.sock"
# Below the limits of Linux (108 bytes) and macOS (104 bytes).
_SOCKET_PATH_BYTES_MAX: Final = 100


class ControlInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The data with which a client reaches the running node."""

    pid: int
    token: str


def socket_path(socket: Path, directory: int) -> str:
    """A path of ``socket`` that fits in ``sun_path`` (108 bytes). A longer path is replaced by one through the open
    ``directory``."""
    direct = str(socket)
    if len(direct.encode()) <= _SOCKET_PATH_BYTES_MAX:
        return direct
    # The kernel resolves this through the open descriptor, so the length of the real path does not matter.
    return f"/proc/self/fd/{directory}/{socket.name}"
