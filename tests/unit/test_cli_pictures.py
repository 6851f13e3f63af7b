"""Pictures that a command takes: it writes them itself, and none of their bytes are printed."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Answers
from tests.tables import each

PNG = b"\x89PNG and more"
ENCODED = base64.b64encode(PNG).decode()
TAKEN: dict[str, dict[str, Any]] = {
    "live_screenshot": {"session": "liv-A", "bytes": 12, "png": ENCODED, "out": ""},
    "task_picture": {"task": "tas-A", "asks": "a box", "bytes": 12, "png": ENCODED, "out": ""},
}
COMMANDS = [
    ("live_screenshot", ["live", "screenshot", "--as-owner"], "liv-A"),
    ("task_picture", ["task", "picture", "tas-A"], "tas-A"),
]


@each(("verb", "words", "name"), COMMANDS)
def test_a_command_writes_its_picture_itself_and_prints_where(
    verb: str, words: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{name}-1.png").write_bytes(b"kept")
    for more, file in (((), f"{name}-2.png"), ((), f"{name}-3.png"), (("--out", "page.png"), "page.png")):
        answers = Answers(**{verb: [TAKEN[verb]]})
        for shown in ((), ("--json",)) if more else ((),):
            done = answers.run(*words, *more, *shown)
            assert (done.code, ENCODED in "".join(done.out)) == (0, False), done
            assert str(tmp_path / file) in "\n".join(done.out) and len(done.out) < 10
        assert (tmp_path / file).read_bytes() == PNG
        assert (tmp_path / file).stat().st_mode & 0o777 == 0o600, "a page can show what is for nobody else"
        assert all("out" not in asked for _, asked in answers.asked), "the node may be that of somebody else"
    assert (tmp_path / f"{name}-1.png").read_bytes() == b"kept"


def test_a_picture_that_cannot_be_written_is_refused_with_the_name_of_its_file(tmp_path: Path) -> None:
    answers = Answers(live_screenshot=[TAKEN["live_screenshot"]])
    done = answers.run("live", "screenshot", "--as-owner", "--out", str(tmp_path))
    assert done.code == 2 and "input.invalid" in done.err[0] and str(tmp_path) in done.err[0]
