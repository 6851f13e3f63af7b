"""What is left of a login in the memory of a node, once a capsule was mounted, used and closed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from node.process.setup import init_home
from tests.login_site import SESSION, TOKEN, LoginSite
from tests.mesh_nodes import ROOT

pytestmark = pytest.mark.browser
CANARIES = {"cookie": SESSION.encode(), "entry": TOKEN.encode()}
USES = 3
USED_MAX = 32
"""Copies of each value, before Python has collected what refers to itself."""
LEFT_MAX = 16
"""And after that: in short texts of Python, which frees them without overwriting. Where nothing is, there are 30 to 51."""


class Node:
    """A node in a child process, which is told what to do, and whose memory is read."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def does(self, verb: str, **params: Any) -> str:
        """The code with which ``verb`` fails; empty if it does not."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps([verb, params])}\n".encode())
        return await self.says()

    async def says(self) -> str:
        """Its next line."""
        assert self._process.stdout is not None
        async with asyncio.timeout(120):
            return (await self._process.stdout.readline()).decode().strip()

    def copies(self) -> dict[str, int]:
        """How often each value stands in its memory."""
        found = dict.fromkeys(CANARIES, 0)
        root = Path(f"/proc/{self._process.pid}")
        with (root / "mem").open("rb", buffering=0) as memory:
            for line in (root / "maps").read_text().splitlines():
                place, rights, *_ = line.split()
                if not rights.startswith("rw"):
                    continue
                start, end = (int(each, 16) for each in place.split("-"))
                memory.seek(start)
                data = memory.read(end - start)
                for name, value in CANARIES.items():
                    found[name] += data.count(value)
        return found


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read in /proc")
async def test_little_of_a_login_is_left_in_the_memory_of_the_node_after_its_use(tmp_path: Path) -> None:
    """Guard: trailmesh/__main__.py, overwrite_what_is_freed."""
    home, site, file = tmp_path / "home", LoginSite(), tmp_path / "state.json"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    await site.start()
    file.write_text(json.dumps(site.storage_state()))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.memory_child", str(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        node = Node(process)
        assert await node.says() == "ready"
        assert not any(node.copies().values())
        given = {"file": str(file), "name": "shop", "origins": [site.origin], "whole": True}
        assert await node.does("capsule.capture", **given) == ""
        file.unlink()
        work = f"title: t\nstart: {site.origin}/\nsteps:\n  - assert: {{text: Welcome}}\n"
        used, left = [], []
        for _ in range(USES):
            assert await node.does("session.record", actions=work, capsule="shop") == ""
            used.append(node.copies())
            await node.does("collect")
            left.append(node.copies())
        print(f"after each use {used}, collected {left}")
        assert all(count <= USED_MAX for each in used for count in each.values()), used
        assert all(count <= LEFT_MAX for each in left for count in each.values()), left
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
        await site.stop()
