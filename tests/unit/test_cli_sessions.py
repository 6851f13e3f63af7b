"""How sessions are listed for people."""

from __future__ import annotations

import pytest

from node.cli.sessions.session import _show_list


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
    _show_list({"sessions": [session], "text": "", "names": {}})
    assert capsys.readouterr().out.splitlines() == [
        "ses-A  partial, 3 steps, 1970-01-01 00:00:01 UTC, recorded by NODEIDX",
        "  The mugs",
        "  https://shop.example/mugs",
    ]


@pytest.mark.parametrize(
    ("text", "said"), [("", "no sessions yet"), ("mugs", "no session contains 'mugs' in title, address or id")]
)
def test_that_there_is_none_is_said_in_words(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    _show_list({"sessions": [], "text": text, "archived": False})
    assert capsys.readouterr().out.startswith(said)
