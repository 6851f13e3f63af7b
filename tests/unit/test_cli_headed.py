"""``session record --headed``: what is refused before a window opens."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli import main
from node.cli.sessions.headed import _line, show
from node.process.watching import refuse_without_display
from protocol.errors import MeshError
from protocol.risk.pressing.unguarded import limits_of

URL = "https://shop.example/"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((URL,), "add --headed"),
        (("actions.yaml", "--headed"), "need the address at which to begin"),
        (("actions.yaml", "--output", "other.yaml"), "belong to --headed"),
        ((URL, "--attach", "http://127.0.0.1:1", "--output", "actions.yaml"), "already exists"),
        (("ftp://shop.example/", "--headed"), "cannot be read"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "actions.yaml").write_text("steps: [wait: ]\n")
    done = CliRunner().invoke(main, ["session", "record", *arguments])
    assert done.exit_code == 2
    assert why in done.output
    assert (tmp_path / "actions.yaml").read_text() == "steps: [wait: ]\n"


def test_without_a_display_the_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    refuse_without_display({"DISPLAY": ":0"})
    refuse_without_display({"WAYLAND_DISPLAY": "wayland-0"})
    with pytest.raises(MeshError) as caught:
        refuse_without_display({"DISPLAY": ""})
    assert caught.value.code == "browser.launch"
    assert "--attach" in caught.value.message


def test_the_command_that_records_the_file_names_all_that_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    secrets = [
        {"name": "password", "origin": "https://shop.example", "is_text": False},
        {"name": "code", "origin": "https://shop.example", "is_text": True},
    ]
    show(
        {
            "output": "a.yaml",
            "steps": 3,
            "secrets": secrets,
            "sent": ["POST https://shop.example/login"],
            "risk": 5,
            "scripted": 1,
        }
    )
    told = capsys.readouterr().out
    assert "wrote a.yaml (3 steps)\nleft out: 1 event that scripts of the page made up" in told
    assert told.split("trailmesh ", 1)[1].replace("\\\n    ", "").split() == [
        "session",
        "record",
        "a.yaml",
        "--secret",
        "password@https://shop.example=SOURCE",
        "--secret",
        "code:text@https://shop.example=SOURCE",
        "--allow",
        "'POST",
        "https://shop.example/login'",
        "--approve-class",
        "5",
    ]


def test_what_no_guard_sees_in_a_browser_of_somebody_else_is_told_as_the_work_begins() -> None:
    told = _line({"open": "https://shop.example/", "unguarded": limits_of("attached")})
    assert "not everything that its pages send is judged" in told
    assert limits_of("launched") == ()


def test_the_command_at_the_end_is_one_of_a_shell_whatever_a_page_sends(capsys: pytest.CaptureFixture[str]) -> None:
    """Guard: node/cli/sessions/headed.py, show."""
    sent = ["POST https://shop.example/a';touch$IFS/tmp/x;'", "POST https://shop.example/*"]
    show({"output": "my file.yaml", "steps": 1, "secrets": [], "sent": sent, "risk": 1, "scripted": 0})
    command = capsys.readouterr().out.split("trailmesh ", 1)[1]
    assert shlex.split(command.replace("\\\n", "")) == [
        *("session", "record", "my file.yaml", "--allow", sent[0]),
        *("--allow", "POST https://shop.example/?"),  # a star would allow any other address
    ]
