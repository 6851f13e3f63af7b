"""The protocol as somebody else wrote it: the JavaScript of ``tests/interop/javascript`` against the vectors, and as a
peer of real nodes. ``make interop`` runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from protocol.messages import PROTOCOL_VERSION
from tests.mesh_nodes import CONFIG, ROOT, Node, shop, until

HERE = Path(__file__).parent / "javascript"
VECTORS = ROOT / "tests" / "vectors"
EXPLORE = {scope: ["*"] for scope in ("branch:accept", "branch:assign", "deltas:read", "deltas:write")}
NODE_MAJOR_MIN = 18


def _node_js() -> str:
    """The ``node`` of Node.js; without it the tests are skipped, in CI they fail."""
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if int(version.removeprefix("v").partition(".")[0]) >= NODE_MAJOR_MIN:
            return found
    reason = f"Node.js {NODE_MAJOR_MIN} or later is not installed (Debian: apt-get install nodejs)"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Peer:
    """The JavaScript peer: a process that takes one command a line."""

    def __init__(self, name: str) -> None:
        command = [_node_js(), str(HERE / "peer.mjs"), name]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.node: str = self._answer()["ok"]["node"]

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the peer ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _do(self, command: str, given: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"command": command} | given) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def do(self, command: str, **given: Any) -> Any:
        """What the command gives."""
        answer = self._do(command, given)
        assert "code" not in answer, answer
        return answer["ok"]

    def refused(self, command: str, **given: Any) -> str:
        """The code by which the command is refused."""
        answer = self._do(command, given)
        assert "code" in answer, answer
        code: str = answer["code"]
        return code

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=120)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def anna(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A serving node."""
    directory = tmp_path_factory.mktemp("interop")
    node = Node(directory / "anna", "anna")
    try:
        node.create(directory, CONFIG)
        node.start()
        yield node
    finally:
        node.stop()


@contextmanager
def _joined(anna: Node, name: str, *, grant: str = "", grants: dict[str, list[str]] | None = None) -> Iterator[Peer]:
    """The JavaScript peer, paired with ``anna`` by invite. grant: scopes there; grants: what the peer grants, with origins."""
    peer = Peer(name)
    try:
        invite = anna.run("node", "invite", *(["--grant", grant] if grant else []))["invite"]
        assert peer.do("join", invite=invite, grants=grants or {})["name"] == "anna"
        yield peer
    finally:
        peer.close()


def test_the_vectors_hold_for_the_second_implementation() -> None:
    command = [_node_js(), str(HERE / "vectors.mjs"), str(VECTORS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 450


def test_a_second_implementation_joins_by_invite_and_is_a_healthy_peer(anna: Node) -> None:
    with _joined(anna, "joiner") as peer:
        us = anna.run("node", "status")
        status = peer.do("ask", route="status", body={})
        assert (status["node"], status["name"], status["protocol"], status["grants"]) == (
            us["node"],
            "anna",
            PROTOCOL_VERSION,
            {},
        )
        assert peer.do("pull_keys") == {"node": us["node"], "key": us["public_key"], "state": "active"}
        assert peer.do("ask", route="reach/echo", body={})["reached"]
        assert peer.node in [one["node"] for one in anna.run("node", "peers")["peers"]]
        checks = {check["name"]: check["status"] for check in anna.run("node", "doctor")["checks"]}
        assert (checks["peer joiner"], checks["joiner → here"]) == ("ok", "ok")


def test_each_holds_the_other_ones_checkpoint_and_cosigns_it(anna: Node) -> None:
    with _joined(anna, "witness") as peer:
        held = peer.do("sync_log")
        assert f"trailmesh/{peer.node}/0\n" in held["ours"]
        assert f"— trailmesh/{anna.run('node', 'id')['node']} " in held["ours"], "anna cosigned"
        assert f"— trailmesh/{peer.node} " in held["theirs"], "the peer cosigned"
        proof = peer.do("prove_opening")
        assert proof["shows"] == "inclusion"
        assert peer.node in proof["cosigners"]
        audit = anna.run("log", "audit", "--peer", "witness")
        assert audit["sound"], audit


def test_what_is_wrong_is_refused_with_its_code(anna: Node) -> None:
    with _joined(anna, "clumsy") as peer:
        assert peer.refused("ask_twice", route="status") == "envelope.replayed"
        another_route = {"route": "/peer/v1/keys/pull"}
        assert peer.refused("ask_wrongly", route="status", wrong=another_route) == "envelope.signature"
        assert peer.refused("ask_wrongly", route="status", wrong={"audience": peer.node}) == "envelope.audience"
        assert peer.refused("ask_wrongly", route="status", wrong={"issued": 1_000}) == "envelope.time"
        assert peer.refused("ask_wrongly", route="status", wrong={"kind": "delta"}) == "envelope.kind"
        assert peer.refused("ask", route="search/close", body={"search": "x"}) == "peer.scope"
        assert peer.refused("ask", route="nothing", body={}) == "input.not_found"
        assert peer.refused("ask", route="status", body={"more": 1}) == "message.invalid"
        assert peer.do("ask", route="status", body={})["name"] == "anna", "and none of it did harm"


def test_a_second_implementation_coordinates_a_search_and_its_deltas_are_merged(anna: Node) -> None:
    with _joined(anna, "coordinator", grant="explore", grants=EXPLORE) as peer:
        spec = {"goal": "g", "startUrl": "http://127.0.0.1:9/", "condition": {"title": "x"}, "seconds": 60}
        search = peer.do("open_search", **spec)
        assert peer.do("push", count=1, **{"from": 0}) == {"epoch": 1, "seq": 1}
        assert peer.refused("push", count=2, **{"from": 2}) == "delta.gap"
        assert peer.do("push", count=0, **{"from": 0}) == {"epoch": 1, "seq": 3}, "what was known is taken again"
        assert peer.do("pull") == 0, "the node has explored nothing"
        (spend,) = [one for one in anna.run("explore", "show", search)["spend"] if one["name"] == "coordinator"]
        assert spend["visits"] == 3
        assert peer.do("ask", route="search/close", body={"search": search}) == {}


@pytest.mark.browser
def test_a_second_implementation_takes_part_in_a_search_and_declines_its_branches(anna: Node, tmp_path: Path) -> None:
    with shop(tmp_path) as (url, _), _joined(anna, "worker", grant="explore", grants=EXPLORE) as peer:
        never = json.dumps({"title": "no page is called this"})
        running = anna.spawn("explore", "run", "--goal", "g", "--start", f"{url}/", "--until", never, "--seconds", "8")

        def entered() -> Any:
            return [one for one in peer.do("searches") if one["declined"] and one["nodes"] and one["stats"]]

        (search,) = until(entered, "a search of anna with a share and a branch", 20)
        running.communicate(timeout=120)
        assert search["goal"] == "g"
        assert until(lambda: peer.do("searches")[0]["closed"], "the end of the search", 10)


def test_a_second_implementation_follows_a_rotation_and_joins_after_it(anna: Node) -> None:
    with _joined(anna, "before") as peer:
        old = peer.do("pull_keys")
        anna.run("node", "rotate")
        assert peer.do("known_key") != old["key"], "the log was pushed under the old key"
        assert peer.do("ask", route="status", body={})["node"] == old["node"]
        assert peer.do("sync_log")["theirs"], "the opening is of an earlier key"
        assert peer.do("prove_opening")["node"] == old["node"], "the proof brings the key log"
    with _joined(anna, "after") as peer:
        now = peer.do("pull_keys")
        assert (now["node"], now["key"]) == (old["node"], anna.run("node", "status")["public_key"])
