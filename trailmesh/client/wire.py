"""One call: a request over the Unix socket of the node, answered by lines of JSON (docs/verbs.md)."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from trailmesh.client.address import Address
from trailmesh.client.errors import MeshError, not_serving, stopped

Progress = Callable[[dict[str, Any]], None]
"""Is told what happens while a call runs."""

_LINE_BYTES_MAX: Final = 64 * 1024 * 1024
_SOCKET_PATH_BYTES_MAX: Final = 100  # Linux takes 108, macOS 104
_CONNECT_S: Final = 5


class Wire:
    """Calls one node. Several calls may run at a time."""

    def __init__(self, find: Callable[[], Address]) -> None:
        """find: where the node answers now. A node that was started anew has another token."""
        self._find = find

    async def call(self, verb: str, params: dict[str, Any], progress: Progress | None) -> Any:
        """The result of a verb, as plain values. A call that is cancelled cancels its work at the node.

        Errors: those of the verb, ``node.not_serving``, ``node.stopped``, ``control.unauthorised``.
        """
        import aiohttp  # takes longer than the rest of the client together

        address = self._find()
        try:
            folder = os.open(address.socket.parent, os.O_PATH)
        except OSError as error:
            raise not_serving(f"no node answers at {address.socket}: {error.strerror}") from None
        try:
            # A connection for each call: one that is kept may be closed by a node that ends, just when it is used.
            connector = aiohttp.UnixConnector(path=_short(address.socket, folder), force_close=True)
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
            async with (
                aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=_LINE_BYTES_MAX) as session,
                session.post(
                    f"http://node/v1/{verb}",
                    data=io.BytesIO(msgspec.json.encode(params)),
                    headers={"Authorization": f"Bearer {address.token}"},
                ) as response,
            ):
                async for line in response.content:
                    message = msgspec.json.decode(line)
                    if "error" in message:
                        raise MeshError.told(message["error"])
                    if "result" in message:
                        return message["result"]
                    if progress is not None:
                        progress(message["event"])
        except aiohttp.ClientConnectorError as error:
            raise not_serving(f"no node answers at {address.socket}: {error.os_error.strerror}") from None
        except (aiohttp.ClientError, asyncio.IncompleteReadError, msgspec.DecodeError):
            raise stopped() from None
        finally:
            os.close(folder)
        raise stopped()


def _short(socket: Path, folder: int) -> str:
    """A path of ``socket`` that fits into an address of a socket; a long one leads through the open ``folder``."""
    direct = str(socket)
    return direct if len(direct.encode()) <= _SOCKET_PATH_BYTES_MAX else f"/proc/self/fd/{folder}/{socket.name}"
