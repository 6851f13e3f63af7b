"""``trailmesh actions check``: an action file is checked where there is no node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from node.cli.main import main

GOOD = 'title: Door\nstart: "http://a.test/?token={secret: door}"\nsteps:\n- assert: In stock\n- goto: http://a.test/?token=abc\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAILMESH_HOME", str(tmp_path / "none"))
    return tmp_path


def checked(here: Path, text: str, *options: str) -> Result:
    (here / "actions.yaml").write_text(text)
    return CliRunner().invoke(main, ["actions", "check", str(here / "actions.yaml"), *options])


def test_a_file_is_checked_without_a_node_and_told_action_by_action(here: Path) -> None:
    done = checked(here, GOOD)
    assert done.exit_code == 0
    assert "   2  expect the text of the page to contain “In stock”" in done.output
    assert "Door: 3 actions, no mistake found; needs the secrets door" in done.output
    assert "a part that is not stored" in done.output
    assert not (here / "none").exists()
    told = json.loads(checked(here, GOOD, "--json").output)
    assert (told["title"], told["secrets"], len(told["actions"]), len(told["notes"])) == ("Door", ["door"], 3, 1)


def test_a_mistake_is_named_with_its_line_and_ends_with_2(here: Path) -> None:
    done = checked(here, GOOD + "- jump: high\n")
    assert done.exit_code == 2
    assert "line 6: unknown action “jump”" in done.output
    assert CliRunner().invoke(main, ["actions", "check", str(here / "none.yaml")]).exit_code == 2


def test_what_cannot_be_performed_of_a_recording_is_listed_if_that_is_wanted(here: Path) -> None:
    steps = [{"type": "navigate", "url": "http://a.test/"}, {"type": "customStep", "name": "x", "parameters": {}}]
    text = json.dumps({"title": "Door", "steps": steps})
    assert checked(here, text).exit_code == 2
    done = checked(here, text, "--lenient")
    assert done.exit_code == 0
    assert "! skipped steps[1].type (customStep): customStep: the meaning of the step" in done.output
    assert "Door: 1 action, 1 step skipped" in done.output
