"""``explore rm`` and ``session purge`` through the command line, on nodes that serve and on one that does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mesh_nodes import CONFIG, Node, cli, interrupt, refusal, serving, shop, until

pytestmark = pytest.mark.browser
NEVER = json.dumps({"title": "no page is called this"})


def _search(url: str) -> list[str]:
    return ["explore", "run", "--goal", "find a mug", "--start", f"{url}/", "--until", NEVER, "--seconds", "60"]


def _disk(node: Node, of: str) -> int:
    """Bytes that a node keeps of its peer ``of``, at most."""
    return int(node.run("node", "status")["peer_disk"].get(of, 0))


@pytest.mark.field
def test_a_search_of_two_nodes_is_removed_where_it_does_not_run_and_the_peer_has_its_disk_back(tmp_path: Path) -> None:
    with shop(tmp_path) as (url, _), serving(tmp_path, "anna", "bruno") as (anna, bruno):
        her = anna.run("node", "id")["node"]
        running = anna.spawn(*_search(url))
        (search,) = until(lambda: bruno.run("explore", "show")["searches"], "bruno takes part")
        until(lambda: _disk(bruno, her) > 3_000, "anna's share is kept there")
        assert refusal("explore", "rm", search["id"], "--yes", home=bruno.home)[:2] == ("search.state", 2)
        assert refusal("explore", "rm", search["id"], "--yes", home=anna.home)[:2] == ("search.state", 2)
        interrupt(running)
        assert bruno.run("explore", "stop", search["id"])["status"] == "declined"
        assert refusal("explore", "rm", search["id"], home=bruno.home)[:2] == ("input.invalid", 2)
        before = _disk(bruno, her)
        removed = bruno.run("explore", "rm", search["id"], "--yes")
        assert [(peer["name"], peer["bytes"] > 1_000) for peer in removed["freed"]] == [("anna", True)]
        assert _disk(bruno, her) <= before - removed["freed"][0]["bytes"] + 2_048, "but for rows of the trail"
        assert bruno.run("explore", "show")["searches"] == []
        assert refusal("explore", "rm", search["id"], "--yes", home=bruno.home)[:2] == ("input.not_found", 2)
        assert bruno.run("log", "audit")["sound"]
        # Its coordinator cannot bring it back; alone it goes on, and removes its own copy in the end.
        again = anna.spawn("explore", "run", "--resume", search["id"], "--seconds", "3")
        again.communicate(timeout=120)
        assert bruno.run("explore", "show")["searches"] == []
        assert anna.run("explore", "rm", search["id"], "--yes")["search"] == search["id"]
        assert anna.run("explore", "show")["searches"] == []


def test_a_session_is_removed_with_all_its_files_by_a_node_that_does_not_serve(tmp_path: Path) -> None:
    with shop(tmp_path) as (url, _):
        node = Node(tmp_path / "anna", "anna").create(tmp_path, CONFIG)
        actions = tmp_path / "actions.yaml"
        actions.write_text(f"steps:\n  - goto: {url}/\n")
        session = node.run("session", "record", str(actions))["id"]
    blobs = node.home / "blobs"
    assert [path for path in blobs.glob("*/*") if path.is_file()]
    assert refusal("session", "purge", session, home=node.home)[:2] == ("input.invalid", 2)
    status, out, _ = cli("session", "purge", session, "--yes", home=node.home)
    assert (status, "purged  ses-" in out) == (0, True)
    assert [path for path in blobs.glob("*/*") if path.is_file()] == []
    assert node.run("session", "ls")["sessions"] == []
    left = node.run("session", "show", session)
    assert left.keys() == {"removed", "names"}
    assert (left["removed"]["verdict"], left["removed"]["steps"], len(left["removed"]["manifest"])) == ("pass", 1, 64)
    assert "127.0.0.1" not in json.dumps(left), "no address is left"
    assert "pages and steps are gone" in cli("session", "show", session, home=node.home)[1]
    assert refusal("session", "purge", session, "--yes", home=node.home)[:2] == ("input.not_found", 2)
    assert node.run("log", "audit")["sound"]
    shown = cli("audit", "--json", home=node.home)[1]
    assert "session.purge" in shown
    assert session in shown
