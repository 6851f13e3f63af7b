"""A node that is killed at any moment of its searches loses nothing it had committed, and goes on by itself."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.files.records import unpack
from protocol.recording.records.session import Session
from protocol.recording.records.verdict import Verdict
from tests.mesh_nodes import CONFIG, Node, effects_of, kill_group, shop, until
from trailmesh.demo.mesh import pair

pytestmark = pytest.mark.browser
KILLS = 10
SEED = 20_260_102
LATEST_S = 3.0
"""The latest moment of a kill after the search began."""
_COMMITTED = {
    "delta": "SELECT search || ' ' || peer || ' ' || epoch || ' ' || seq FROM deltas",
    "lease": "SELECT id FROM leases",
    "session": "SELECT subject FROM artefacts WHERE kind = 'session'",
    "search": "SELECT id FROM searches",
}


def _committed(home: Path) -> set[tuple[str, str]]:
    """What a reader beside the node sees: only what was committed."""
    database = sqlite3.connect(f"file:{home / 'store.db'}?mode=ro", uri=True)
    try:
        return {(what, row[0]) for what, query in _COMMITTED.items() for row in database.execute(query)}
    finally:
        database.close()


def _begin(node: Node, url: str, *, reachable: bool) -> Any:
    condition = {"url": "*/help"} if reachable else {"title": "no page is called this"}
    # Ten searches may go on at once in the end: those that can succeed get the time for it.
    seconds = 60 if reachable else 12
    return node.spawn(
        *("explore", "run", "--goal", "open the help page", "--start", f"{url}/"),
        *("--until", json.dumps(condition), "--seconds", str(seconds)),
    )


def _check_sessions(home: Path) -> None:
    """Of a node that is dead: a session is listed as committed exactly when it is signed."""
    database = sqlite3.connect(f"file:{home / 'store.db'}?mode=ro", uri=True)
    try:
        signed = "SELECT body, EXISTS (SELECT 1 FROM artefacts WHERE subject = id AND kind = 'session') FROM sessions"
        for body, is_signed in database.execute(signed):
            session = unpack(body, Session)
            assert bool(is_signed) == (session.verdict in (Verdict.PASS, Verdict.FAIL)), session
    finally:
        database.close()


def _check_healthy(node: Node) -> None:
    health = node.run("node", "doctor", "--no-browser")
    assert health["healthy"], health


@pytest.mark.field
def test_ten_kills_of_a_coordinator_lose_nothing_and_its_searches_end_by_themselves(tmp_path: Path) -> None:
    moments = random.Random(SEED)
    print(f"seed {SEED}")
    node = Node(tmp_path / "anna", "anna").create(tmp_path, CONFIG)
    known: set[tuple[str, str]] = set()
    with shop(tmp_path, 20) as (url, effects):
        node.start()
        try:
            for number in range(KILLS):
                assert node.process is not None
                client = _begin(node, url, reachable=bool(number % 2))
                assert client.stderr is not None
                assert "sea-" in client.stderr.readline()
                time.sleep(moments.uniform(0, LATEST_S))  # the moment of the kill, not a wait for anything
                known |= _committed(node.home)
                node.kill()
                kill_group(client)
                lost = known - _committed(node.home)
                assert not lost, f"seed {SEED}, kill {number}: {sorted(lost)[:5]}"
                _check_sessions(node.home)
                node.start()
                _check_healthy(node)
            assert {what for what, _ in known} >= {"delta", "lease", "search"}
            until(lambda: _none_runs(node), "the end of every search", 90)
            assert "done" in {search["status"] for search in node.run("explore", "show")["searches"]}
            assert not known - _committed(node.home)
            assert effects_of(effects) == []
        finally:
            node.stop()


def _none_runs(node: Node) -> bool:
    return all(search["status"] != "running" for search in node.run("explore", "show")["searches"])


@pytest.mark.field
def test_a_coordinator_killed_in_a_shared_search_takes_it_up_again_with_all_its_peer_had_acknowledged(
    tmp_path: Path,
) -> None:
    nodes = [Node(tmp_path / name, name).create(tmp_path, CONFIG) for name in ("anna", "bruno")]
    anna, bruno = nodes
    with shop(tmp_path, 40) as (url, effects):
        try:
            for node in nodes:
                node.start()
            pair(anna, bruno, grant="explore", grant_back="explore")
            client = _begin(anna, url, reachable=False)
            own = f" {anna.run('node', 'status')['node']} "
            acknowledged = until(
                lambda: {d for w, d in _committed(bruno.home) if own in d}, "bruno has merged from anna"
            )
            anna.kill()
            kill_group(client)
            assert {("delta", delta) for delta in acknowledged} <= _committed(anna.home)
            anna.start()
            until(lambda: _none_runs(anna), "anna ends the search", 60)
            until(lambda: _none_runs(bruno), "bruno is told", 20)
            summary = anna.run("explore", "show", anna.run("explore", "show")["searches"][0]["id"])
            assert (summary["status"], summary["reason"]) == ("failed", "search.not_found_goal")
            _check_healthy(anna)
            assert effects_of(effects) == []
        finally:
            for node in nodes:
                node.stop()
