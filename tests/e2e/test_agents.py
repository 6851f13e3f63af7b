"""Agents as programs: real processes, a real Chromium, another account of the machine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from node.base.control_file import AGENTS_SOCKET_FILE
from tests.canaries import found_in
from tests.mesh_nodes import COMMAND, CONFIG, ROOT, Node, cli, shop, until

_NOBODY = 65_534
_ASK = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(("POST /v1/session.list HTTP/1.1\\r\\nHost: node\\r\\nConnection: close\\r\\nContent-Length: 2\\r\\n"
    f"Authorization: Bearer {sys.stdin.read()}\\r\\n\\r\\n{{}}").encode())
while data := client.recv(4096):
    sys.stdout.write(data.decode())
"""
"""An agent that has nothing of this program."""


@contextlib.contextmanager
def served(tmp_path: Path, more: str = "") -> Iterator[Node]:
    node = Node(tmp_path / "anna", "anna").create(tmp_path, CONFIG + more)
    node.start()
    try:
        yield node
    finally:
        node.stop()


def agent(node: Node, tmp_path: Path, name: str, *options: str) -> Path:
    """The file with the token of a new agent."""
    file = tmp_path / f"{name}.token"
    file.touch(mode=0o600)
    file.write_text(node.run("agent", "add", name, *options)["token"] + "\n")
    return file


def asks(token: Path, *arguments: str, home: Path) -> tuple[int, dict[str, Any]]:
    """Exit code and answer of a command of an agent."""
    status, out, err = cli("--token-file", str(token), *arguments, "--json", home=home)
    assert "Traceback" not in out + err
    return status, json.loads(out)


def used(node: Node) -> tuple[int, int]:
    """Calls and seconds with a browser of the only agent."""
    (found,) = node.run("agent", "ls")["agents"]
    return found["calls"], found["browser_seconds"]


@pytest.mark.browser
def test_an_agent_records_at_its_origin_and_nowhere_else_and_its_token_is_nowhere(tmp_path: Path) -> None:
    """Loopback is refused twice: by the origins of the agent, and as it is private and not named."""
    with shop(tmp_path) as (url, _), served(tmp_path, "log_level: debug\n") as node:
        inside = agent(node, tmp_path, "inside", "--scope", "record", "--scope", "read", "--origin", url)
        outside = agent(node, tmp_path, "outside", "--scope", "record", "--origin", "https://elsewhere.example")
        actions = tmp_path / "look.yaml"
        actions.write_text(f"title: Look\nstart: {url}/\nsteps:\n  - scroll: down\n")
        status, recorded = asks(inside, "session", "record", str(actions), home=node.home)
        assert (status, recorded["verdict"]) == (0, "pass")
        status, refused = asks(outside, "session", "record", str(actions), home=node.home)
        error = refused.get("error", {})
        assert (status, error["code"], error["retryable"], error["detail"]["origin"]) == (
            2,
            "browser.refused",
            False,
            url,
        )
        (ended,) = (row for row in node.run("audit", "--who", "agent:outside")["rows"] if row["outcome"] == "failed")
        assert (ended["code"], ended["note"]) == ("browser.refused", {"origin": url})
        assert node.run("node", "status")["refusals"]["by_peer"] == {"agent:outside": {"browser.refused": 1}}
        (told,) = node.run("events", "--kind", "agent.refused")["changes"]
        assert (told["ids"], told["who"]) == (["outside"], "agent:outside")
        for option in (["--approve-class", "5"], ["--allow", f"POST {url}/"]):
            _, refused = asks(inside, "session", "record", str(actions), *option, home=node.home)
            assert refused["error"]["code"] == "caller.refused"
        rows = [row for row in node.run("audit", "--who", "agent:inside")["rows"] if row["outcome"] == "refused"]
        assert [row["note"]["needs"] for row in rows] == ["the owner, to set approve_class"]
        whos = {row["who"] for row in node.run("audit", "--what", "session.record")["rows"]}
        assert whos == {"agent:inside", "agent:outside"}
        secrets = {file.name: file.read_bytes().strip() for file in (inside, outside)}
        for path in node.home.rglob("*"):
            if path.is_file():
                assert found_in(path.read_bytes(), secrets) == [], path


