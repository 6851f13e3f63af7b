"""Nodes on machines of their own, as far as a kernel can pretend: one network namespace each, joined by a bridge.

The cable between two of them is pulled and put back. Everything is made inside namespaces, so that the host's own
network is never touched, and removing the namespaces removes it all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from protocol import limits
from trailmesh.demo.mesh import COMMAND, CommandFailed, MeshNode, pair

PORT = 7443
MARGIN_S = 15
NAMES = ("anna", "bruno", "chiara")


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def _impossible() -> str:
    """Why there can be no network namespaces here; empty if there can."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    probe = f"tm{os.getpid()}-probe"
    try:
        _ip("netns", "add", probe)
    except OSError as error:
        return f"the kernel forbids network namespaces: {error}"
    _ip("netns", "delete", probe)
    return ""


class Network:
    """A switch in a namespace of its own, and one namespace with a cable to it for each machine."""

    def __init__(self) -> None:
        self._prefix = f"tm{os.getpid()}"
        self._switch = f"{self._prefix}-switch"
        self._made: list[str] = []

    def build(self) -> None:
        """Make the switch."""
        self._add(self._switch)
        self._in(self._switch, "link", "add", "bridge0", "type", "bridge")
        self._in(self._switch, "link", "set", "bridge0", "up")

    def machine(self, name: str) -> tuple[str, str]:
        """A new machine: its namespace and its address."""
        space, number = f"{self._prefix}-{name}", len(self._made)
        self._add(space)
        self._in(self._switch, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", space)
        self._in(self._switch, "link", "set", name, "master", "bridge0", "up")
        self._in(space, "address", "add", f"10.213.7.{number}/24", "dev", "eth0")
        self._in(space, "link", "set", "eth0", "up")
        return space, f"10.213.7.{number}"

    def pull(self, name: str) -> None:
        """Take the cable of a machine out of the switch."""
        self._in(self._switch, "link", "set", name, "down")

    def plug(self, name: str) -> None:
        """Put it back."""
        self._in(self._switch, "link", "set", name, "up")

    def remove(self) -> None:
        """Leave nothing behind."""
        for space in reversed(self._made):
            subprocess.run(["ip", "netns", "delete", space], check=False)

    def _add(self, space: str) -> None:
        self._made.append(space)
        _ip("netns", "add", space)
        self._in(space, "link", "set", "lo", "up")

    def _in(self, space: str, *arguments: str) -> None:
        _ip("-netns", space, *arguments)


class Machine(MeshNode):
    """A node in a namespace of its own."""

    def __init__(self, home: Path, name: str, network: Network) -> None:
        super().__init__(home, name)
        space, self.host = network.machine(name)
        self.command = ("ip", "netns", "exec", space, *COMMAND)

    def found(self) -> None:
        """Create the node."""
        self.run("node", "init", "--name", self.name, "--listen", f"{self.host}:{PORT}")

    @property
    def key(self) -> str:
        """Its public key, hexadecimal."""
        return str(self.run("node", "status")["public_key"])

    def knock(self, other: Machine, key: str) -> str:
        """What ``other`` answers to a delta of a search it does not know: the code of its refusal, or of our failure."""
        try:
            return str(self.run("node", "knock", f"https://{other.host}:{PORT}", "--key", key)["code"])
        except CommandFailed as failure:
            assert failure.code == "peer.unreachable", failure
            return failure.code

    def sees(self, other: Machine) -> dict[str, Any]:
        """What ``node doctor`` says after it has asked ``other`` for its status."""
        checks = self.run("node", "doctor")["checks"]
        found: dict[str, Any] = next(check for check in checks if check["name"] == f"peer {other.name}")
        return found


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[tuple[Network, list[Machine]]]:
    """Three serving nodes, each on its own address."""
    if reason := _impossible():
        if os.environ.get("CI") == "true":
            pytest.fail(f"this must run in CI: {reason}")
        pytest.skip(reason)
    network = Network()
    nodes: list[Machine] = []
    try:
        network.build()
        for name in NAMES:
            nodes.append(Machine(tmp_path / name, name, network))
            nodes[-1].found()
            nodes[-1].launch()
        for node in nodes:
            node.wait_ready()
        yield network, nodes
    finally:
        for node in nodes:
            node.interrupt()
        for node in nodes:
            node.stop()
        network.remove()


def _seconds(began: float) -> float:
    return time.monotonic() - began


@pytest.mark.field
def test_a_cut_cable_is_reported_in_bounded_time_and_mended_without_a_restart(
    machines: tuple[Network, list[Machine]],
) -> None:
    network, (anna, bruno, chiara) = machines
    pair(anna, bruno, grant="explore", grant_back="explore")
    pair(anna, chiara, grant="explore", grant_back="explore")
    key = bruno.key
    refusal = anna.knock(bruno, key)
    assert refusal != "peer.unreachable"
    assert anna.sees(bruno)["status"] == "ok"

    network.pull("bruno")
    with ThreadPoolExecutor() as pool:
        # The first call meets a connection that was open when the cable went; the second one has to open its own.
        for _ in range(2):
            began = time.monotonic()
            cut = pool.submit(anna.knock, bruno, key)
            assert anna.knock(chiara, chiara.key) == refusal, "who is reachable is answered meanwhile"
            assert cut.result() == "peer.unreachable"
            assert _seconds(began) < limits.REQUEST_TIMEOUT_S + MARGIN_S
    seen = anna.sees(bruno)
    assert seen["status"] == "warn"
    assert "[peer.unreachable]" in seen["finding"]
    assert seen["remedy"]
    assert bruno.run("node", "status")["serving"], "its owner still reaches it"

    network.plug("bruno")
    began = time.monotonic()
    while anna.knock(bruno, key) != refusal:  # the kernel may take a moment to find the neighbour again
        assert _seconds(began) < limits.CONNECT_TIMEOUT_S + MARGIN_S
    assert anna.sees(bruno)["status"] == "ok"
    assert bruno.sees(anna)["status"] == "ok"
    assert all(node.process is not None and node.process.poll() is None for node in (anna, bruno, chiara))


@pytest.mark.field
def test_an_invite_leads_to_an_address_of_another_machine_and_fails_clearly_when_the_cable_is_cut(
    machines: tuple[Network, list[Machine]],
) -> None:
    network, (anna, bruno, _) = machines
    invite = anna.run("node", "invite")["invite"]
    network.pull("anna")
    began = time.monotonic()
    with pytest.raises(CommandFailed) as caught:
        bruno.run("node", "join", "--peer", invite)
    assert caught.value.code == "peer.unreachable"
    assert _seconds(began) < limits.CONNECT_TIMEOUT_S + MARGIN_S
    network.plug("anna")
    assert bruno.run("node", "join", "--peer", invite)["name"] == "anna"
