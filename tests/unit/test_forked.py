"""A command that was forked behaves as one that was started: exit code, signals, descriptors, directory, environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forked import Forked
from tests.mesh_nodes import COMMAND, Node, alive, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="commands are forked on Linux only")


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["node", "status"], ["session", "show", "nonsense", "--json"], ["nonsense"]],
)
def test_it_says_and_ends_as_a_command_that_was_started(tmp_path: Path, arguments: list[str]) -> None:
    where = ["--home", str(tmp_path)] if arguments[0] in ("node", "session") else []
    started = subprocess.run([*COMMAND, *arguments, *where], capture_output=True, text=True, cwd=tmp_path, check=False)
    with Forked([*arguments, *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as forked:
        assert forked.communicate(timeout=120) == (started.stdout, started.stderr)
    assert forked.returncode == started.returncode


def test_it_has_its_own_directory_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = Node(tmp_path / "home", "anna").create(tmp_path)
    (tmp_path / "wrong").write_text("tma1.x")
    monkeypatch.setenv("TRAILMESH_TOKEN_FILE", "wrong")
    whoami = ["node", "whoami", "--home", str(node.home), "--json"]
    with Forked(whoami, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as forked:
        out, _ = forked.communicate(timeout=120)
    assert json.loads(out)["error"]["message"].startswith("wrong does not contain a complete agent token")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_reaches_it_alone_and_its_end_is_told(tmp_path: Path, number: signal.Signals) -> None:
    node = Node(tmp_path / "home", "anna").create(tmp_path)
    running = node.spawn("node", "serve")
    until(lambda: (node.home / "control.json").exists(), "it serves")
    assert os.getpgid(running.pid) == os.getsid(running.pid) == running.pid
    assert running.poll() is None
    os.killpg(running.pid, number)
    running.communicate(timeout=120)
    assert running.returncode == (-number if number == signal.SIGKILL else 0)
    assert alive([running.pid]) == []