@pytest.mark.browser
def test_an_agent_that_may_go_anywhere_does_not_reach_this_machine_and_the_owner_does(tmp_path: Path) -> None:
    """Guard: node/live/browsers/policy.py, _private."""
    with shop(tmp_path) as (url, _), served(tmp_path) as node:
        anywhere = agent(node, tmp_path, "anywhere", "--scope", "record")
        actions = tmp_path / "look.yaml"
        for start in (url, url.replace("127.0.0.1", "localhost")):
            actions.write_text(f"title: Look\nstart: {start}/\nsteps:\n  - scroll: down\n")
            _, refused = asks(anywhere, "session", "record", str(actions), home=node.home)
            error = refused.get("error", {})
            assert (error.get("code"), error.get("detail", {}).get("rule")) == ("browser.refused", "private address")
        assert node.run("session", "record", str(actions))["verdict"] == "pass"


@pytest.mark.browser
def test_a_token_is_in_no_argument_and_no_variable_of_its_command_and_browser_time_survives_a_kill(
    tmp_path: Path,
) -> None:
    with shop(tmp_path) as (url, _), served(tmp_path) as node:
        token = agent(node, tmp_path, "slow", "--scope", "record", "--origin", url, "--browser-seconds", "8")
        secret = {"token": token.read_bytes().strip()}
        actions = tmp_path / "wait.yaml"
        actions.write_text(
            f"title: W\nstart: {url}/\nsteps:\n  - wait: {{text: never to be seen, timeout_ms: 60000}}\n"
        )
        command = [*COMMAND, "--token-file", str(token), "session", "record", str(actions), "--home", str(node.home)]
        with subprocess.Popen(
            [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
        ) as running:
            until(lambda: used(node)[1] >= 5, "time with a browser is counted while it is used")
            for name in ("cmdline", "environ"):
                assert found_in((Path("/proc") / str(running.pid) / name).read_bytes(), secret) == []
            assert node.process is not None
            node.process.send_signal(signal.SIGKILL)
            out, _ = running.communicate(timeout=120)
        assert json.loads(out)["error"]["code"] == "node.stopped"
        node.start()
        assert used(node) == (1, 5) or used(node) == (1, 8), "what was taken in advance is not given back by a crash"
        _, refused = asks(token, "session", "record", str(actions), home=node.home)
        assert refused["error"]["code"] == "agent.budget", "it ends in the middle of its call, or does not begin"
        assert used(node)[1] == 8


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_an_agent_in_another_account_reaches_the_socket_and_nothing_else(tmp_path: Path) -> None:
    door = tmp_path / "door"
    door.mkdir()
    for directory in (door, *list(tmp_path.parents)[:3]):
        directory.chmod(0o755)
    tmp_path.chmod(0o755)
    with served(tmp_path, f"control: {{directory: {door}, access: all}}\n") as node:
        token = agent(node, tmp_path, "guest", "--scope", "read").read_text().strip()
        assert [path.name for path in door.iterdir()] == [AGENTS_SOCKET_FILE]

        def from_outside(program: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["/usr/bin/env", "python3", "-c", program, *arguments],
                input=given,
                capture_output=True,
                text=True,
                user=_NOBODY,
                group=_NOBODY,
                extra_groups=[],
                cwd="/",
                env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
                timeout=120,
                check=False,
            )

        answer = from_outside(_ASK, str(door / AGENTS_SOCKET_FILE), given=token)
        assert answer.returncode == 0, answer.stderr
        assert '"result"' in answer.stdout
        owner = json.loads((node.home / "control.json").read_text())["token"]
        assert "control.unauthorised" in from_outside(_ASK, str(door / AGENTS_SOCKET_FILE), given=owner).stdout
        for path in (node.home / "control.json", node.home / "store.db"):
            assert "PermissionError" in from_outside("import sys; open(sys.argv[1])", str(path)).stderr
        assert "PermissionError" in from_outside(_ASK, str(node.home / "control.sock"), given=owner).stderr


def test_a_command_with_a_token_file_that_is_none_says_nothing_of_what_is_in_it(tmp_path: Path) -> None:
    file = tmp_path / "password.txt"
    file.write_text("hunter2-canary")
    environment = {**os.environ, "TRAILMESH_TOKEN_FILE": str(file)}
    done = subprocess.run(
        [sys.executable, "-m", "node.cli", "session", "ls", "--home", str(tmp_path), "--json"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
    )
    assert json.loads(done.stdout)["error"]["code"] == "input.invalid"
    assert "hunter2" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == [file]
