"""Nodes are called by their names where a person reads, and by their ids where a program does."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.base.plain import called, plain
from node.cli.base.render import render
from node.cli.searches.explore_words import progress_line
from node.cli.sessions.session import _show_session
from node.verbs.sessions.session import LIST
from tests.tables import each
from tests.unit.test_sessions_handover import node_of, pair

NODE = "ABCDEFG-" + "X" * 54


@each(
    ("names", "said"),
    [
        ({NODE: "bruno"}, "bruno (ABCDEFG)"),
        ({NODE: "this node"}, "this node"),
        ({}, "ABCDEFG"),
        ({"other": "x"}, "ABCDEFG"),
    ],
)
def test_a_node_is_called_by_its_name_and_the_short_form_of_its_id(names: dict[str, str], said: str) -> None:
    assert called(NODE, names) == said


def test_a_search_tells_of_nodes_by_name() -> None:
    names = {NODE: "bruno"}
    assert progress_line({"peer": NODE, "claim": 2, "names": names}).startswith("  bruno (ABCDEFG) claims success")
    assert progress_line({"peer": NODE, "lease_expired": "x"}).startswith("  ABCDEFG stopped answering")


async def test_sessions_are_listed_and_shown_by_the_names_of_their_recorders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = await node_of(), await node_of(9)
    await pair(here, there)
    mine, other = await here.record(), await there.record()
    await there.call("export", session=other.id, out=str(tmp_path / "a"))
    await here.call("import", path=str(tmp_path / "a"))
    await here.call("replay", session=other.id)
    listed = await here.call("list")
    assert listed.names == {here.node: "this node", there.node: "bruno"}
    assert {session.node for session in listed.sessions} == {here.node, there.node}
    render(LIST.kinds, plain(listed))
    out = capsys.readouterr().out
    assert "by this node:" in out and f"by bruno ({there.node[:7]}):" in out
    _show_session(plain(await here.call("show", session=other.id)))
    out = capsys.readouterr().out
    assert f"signed by       bruno ({there.node[:7]})" in out and "replayed by this node" in out
    assert (await here.call("replay", session=mine.id)).names == {here.node: "this node"}
