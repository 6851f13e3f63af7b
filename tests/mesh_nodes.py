"""Nodes as real processes, for tests: the code of this checkout, real sockets, real Chromium, the demo shop."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.forked import Forked
from trailmesh.demo.mesh import MeshNode, pair

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, str(ROOT / "tests" / "checked.py"))
"""``trailmesh``, with every result held against the declaration of its verb."""
CONFIG = """\
browser: {sandbox: false, navigation_timeout_ms: 4000}
explore: {lease_seconds: 4}
"""
_POLL_S = 0.05


class Node(MeshNode):
    """One node; every command runs the code of this checkout."""

    command = COMMAND

    def begin(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A command of this node, not waited for. options: those of ``Popen``."""
        return Forked(self._at_home(as_person(arguments)), **{"cwd": ROOT} | options)

    def start(self) -> None:
        """Serve, again if it served before."""
        self.stop()
        super().start()

    def spawn(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """A command in a process group of its own, not waited for."""
        given: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return self.begin(*arguments, start_new_session=True, **given)

    def create(self, directory: Path, config: str = CONFIG) -> Node:
        """Initialise it with ``config``."""
        file = directory / f"{self.name}.yaml"
        file.write_text(config)
        self.init(file)
        return self


def as_person(arguments: tuple[str, ...]) -> list[str]:
    """``arguments``, so that a command of ``live`` acts as for a person at a terminal: tests have none."""
    own = arguments[:1] == ("live",) and not {"--as-owner", "--help", "--as-agent"} & set(arguments)
    return [each for each in arguments if each != "--as-agent"] + (["--as-owner"] if own else [])


def cli(*arguments: str, home: Path | None = None, cwd: Path = ROOT, timeout_s: float = 120) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of one command."""
    command = [*as_person(arguments), *(["--home", str(home)] if home else [])]
    with Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd) as process:
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, out, err


def refusal(*arguments: str, home: Path | None = None, timeout_s: float = 120) -> tuple[str, int, dict[str, Any]]:
    """Code, exit code and error of a command that is refused; nothing of a traceback is shown."""
    status, out, err = cli(*arguments, "--json", home=home, timeout_s=timeout_s)
    assert "Traceback" not in out + err, err
    answer = json.loads(out)
    assert "error" in answer, out
    error: dict[str, Any] = answer["error"]
    assert set(error) == {"code", "message", "blame", "retryable", "remedy", "detail"}
    assert error["message"]
    assert error["remedy"]
    return error["code"], status, error


@contextlib.contextmanager
def serving(directory: Path, *names: str, config: str = CONFIG) -> Iterator[list[Node]]:
    """Serving nodes, each a peer of each other; stopped at the end, and nothing of them is left."""
    nodes = [Node(directory / name, name) for name in names]
    try:
        for node in nodes:
            node.create(directory, config)
            node.start()
        for one, other in itertools.combinations(nodes, 2):
            pair(one, other, grant="explore", grant_back="explore")
        yield nodes
    finally:
        for node in nodes:
            node.stop()


@contextlib.contextmanager
def shop(directory: Path, latency_ms: int = 0) -> Iterator[tuple[str, Path]]:
    """The demo shop in a process of its own: its address, and the log of its effects."""
    effects = directory / "effects.jsonl"
    options = ["--latency-ms", str(latency_ms), "--effects-log", str(effects)]
    with Forked(["demo", "shop", "--json", *options], stdout=subprocess.PIPE, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"], effects
        finally:
            process.terminate()


def effects_of(log: Path) -> list[str]:
    """What the shop has noticed."""
    return log.read_text().splitlines() if log.exists() else []


def until(condition: Callable[[], Any], what: str, seconds: float = 120) -> Any:
    """Poll ``condition()`` until it is true; its value. Raises ``TimeoutError``."""
    began = time.monotonic()
    deadline = began + seconds
    while not (value := condition()):
        now = time.monotonic()
        if now > deadline:
            raise TimeoutError(what)
        # Most conditions are commands. Without a rest, asking would take the processor from what is waited for.
        time.sleep(max(_POLL_S, 2 * (now - began)))
        began = time.monotonic()
    return value


def children(pid: int) -> list[int]:
    """Every living descendant of a process, Chromium's helpers included."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, pending = [], [pid]
    while pending:
        below = parents.get(pending.pop(), [])
        found += below
        pending += below
    return found


def alive(pids: Sequence[int]) -> list[int]:
    """Those of ``pids`` that still run."""
    running = []
    for pid in pids:
        with contextlib.suppress(OSError):
            if (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                running.append(pid)
    return running


def browsers_of(pid: int) -> list[int]:
    """The Chromium processes below a process."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError):
            if b"chrom" in (Path("/proc") / str(child) / "cmdline").read_bytes().split(b"\0")[0]:
                found.append(child)
    return found


def interrupt(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Ctrl-C: exit code, output and errors; what it started must be gone with it."""
    below = children(process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    until(lambda: not alive(below), f"the end of {alive(below)}", 10)
    return process.returncode, out, err


def kill_group(process: subprocess.Popen[str]) -> None:
    """End a process and all it started as a power cut would."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()  # which also closes its pipes
