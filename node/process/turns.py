"""Opens a node when it is this process's turn: while another command uses the data directory, this one waits.

Only one process may open a data directory. A recording takes minutes, and a caller in between wants an answer, not an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

from node.api import Node
from node.process import wiring
from node.process.passphrase import AskPassphrase
from protocol import limits
from protocol.errors import MeshError

log = logging.getLogger(__name__)

_LOOK_S: Final = 0.2


@contextlib.asynccontextmanager
async def open_in_turn(
    home: Path,
    passphrase: AskPassphrase | None,
    serves: Callable[[], bool],
    *,
    wait_s: float = limits.DIRECTORY_WAIT_S,
    sandbox: bool = True,
) -> AsyncIterator[Node]:
    """``wiring.open_node``, once no other command uses ``home``.

    serves: True if a node serves ``home``. It does not end by itself, so waiting for it would be vain. Errors: those of
    ``wiring.open_node``; ``node.locked`` if a node serves, or ``wait_s`` is over.
    """
    ends_s = asyncio.get_running_loop().time() + wait_s
    told = False
    async with contextlib.AsyncExitStack() as stack:
        while True:
            try:
                node = await stack.enter_async_context(wiring.open_node(home, passphrase, sandbox=sandbox))
                break
            except MeshError as error:
                pid = error.detail.get("pid")  # only the lock of the directory tells who holds it
                over = asyncio.get_running_loop().time() >= ends_s
                if error.code != "node.locked" or pid is None or over or serves():
                    raise
            if not told:
                log.warning("waiting for process %s, which uses the data directory", pid or "?")
                told = True
            await asyncio.sleep(_LOOK_S)
        yield node
