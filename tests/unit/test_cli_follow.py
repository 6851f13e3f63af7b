"""``trailmesh events``: one page, or every change as it happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from node.cli import main
from node.cli.nodes.events import _line
from node.process import client
from tests.commands import Answers
from tests.tables import each

NODE = "NODEABC-DEFGHIJ-KLMNOPQ-RSTUVWX-YZ23456-7ABCDEF-GHIJKLM-NOPQRST"
CHANGE = {"number": 7, "kind": "session.recorded", "ids": ["ses-A", NODE], "at_ms": 1_000, "who": "owner"}
LINE = "     7  1970-01-01 00:00:01  owner       session.recorded  ses-A  NODEABC"


def test_changes_are_listed_one_in_a_line() -> None:
    node = Answers(events_list=[{"changes": [CHANGE, CHANGE], "last": 7, "oldest": 1}])
    done = node.run("events", "--since", "3", "--kind", "session")
    assert (done.code, done.out) == (0, [LINE, LINE])
    assert done.asked == [("events.list", {"since": 3, "kind": "session", "limit": 100})]
    assert json.loads("\n".join(node.run("events", "--json").out))["last"] == 7


@each(
    ("who", "shown"), [("agent:shopper", "agent:shopper"), ("x" * 39, "x" * 39), ("x" * 40, "x" * 7), (NODE, "NODEABC")]
)
def test_a_caller_that_is_a_node_is_shortened(who: str, shown: str) -> None:
    assert _line(CHANGE | {"who": who, "ids": []}).split()[3] == shown


@each(("told", "shown"), [("y" * 40, "y" * 40), ("y" * 41, "y" * 7)])
def test_an_id_that_is_a_node_s_is_shortened(told: str, shown: str) -> None:
    assert _line(CHANGE | {"ids": [told]}).split()[-1] == shown


def followed(monkeypatch: pytest.MonkeyPatch, *words: str, seen: list[Any], last: int | None) -> Result:
    """Follow a node that is away, then tells a change, is away twice and tells another one, until Ctrl-C."""

    async def follow(home: Path, params: dict[str, Any], show: Any, away: Any, *, agent: Any) -> None:
        seen.append((home, dict(params), agent))
        away()
        show({"changes": [CHANGE], "last": 7})
        away()
        away()
        show({"changes": [CHANGE | {"who": "x\ny"}], "last": 8})
        params["since"] = last
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "follow", follow)
    return CliRunner().invoke(main, ["events", "--follow", "--home", "/h", *words], catch_exceptions=False)


def test_who_follows_is_told_once_each_time_that_the_node_is_away_and_where_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []
    done = followed(monkeypatch, "--since", "6", seen=seen, last=8)
    assert seen == [(Path("/h"), {"since": 6, "kind": "", "limit": 100}, None)]
    assert (done.exit_code, done.stdout.splitlines()) == (0, [LINE, LINE.replace("owner", "x y  ")])
    waiting = "the node is not running: waiting for it"
    assert done.stderr.splitlines() == [waiting, waiting, "to continue: trailmesh events --follow --since 8"]


def test_who_has_seen_nothing_is_told_of_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "to continue" not in followed(monkeypatch, seen=[], last=None).stderr
    assert "--since 0" in followed(monkeypatch, seen=[], last=0).stderr


def test_each_change_is_one_line_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    done = followed(monkeypatch, "--json", seen=[], last=8)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [CHANGE, CHANGE | {"who": "x\ny"}]
