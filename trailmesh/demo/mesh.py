"""Nodes for the demos: each a process of its own, driven through the ``trailmesh`` command only."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

COMMAND = (str(Path(sys.executable).parent / "trailmesh"),)
_READY_SECONDS = 30


class CommandFailed(Exception):
    """A command ended with an error; ``code`` is its error code."""

    def __init__(self, arguments: Sequence[str], status: int, code: str, message: str, detail: dict[str, Any]) -> None:
        super().__init__(f"trailmesh {' '.join(arguments)}: exit {status}, {code}: {message}")
        self.status = status
        self.code = code
        self.detail = detail


class MeshNode:
    """One node: its data directory, and its process while it serves."""

    command: Sequence[str] = COMMAND
    """How ``trailmesh`` is started."""

    def __init__(self, home: Path, name: str) -> None:
        self.home = home
        self.name = name
        self.address = ""
        self.process: subprocess.Popen[str] | None = None
        self._log: TextIO | None = None

    def init(self, config: Path) -> dict[str, Any]:
        """Create it."""
        result: dict[str, Any] = self.run("node", "init", "--name", self.name, "--config", str(config))
        return result

    def begin(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A command of this node, not waited for. options: those of ``Popen``."""
        return subprocess.Popen([*self.command, *self._at_home(arguments)], text=True, **options)

    def _at_home(self, arguments: Sequence[str]) -> list[str]:
        return [*arguments, "--home", str(self.home), "--json"]

    def run(self, *arguments: str, progress: bool = False) -> Any:
        """The JSON result of a command. Raises ``CommandFailed``."""
        told = None if progress else subprocess.PIPE
        with self.begin(*arguments, stdout=subprocess.PIPE, stderr=told) as process:
            out, err = process.communicate()
        try:
            answer = json.loads(out)
        except json.JSONDecodeError:
            raise CommandFailed(arguments, process.returncode, "no answer", (err or "")[-500:], {}) from None
        if isinstance(answer.get("error"), dict):
            error = answer["error"]
            raise CommandFailed(arguments, process.returncode, error["code"], error["message"], error["detail"])
        return answer

    def start(self) -> None:
        """Serve, and return once peers can reach it."""
        self.launch()
        self.wait_ready()

    def launch(self) -> None:
        """Begin to serve."""
        self._log = (self.home / "node.log").open("a")
        self.process = self.begin("node", "serve", stdout=subprocess.PIPE, stderr=self._log, start_new_session=True)

    def wait_ready(self) -> None:
        """Return once peers can reach it. Raises ``CommandFailed``."""
        assert self.process is not None and self.process.stdout is not None
        text = ""
        for line in self.process.stdout:
            text += line
            if line.startswith("}"):
                break
        ready = json.loads(text or "{}")
        if "address" not in ready:
            raise CommandFailed(["node", "serve"], self.process.wait(), "node did not start", text[-500:], {})
        self.address = ready["address"]

    def kill(self) -> None:
        """End it and its browser as a crash would: no signal handler runs."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def interrupt(self) -> None:
        """Ask it to end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def stop(self) -> None:
        """End it properly, and wait for that. A second call does nothing."""
        if self.process is not None and self.process.poll() is None:
            self.interrupt()
            try:
                self.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                self.kill()
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()
        if self._log is not None:
            self._log.close()
            self._log = None


def pair(inviter: MeshNode, joiner: MeshNode, *, grant: str, grant_back: str) -> None:
    """Pair two nodes by an invite: ``grant`` is what the joiner may do at the inviter."""
    invite = inviter.run("node", "invite", "--grant", grant)["invite"]
    joiner.run("node", "join", "--peer", invite, "--grant", grant_back)


def write_config(path: Path) -> Path:
    """A configuration for nodes of a demo. Only as root, where Chromium's own sandbox cannot start, is it switched off."""
    sandbox = os.geteuid() != 0
    path.write_text(f"browser:\n  sandbox: {str(sandbox).lower()}\n")
    if not sandbox:
        print(
            "running as root: the demo's nodes start Chromium without its sandbox, and visit loopback only",
            file=sys.stderr,
        )
    return path


@contextlib.contextmanager
def mesh(directory: Path, names: Sequence[str]) -> Iterator[list[MeshNode]]:
    """Serving nodes, stopped at the end whatever happens."""
    config = write_config(directory / "config.yaml")
    nodes = [MeshNode(directory / "nodes" / name, name) for name in names]
    try:
        for node in nodes:
            node.init(config)
            node.launch()
        for node in nodes:
            node.wait_ready()
        yield nodes
    finally:
        for node in nodes:
            node.interrupt()
        for node in nodes:
            node.stop()


def wait_until(condition: Any, seconds: float, what: str) -> None:
    """Poll ``condition()`` until it is true. Raises ``TimeoutError``."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)
