"""Creates a node from a backup, and asks its peers if they have seen a later state of its witness log."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from node.base.ownership import check_private
from node.health import Contents, unpack
from node.process.passphrase import AskPassphrase
from node.process.wiring import check_copy, open_node
from node.signing import identity
from protocol import ids, limits
from protocol.audit import OWNER
from protocol.errors import MeshError


async def restore(home: Path, file: Path, passphrase: AskPassphrase, *, ask_peers: bool = True) -> dict[str, Any]:
    """Unpack ``file`` to ``home``, which appears as a whole or not at all, then ask the peers.

    passphrase: asked for if the witness key is sealed. ask_peers: ask peers now; ``node serve`` asks them too. Errors:
    ``node.exposed``, ``node.already_initialised``, ``backup.invalid``, ``input.*``, ``store.*``; once the data is in place also
    ``key.*``.
    """
    check_private(home, fresh=True)
    identity.check_vacant(home)
    _check_empty(home)
    contents = await _placed(home, file)
    asked, told = 0, {}
    async with open_node(home, passphrase) as node:
        rooms = node.rooms
        async with rooms.witness.trail.doing("node.restore", who=OWNER):
            pass
        peers = [record.node for record in rooms.trust.peers.records()]
        if ask_peers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.LOG_START_SYNC_TIMEOUT_S):
                    await rooms.log.exchange.round()
            asked = rooms.log.exchange.answered
        told = {
            "peers": len(peers),
            "peers_answered": asked,
            "log_rollback": bool(rooms.witness.rollback),
            "log": contents.log,
            "log_size": rooms.witness.log.checkpoint.size,
        }
    return {
        "node": contents.node,
        "short": ids.short(contents.node),
        "name": contents.name,
        "home": str(home),
        "made_ms": contents.made_ms,
        "blobs": contents.blobs,
        **told,
    }


def _check_empty(home: Path) -> None:
    if home.is_symlink() or (home.exists() and not home.is_dir()) or (home.is_dir() and any(home.iterdir())):
        raise MeshError(
            "input.invalid", f"{home} is not an empty directory: a backup is never restored over other files"
        )


async def _placed(home: Path, file: Path) -> Contents:
    """Unpack beside ``home``, check the store, then rename the directory to ``home``."""
    try:
        home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        directory = Path(tempfile.mkdtemp(dir=home.parent, prefix=f".{home.name}.restore-"))
    except OSError as error:
        raise MeshError("input.invalid", f"{home}: {error.strerror}", home=str(home)) from error
    try:
        contents = await asyncio.to_thread(unpack, file, directory)
        await check_copy(directory, contents.node)
        os.replace(directory, home)  # fails if somebody has put anything into ``home`` meanwhile
    except OSError as error:
        raise MeshError("store.unwritable", f"{home}: {error.strerror}", home=str(home)) from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return contents
