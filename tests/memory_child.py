"""A node in a process of its own, whose memory somebody else reads: does what it is told on standard input, line by line.

A line is JSON: ``[verb, params]``, or ``["collect"]``. For each, one line is printed: the error code, or nothing.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path

from trailmesh.__main__ import overwrite_what_is_freed


async def main(home: Path) -> None:
    """Serve until standard input ends."""
    from adapters.browser.launch.chromium import launcher
    from adapters.browser.launch.settings import BrowserSettings
    from node.process.wiring import open_node
    from protocol.errors import MeshError

    async with open_node(home, open_browser=launcher(BrowserSettings(sandbox=False))) as node:
        node.rooms.serving.address = "https://127.0.0.1:1"
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            verb, *given = json.loads(line)
            code = ""
            if verb == "collect":
                gc.collect()
            else:
                try:
                    await node.dispatch(verb, json.dumps(given[0]).encode(), lambda event: None)
                except MeshError as error:
                    code = error.code
            print(code, flush=True)


if __name__ == "__main__":
    overwrite_what_is_freed()  # as ``trailmesh node serve`` does
    asyncio.run(main(Path(sys.argv[1])))
