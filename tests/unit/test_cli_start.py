"""The modules that are run as programs."""

from __future__ import annotations

import runpy
import sys

import pytest

import node.__main__
import node.cli.__main__

PROGRAMS = {"node.cli": ("trailmesh", node.cli.__main__), "node": ("python -m node", node.__main__)}


@pytest.mark.parametrize("module", PROGRAMS)
def test_a_module_is_a_program_when_it_is_run_and_nothing_when_it_is_imported(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, imported = PROGRAMS[module]
    assert imported.__name__ == f"{module}.__main__"
    monkeypatch.delitem(sys.modules, imported.__name__)
    monkeypatch.setattr("sys.argv", ["program", "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert (ended.value.code, capsys.readouterr().out.splitlines()[0]) == (
        0,
        f"Usage: {name} [OPTIONS] COMMAND [ARGS]...",
    )
