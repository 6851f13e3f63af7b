"""The table of the guards that are taken out: ``tests/guards/*.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests" / "guards"


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One place of a file that changes."""

    snippet: str
    """The guard, word for word. It stands exactly once in the file."""
    without: str = ""
    """What stands in its place once it is removed."""


class Guard(Change, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One guard and the test that misses it."""

    file: str
    """Below the root of the project."""
    name: str
    """Function or class in it, as the page and the docstring of the test name it."""
    test: str
    """``unit/test_x.py::test_y``, below tests/; with ``[id]``, one case of it."""
    also: tuple[Change, ...] = ()
    """Where it stands besides, in the same file: a binding that both sides compute goes from both."""

    @property
    def function(self) -> str:
        """The test without the id of its case."""
        return self.test.partition("[")[0]

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.file}, {self.name}"


def table(folder: Path = TABLES) -> list[Guard]:
    """Every guard, by file of the table and place in it. Raises ``msgspec.ValidationError``."""
    return [
        guard
        for path in sorted(folder.glob("*.toml"))
        for guard in msgspec.convert(tomllib.loads(path.read_text()).get("guard", []), list[Guard])
    ]
