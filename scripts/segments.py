"""Which tests run which part of the code: found by running them once in a copy whose code is marked.

A *segment* is a run of statements in a function, up to the end of the first of them that branches: if its first statement
runs, the others may. Each is marked in what is compiled of a file; its text stays, so tests that read the source and lines
of tracebacks notice nothing. What stands outside of functions runs when it is imported and has no segment.
"""

from __future__ import annotations

import ast
import importlib.util
import marshal
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from scripts.reached import END, TEST

_BLOCKS = ("body", "orelse", "finalbody")
_NAME = "__reached__"
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.With, ast.AsyncWith, ast.Match)


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a file that run after each other."""

    first: int
    last: int
    header: int = 0
    """If it begins a function: the line of its ``def``. Defaults of arguments stand from there on."""


def _blocks(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Every block within a function, and the line of the function that it begins or 0."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in _within(node):
                for field in _BLOCKS:
                    block = getattr(inner, field, None)
                    if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                        yield block, node.lineno if inner is node else 0


def _within(function: ast.AST) -> Iterator[ast.AST]:
    """A function and what stands in it, without other functions and classes."""
    yield function
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield from _within(child)


def _parted(block: list[ast.stmt]) -> list[list[ast.stmt]]:
    """The segments of a block; a docstring belongs to none."""
    first = block[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        block = block[1:]
    parts: list[list[ast.stmt]] = [[]]
    for statement in block:
        parts[-1].append(statement)
        if isinstance(statement, _BRANCHES):
            parts.append([])
    return [part for part in parts if part]


def segments(source: bytes) -> list[Segment]:
    """Of one file, in the order of ``marked``."""
    return [
        Segment(first=part[0].lineno, last=part[-1].end_lineno or 0, header=header if part is parts[0] else 0)
        for block, header in _blocks(ast.parse(source))
        for parts in [_parted(block)]
        for part in parts
    ]


def place(of: Sequence[Segment], line: int) -> int | None:
    """The innermost segment that ``line`` stands in; None for what runs when the file is imported."""
    found = [number for number, each in enumerate(of) if (each.header or each.first) <= line <= each.last]
    return max(found, key=lambda number: of[number].first, default=None)


def marked(source: bytes, file: str, first: int) -> bytes:
    """What Python loads in place of a compiled ``file``: each segment tells its number, counted from ``first``."""
    tree = ast.parse(source)
    for block, _ in list(_blocks(tree)):
        for part in _parted(block):
            mark = ast.parse(f"{_NAME}[{first}]").body[0]
            for node in ast.walk(mark):
                ast.copy_location(node, part[0])
            block.insert(next(at for at, each in enumerate(block) if each is part[0]), mark)
            first += 1
    at = sum(
        isinstance(each, ast.Expr) or (isinstance(each, ast.ImportFrom) and each.module == "__future__")
        for each in tree.body[:2]
    )
    tree.body[at:at] = ast.parse(f"from scripts.reached import REACHED as {_NAME}").body
    code = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    # A compiled file that is never compared with its source, as PEP 552 lays it out: the second word says so.
    return (
        importlib.util.MAGIC_NUMBER
        + (1).to_bytes(4, "little")
        + importlib.util.source_hash(source)
        + marshal.dumps(code)
    )


class Marks:
    """Every segment below some folders of the project, numbered."""

    def __init__(self, root: Path, folders: Sequence[str]) -> None:
        self._root = root
        self._of: dict[str, list[Segment]] = {}
        self._first: dict[str, int] = {}
        count = 0
        for path in sorted(path for folder in folders for path in (root / folder).rglob("*.py")):
            file = path.relative_to(root).as_posix()
            self._of[file], self._first[file] = segments(path.read_bytes()), count
            count += len(self._of[file])

    def number(self, file: str, line: int) -> int | None:
        """Of the segment at ``line``; None for what runs when the file is imported."""
        at = place(self._of[file], line)
        return None if at is None else self._first[file] + at

    def make(self, homes: Sequence[Path]) -> None:
        """Mark these copies. Tracebacks name the files of the first."""
        for file, first in self._first.items():
            data = marked((self._root / file).read_bytes(), str(homes[0] / file), first)
            for home in homes:
                compiled = Path(importlib.util.cache_from_source(str(home / file)))
                compiled.parent.mkdir(exist_ok=True)
                compiled.write_bytes(data)


class Reach(msgspec.Struct, kw_only=True):
    """What one test runs."""

    seconds: float = 0.0
    bits: str = "0"
    """A hexadecimal number with a bit for each segment."""

    def runs(self, number: int) -> bool:
        """Whether it reaches this segment."""
        return bool(int(self.bits, 16) >> number & 1)


def read(text: str) -> dict[str, Reach]:
    """What each test reached, by its name without the cases that it is run for."""
    found: dict[str, Reach] = {}
    now, began, bits = "", 0.0, 0
    for line in text.splitlines():
        if line[:1] in (TEST, END):
            at, name = line[2:].split(" ", 1)
            reach = found.setdefault(now, Reach())
            reach.bits = f"{int(reach.bits, 16) | bits:x}"
            if line[0] == END:
                reach.seconds = round(reach.seconds + float(at) - began, 3)
            now, began, bits = name.partition("[")[0] if line[0] == TEST else "", float(at), 0
        elif line.isdigit():
            bits |= 1 << int(line)
    found.pop("", None)
    return found
