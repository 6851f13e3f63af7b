"""``trailmesh demo``: what it does around the run itself."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli import main
from trailmesh.demo import exploration
from trailmesh.demo.mesh import CommandFailed
from trailmesh.demo.release import FLOW


def demo(*arguments: str) -> tuple[int, str]:
    """Exit code and output of ``trailmesh demo``."""
    done = CliRunner().invoke(main, ["demo", *arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize("arguments", [(), ("mesh",)])
def test_a_directory_with_files_is_refused_and_stays_as_it_is(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    kept = tmp_path / "mine.txt"
    kept.write_text("mine")
    code, output = demo(*arguments, "--json", "--out", str(tmp_path))
    assert code == 2
    assert json.loads(output)["error"]["code"] == "input.invalid"
    assert [*tmp_path.iterdir()] == [kept]


def test_a_failed_command_of_the_demo_is_told_with_its_own_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(directory: Path, **_: object) -> bool:
        raise CommandFailed(["node", "init"], 3, "browser.missing", "no Chromium", {})

    monkeypatch.setattr(exploration, "explore", fails)
    code, output = demo("mesh", "--json", "--out", str(tmp_path / "out"))
    told = json.loads(output)["error"]
    assert code == 3
    assert told["code"] == "browser.missing"
    assert str(tmp_path / "out") in told["message"]


def test_ctrl_c_ends_it_and_leaves_no_directory_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(directory: Path, **_: object) -> bool:
        assert directory.is_dir()
        raise KeyboardInterrupt

    monkeypatch.setattr(exploration, "explore", interrupted)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code, output = demo("mesh", "--json")
    assert code == 130
    assert json.loads(output)["error"]["code"] == "internal.cancelled"
    assert not [*tmp_path.iterdir()]


def test_the_readme_shows_the_file_that_the_demo_runs() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"```yaml\n{FLOW.format(url='http://127.0.0.1:8321')}```" in readme


def test_a_shop_whose_port_is_taken_says_so() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, output = demo("shop", "--json", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert json.loads(output)["error"]["code"] == "input.invalid"
