"""A node of a checkout, driven through its command line as a user drives it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from protocol.recording.records.snapshot import snapshot_text

_TIMEOUT_S: Final = 300


class Node:
    """Commands of one checkout over one data directory."""

    def __init__(self, checkout: Path, home: Path) -> None:
        self._checkout = checkout.absolute()
        self._home = home

    async def prepare(self) -> None:
        """Create it, if it is not there."""
        if (self._home / "config.yaml").exists():
            return
        # As root Chromium cannot use its sandbox.
        config = "ci.yaml" if os.geteuid() == 0 else "solo.yaml"
        out = self._home.with_name(f"{self._home.name}.recovery")
        await self.call(
            *("node", "init", "--name", "drift", "--config", str(self._checkout / "configs" / config)),
            *("--recovery-out", str(out)),
        )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """It serves until the end of the block: its browser stays open from one command to the next, as with a user who serves."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "node.cli", "node", "serve", "--home", str(self._home)),
            cwd=self._checkout,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                await process.stdout.readline()
            yield
        finally:
            process.terminate()
            await process.wait()

    def snapshot(self, digest: str) -> str:
        """A stored snapshot, by its SHA-256 as the commands print it."""
        return snapshot_text((self._home / "blobs" / digest[:2] / digest).read_bytes()) or ""

    async def call(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, the object that was printed, and what stood on the error stream."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "node.cli", *arguments, "--json", "--home", str(self._home)),
            cwd=self._checkout,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(_TIMEOUT_S):
            output, errors = await process.communicate()
        lines = output.decode(errors="replace").strip()
        try:
            answer = json.loads(lines)
        except ValueError:
            answer = json.loads(lines.splitlines()[-1]) if lines.endswith("}") else {}
        return process.returncode or 0, answer, errors.decode(errors="replace")
