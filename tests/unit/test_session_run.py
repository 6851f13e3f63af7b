"""What `trailmesh session run` refuses before it performs anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from node.cli.sessions.session_run import _check
from protocol.errors import MeshError

NOTHING: dict[str, Any] = {
    "trust": (),
    "config": "",
    "capsule": "",
    "base_url": "",
    "level": "",
    "strict": "",
    "writes": (),
}


@pytest.mark.parametrize("option", ["base_url", "level", "strict", "writes"])
def test_what_only_a_replay_takes_is_refused_for_a_file_that_would_be_recorded(tmp_path: Path, option: str) -> None:
    file = tmp_path / "flow.yaml"
    file.touch()
    _check((str(file),), NOTHING)
    with pytest.raises(MeshError, match=f"--{option.replace('_', '-')} is for replays") as refused:
        _check((str(file),), {**NOTHING, option: "text"})
    assert refused.value.code == "input.invalid"
    bundle = tmp_path / "flow.tmsession"
    bundle.touch()
    _check((str(bundle),), {**NOTHING, option: "text", "trust": ("key",)})


def test_a_file_whose_name_no_report_can_say_is_refused_before_the_others_are_run(tmp_path: Path) -> None:
    with pytest.raises(MeshError, match="is not UTF-8: rename it"):
        _check((str(tmp_path / "bad\udcff.yaml"),), NOTHING)
