"""Sends notifications: webhooks by aiohttp, commands as child processes."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import signal
import socket
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from protocol import limits
from protocol.errors import MeshError
from protocol.webhook import check_reach

_PASSED_ON: Final = ("PATH", "HOME", "LANG", "TZ")
"""The only environment variables that a command gets; the others may contain passphrases."""
_HEADERS: Final = {"Content-Type": "application/json"}


class OutsideNotifier:
    """Implements ``adapters.ports.Notifier``."""

    def __init__(self, *, timeout_s: float = limits.SCHEDULE_NOTIFY_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s

    async def post(self, url: str, body: bytes) -> None:
        """Implements ``Notifier.post``."""
        try:
            await self._post_once(url, body)
        except MeshError:
            await self._post_once(url, body)

    async def _post_once(self, url: str, body: bytes) -> None:
        # trust_env=False: a proxy from the environment would see the address. No redirects: they could lead to another
        # host.
        timeout = aiohttp.ClientTimeout(total=self._timeout_s)
        connector = aiohttp.TCPConnector(socket_factory=functools.partial(_socket_to, urlsplit(url).scheme))
        try:
            async with (
                aiohttp.ClientSession(
                    connector=connector, timeout=timeout, trust_env=False, cookie_jar=aiohttp.DummyCookieJar()
                ) as session,
                session.post(url, data=body, headers=_HEADERS, allow_redirects=False) as answer,
            ):
                status = answer.status
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
            # The exception text may contain the address, which may contain a secret.
            raise MeshError("schedule.notify", f"the webhook cannot be reached: {type(error).__name__}") from None
        if not 200 <= status < 300:
            raise MeshError("schedule.notify", f"the webhook answered with status {status}", status=status)

    async def run(self, command: Sequence[str], body: bytes) -> None:
        """Implements ``Notifier.run``."""
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
                # Not the node's directory, where a relative path could lead into the data directory.
                cwd="/",
                # A separate process group, so that a timeout also ends the children of the command.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise MeshError("schedule.notify", f"the command cannot be started: {type(error).__name__}") from None
        try:
            async with asyncio.timeout(self._timeout_s):
                await process.communicate(body)
        except TimeoutError:
            raise MeshError("schedule.notify", f"the command did not end within {self._timeout_s:g} s") from None
        finally:
            if process.returncode is None:
                await _end(process)
        if process.returncode:
            raise MeshError("schedule.notify", f"the command ended with status {process.returncode}")


_AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]
"""An address in the form of ``socket.getaddrinfo``."""


def _socket_to(scheme: str, found: _AddressInfo) -> socket.socket:
    """A socket for one address of the webhook, unless the address is forbidden. Errors: ``OSError``."""
    family, kind, protocol, _, where = found
    try:
        check_reach(str(where[0]), scheme)
    except MeshError:
        raise PermissionError("the webhook leads where none may be sent") from None
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    return made


async def _end(process: asyncio.subprocess.Process) -> None:
    """End every process of the command, which has a process group of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
