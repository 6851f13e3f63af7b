"""How a command reaches its node: through the control API while the node runs, else in this process.

Either way the caller sees the same: ``call(verb, params, tell)`` returns plain values or raises ``MeshError``.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

import aiohttp
import msgspec

from node.base import CONTROL_FILE, ControlInfo, from_dict, plain, socket_path
from node.config import Ask, remembered
from node.verbs import Tell
from protocol import limits
from protocol.errors import MeshError

_AWAY: Final = frozenset({"node.not_serving", "node.stopped"})
_RECONNECT_S: Final = 0.5
_LINE_BYTES_MAX = 64 * 1024 * 1024


def control_info(home: Path) -> ControlInfo | None:
    """How to reach the node that serves ``home``; None when none does."""
    try:
        info = msgspec.json.decode((home / CONTROL_FILE).read_bytes(), type=ControlInfo)
        os.kill(info.pid, 0)
    except (OSError, msgspec.DecodeError):
        return None
    return info


async def call(home: Path, verb: str, params: dict[str, Any], tell: Tell, passphrase: Ask | None = None) -> Any:
    """Run ``verb`` on the node of ``home``. passphrase: as for ``open_node``. Errors: those of the verb, ``node.stopped``."""
    info = control_info(home)
    if info is not None:
        try:
            return await _remote(home, info, verb, params, tell)
        except aiohttp.ClientConnectorError:
            pass  # its node died without a word: the lock decides whether this process may work
    from node.process.wiring import open_node

    try:
        async with open_node(home, passphrase) as node:
            return plain(await node.dispatch(verb, msgspec.json.encode(params), tell))
    except MeshError as error:
        # A node that was starting up owns the directory by now, and can be asked.
        info = control_info(home) if error.code == "node.locked" else None
        if info is None:
            raise
    return await _remote(home, info, verb, params, tell)


async def recover(home: Path, params: dict[str, Any], tell: Tell) -> Any:
    """``node.recover`` on the node of ``home``, also when its witness key is lost. Errors: those of ``call``."""
    try:
        return await call(home, "node.recover", params, tell)
    except MeshError as error:
        from node.process.wiring import open_node
        from node.signing import KEY_FILE, LOG_FILE

        if error.code != "node.not_initialised" or (home / KEY_FILE).exists() or not (home / LOG_FILE).exists():
            raise
    async with open_node(home, key_lost=True) as node:
        return plain(await node.dispatch("node.recover", msgspec.json.encode(params), tell))


async def examine(home: Path, passphrase: Ask, *, browser: bool) -> Any:
    """What the doctor finds; at a node that does not open for want of its key or store, what the parts say by themselves.

    Errors: those of ``call``.
    """
    ask = remembered(passphrase)
    try:
        return await call(home, "node.doctor", {"browser": browser}, lambda event: None, ask)
    except MeshError as error:
        from node.process.wiring import examine_apart
        from node.signing import KEY_FILE, LOG_FILE

        parts_missing = error.code == "node.not_initialised" and (
            (home / KEY_FILE).exists() or (home / LOG_FILE).exists()
        )
        does_not_open = parts_missing or error.code.startswith(("key.", "keylog.", "log.", "store."))
        if not does_not_open or control_info(home) is not None:
            raise
        return plain(await examine_apart(home, error, ask, browser=browser))


async def follow(home: Path, params: dict[str, Any], show: Callable[[Any], None], away: Callable[[], None]) -> NoReturn:
    """Hand every result of ``events.list`` to ``show``, each after the one before, until cancelled.

    params: its parameters; ``since`` in them is always the number up to which changes were shown. away: called while no node
    serves ``home``, again and again. The data directory is left alone then, or no node could take it up. Errors: ``feed.gap``,
    ``node.not_initialised``, ``input.invalid``, ``store.*``, ``control.unauthorised``.
    """
    from node.signing import LOG_FILE

    if not (home / LOG_FILE).exists():
        raise MeshError("node.not_initialised", home=str(home))
    while True:
        info = control_info(home)
        try:
            if info is None:
                raise MeshError("node.not_serving", home=str(home))
            asked = {**params, "wait_s": limits.FEED_WAIT_S_MAX}
            page = await _remote(home, info, "events.list", asked, lambda event: None)
        except (aiohttp.ClientConnectorError, MeshError) as error:
            restarted = control_info(home) != info  # with a token of its own, which was not known when we asked
            if isinstance(error, MeshError) and error.code not in _AWAY and not restarted:
                raise
            away()
            await asyncio.sleep(_RECONNECT_S)
            continue
        show(page)
        params["since"] = page["last"]


async def _remote(home: Path, info: ControlInfo, verb: str, params: dict[str, Any], tell: Tell) -> Any:
    directory = os.open(home, os.O_RDONLY)
    try:
        connector = aiohttp.UnixConnector(path=socket_path(home, directory))
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout, read_bufsize=_LINE_BYTES_MAX) as session,
            session.post(
                f"http://node/v1/{verb}",
                data=io.BytesIO(msgspec.json.encode(params)),
                headers={"Authorization": f"Bearer {info.token}"},
            ) as response,
        ):
            async for line in response.content:
                message = msgspec.json.decode(line)
                if "event" in message:
                    tell(message["event"])
                elif "error" in message:
                    raise from_dict(message["error"])
                else:
                    return message["result"]
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientError, asyncio.IncompleteReadError, msgspec.DecodeError) as error:
        raise MeshError("node.stopped", "the node ended during the command") from error
    finally:
        os.close(directory)
    raise MeshError("node.stopped", "the node ended during the command")
