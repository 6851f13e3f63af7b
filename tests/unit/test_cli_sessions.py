"""How sessions are listed for people."""

from __future__ import annotations

import pytest

from node.cli.base.render import render
from node.verbs.sessions.session import LIST


def test_a_session_is_listed_with_all_it_is_known_by(capsys: pytest.CaptureFixture[str]) -> None:
    session = {
        "id": "ses-A",
        "title": "The mugs",
        "start_url": "https://shop.example/mugs",
        "verdict": "partial",
        "steps": 3,
        "node": "NODEIDX-REST",
        "created_ms": 1_000,
    }
    render(LIST.kinds, {"sessions": [session], "text": "", "names": {}})
    assert capsys.readouterr().out.splitlines() == [
        "sessions:",
        "  ses-A partial, 3 steps, 1970-01-01 00:00:01 UTC, by NODEIDX: The mugs, https://shop.example/mugs",
    ]


def test_that_there_is_none_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    render(LIST.kinds, {"sessions": [], "text": "mugs", "archived": False})
    assert capsys.readouterr().out == "no such sessions (`trailmesh session record` makes one)\n"
