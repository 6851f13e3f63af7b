"""The rooms of ``node/``: others import their interface only, and the house stays small enough to hold in the head."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import adapters.browser
import node

HOUSE: Final = Path(node.__file__).parent
BROWSER: Final = Path(adapters.browser.__file__).parent
BOXES_MAX: Final = 24
FLOORS_MAX: Final = 14
OPEN: Final = {"base", "process", "cli", "verbs"}
"""Rooms whose modules are imported directly: a command loads only what it needs; a group of verbs, or a part, is one module."""


def modules() -> list[Path]:
    """Every module of the house."""
    return sorted(HOUSE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The folder below ``node/``, or the name of a module that stands there by itself."""
    return path.relative_to(HOUSE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line and words of each import out of ``node``: ``node.trust.peers`` as ["trust", "peers"]."""
    for found in ast.walk(ast.parse(path.read_text())):
        if isinstance(found, ast.ImportFrom) and found.module == "node":
            yield from ((found.lineno, [name.name]) for name in found.names if (HOUSE / name.name).is_dir())
        elif isinstance(found, ast.ImportFrom) and (found.module or "").startswith("node."):
            yield found.lineno, (found.module or "").split(".")[1:]
        elif isinstance(found, ast.Import):
            yield from (
                (found.lineno, name.name.split(".")[1:]) for name in found.names if name.name.startswith("node.")
            )


def rooms_below() -> dict[str, set[str]]:
    """By room, the rooms it imports."""
    below: dict[str, set[str]] = defaultdict(set)
    for path in modules():
        below[room_of(path)] |= {words[0] for _, words in imports_of(path)} - {room_of(path)}
    return below


def door(words: list[str]) -> int:
    """How many of ``words`` name an interface: that of a room, or of a part of one that is divided."""
    return 2 if len(words) > 1 and (HOUSE / words[0] / words[1]).is_dir() else 1


def test_a_room_is_imported_through_its_interface_only() -> None:
    inside = [
        f"{path.relative_to(HOUSE)}:{line} imports node.{'.'.join(words)}"
        for path in modules()
        for line, words in imports_of(path)
        if len(words) > door(words) and words[0] != room_of(path) and words[0] not in OPEN
    ]
    assert not inside


def test_a_part_of_the_browser_that_has_a_door_is_imported_through_it() -> None:
    parts = {path.parent for path in BROWSER.glob("*/__init__.py") if "__all__" in path.read_text()}
    inside = [
        f"{path.relative_to(BROWSER)}:{found.lineno} imports {found.module}"
        for path in BROWSER.rglob("*.py")
        for found in ast.walk(ast.parse(path.read_text()))
        if isinstance(found, ast.ImportFrom) and found.module
        for part in parts - {path.parent}
        if found.module.startswith(f"adapters.browser.{part.name}.")
    ]
    assert len(parts) > 1
    assert not inside


def test_every_room_says_what_it_owns_and_what_it_never_does() -> None:
    for door in HOUSE.glob("*/__init__.py"):
        said = ast.get_docstring(ast.parse(door.read_text())) or ""
        assert "ever " in said, f"{door.parent.name} says what it never does"
        assert len(said.split()) > 20, f"{door.parent.name} says what it owns"


def test_the_house_stays_within_its_boxes_and_floors() -> None:
    below = rooms_below()

    @cache
    def floor(room: str) -> int:
        return 1 + max((floor(other) for other in below[room]), default=0)

    boxes = {room_of(path) for path in modules()} - {"__init__"}
    assert len(boxes) <= BOXES_MAX, sorted(boxes)
    assert max(floor(room) for room in boxes) <= FLOORS_MAX
