"""A node in a process of its own that holds a page open: ``held_browser.py HOME ADDRESS [unleashed] [persistent]``. Tests kill it.

Its one line of output says where its browser lives and which process drives it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from adapters.browser.launch import chromium
from adapters.browser.launch.profile_directory import PROFILE_ARGUMENT
from node.process.wiring import open_node
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy


def _child(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def _profile_directory(driver: int) -> str:
    words = Path(f"/proc/{_child(driver)}/cmdline").read_text().split("\0")
    return next(word.removeprefix(PROFILE_ARGUMENT) for word in words if word.startswith(PROFILE_ARGUMENT))


async def _hold(directory: Path, address: str, *, persistent: bool) -> None:
    async with (
        open_node(directory) as node,
        node.rooms.browsers.opened(Profile(), GuardPolicy(), persistent=persistent) as (_, page),
    ):
        await page.perform(Goto(url=address))
        driver = _child(os.getpid())
        print(json.dumps({"profile_directory": _profile_directory(driver), "driver": driver}), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    if "unleashed" in sys.argv:
        chromium.leashed = lambda *command: list(command)
    asyncio.run(_hold(Path(sys.argv[1]), sys.argv[2], persistent="persistent" in sys.argv))
