"""Every call by which a text is redacted, as guards that can be taken out one at a time.

``calls`` reads them from the source, so a new one is known at once. ``tests/guards/redactions.toml`` says which test notices
that a call is left out; ``scripts.guards`` leaves them out. A call stands for its first argument then, or, where the function
is handed on, for one that changes nothing.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from scripts.guard_table import ROOT, TABLES, Guard

TABLE: Final = TABLES / "redactions.toml"
_ROOMS: Final = ("protocol", "adapters", "node")
_REDACTS: Final = re.compile(r"_?redact(?:ed)?(?:_\w+)?|without_value|(?:by_)?stored_names?")
"""Names of functions that return their first argument redacted, because it leaves."""
_COMPARES: Final = re.compile(r"comparable(?:_\w+)?")
"""Names of functions that return it in the form in which a recording holds it, because it is compared with one."""
_WALKS: Final = re.compile(r"redacted")
_ASKS: Final = re.compile(r"says_secret|holds_token")
"""Names of functions that say whether there is something to redact, so that the text is refused."""
_UNCHANGED: Final = "(lambda text, *_: text)"


class Call(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One place at which something is redacted."""

    file: str
    name: str
    """The function or method that it stands in."""
    call: str
    """Its source on one line; a number follows if the function has several that read alike."""
    guard: Guard

    @property
    def label(self) -> str:
        """As it stands in the table."""
        return f"{self.file}, {self.name}: {self.call}"


class Noticed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Calls and the test that fails if one of them is left out."""

    test: str
    calls: tuple[str, ...]
    """As ``Call.label``."""


def calls(root: Path = ROOT) -> Iterator[Call]:
    """Every redaction in the product, by file and place."""
    for path in sorted(path for room in _ROOMS for path in (root / room).rglob("*.py")):
        file = str(path.relative_to(root))
        yield from calls_in(file, path.read_text())


def calls_in(file: str, source: str) -> Iterator[Call]:
    """Every redaction in the ``source`` of ``file``."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column_bytes: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column_bytes].decode())

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None, "ast gives both"
        return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)

    seen: dict[str, int] = {}
    for name, node in _redactions(ast.parse(source), ""):
        start, end = span(node)
        instead = _UNCHANGED
        if isinstance(node, ast.Call):
            asks = _ASKS.fullmatch(_called(node.func))
            instead = "False" if asks else f"({source[slice(*span(node.args[0]))]})"
        said = re.sub(r"\s+", " ", source[start:end])
        seen[f"{name}: {said}"] = number = seen.get(f"{name}: {said}", 0) + 1
        snippet, without = _alone(source, start, end, instead)
        guard = Guard(file=file, name=name, snippet=snippet, without=without, test="")
        yield Call(file=file, name=name, call=said + (f" ({number})" if number > 1 else ""), guard=guard)


def _redactions(node: ast.AST, within: str) -> Iterator[tuple[str, ast.expr]]:
    """The calls below ``node``, and functions that are handed on, with the name of the function they stand in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _redactions(child, f"{within}.{child.name}".lstrip("."))
            continue
        if isinstance(child, ast.Call) and _changes(_called(child.func)) and child.args:
            yield within, child
            for inner in (*child.args, *child.keywords):
                yield from _redactions(ast.Tuple(elts=[inner]), within)  # type: ignore[list-item]
            continue
        # What is handed on with an underscore belongs to the redaction itself, and is called with what a pattern found.
        if isinstance(child, ast.Name) and _changes(_called(child)) and not child.id.startswith("_"):
            yield within, child
            continue
        yield from _redactions(child, within)


def _changes(name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in (_REDACTS, _COMPARES, _ASKS))


def _called(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            return name
        case _:
            return ""


def _alone(source: str, start: int, end: int, instead: str) -> tuple[str, str]:
    """What of ``source`` around ``start`` to ``end`` stands in it once, and the same with ``instead`` there."""
    first, last = start, end
    while source.count(source[first:last]) > 1:
        first = source.rfind("\n", 0, max(first - 1, 0)) + 1
        last = source.find("\n", last + 1) if source.find("\n", last + 1) >= 0 else len(source)
    return source[first:last], source[first:start] + instead + source[end:last]


def table(path: Path = TABLE) -> dict[str, str]:
    """The test by label of a call. Raises ``msgspec.ValidationError``."""
    entries = msgspec.convert(tomllib.loads(path.read_text())["noticed"], list[Noticed])
    return {label: entry.test for entry in entries for label in entry.calls}


def guards() -> list[Guard]:
    """The redactions with their tests."""
    tests = table()
    return [msgspec.structs.replace(one.guard, test=tests[one.label]) for one in calls() if one.label in tests]


def main() -> int:
    """Print each call with its test; the exit code is 1 if one has none."""
    tests = table()
    found = [one.label for one in calls()]
    for label in found:
        print(f"{label}\n    {tests.get(label, 'no test')}")
    outside = [re.split(r"[(:] ?", one.call)[0] for one in calls() if not one.file.startswith("protocol/page/secrets/")]
    walks, compares, asks = (
        sum(1 for call in outside if pattern.fullmatch(call)) for pattern in (_WALKS, _COMPARES, _ASKS)
    )
    print(f"{len(outside) - compares - asks} calls redact, {walks} of them a record; {compares} compare; {asks} ask")
    return 1 if set(found) - set(tests) else 0


if __name__ == "__main__":
    raise SystemExit(main())
