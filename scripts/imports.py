"""Which test files import a module, and over how many others: read from the source, nothing is run."""

from __future__ import annotations

import ast
import functools
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FOLDERS = ("protocol", "adapters", "node", "trailmesh", "benchmarks", "scripts", "tests")


def _named(tree: ast.AST, package: str) -> Iterator[str]:
    """The modules, and the names in modules, that ``tree`` imports."""
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement. Nine of ten nodes are parts of expressions, which import nothing."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inner = getattr(tree, name, ())
        for node in inner if isinstance(inner, list) else ():  # a conditional expression has a body too
            yield node
            yield from _statements(node)


@functools.cache
def imports(root: Path) -> dict[str, frozenset[str]]:
    """For every Python file below the folders of the project the files it imports, all as paths below ``root``."""
    files = {path.relative_to(root).as_posix() for folder in FOLDERS for path in (root / folder).rglob("*.py")}
    modules = {file.removesuffix(".py").removesuffix("/__init__").replace("/", "."): file for file in files}
    found: dict[str, frozenset[str]] = {}
    for module, file in modules.items():
        package = module if file.endswith("__init__.py") else module.rpartition(".")[0]
        names = set(_named(ast.parse((root / file).read_bytes()), package))
        found[file] = frozenset(modules[name] for name in names if name in modules and modules[name] != file)
    return found


def importers(graph: Mapping[str, Iterable[str]], file: str) -> dict[str, int]:
    """The test files that import ``file``, each with the shortest way to it: 1 directly, 2 over one other file …"""
    backwards: dict[str, set[str]] = {}
    for source, targets in graph.items():
        for target in targets:
            backwards.setdefault(target, set()).add(source)
    steps, pending = {file: 0}, deque([file])
    while pending:
        here = pending.popleft()
        for source in backwards.get(here, ()):
            if source not in steps:
                steps[source] = steps[here] + 1
                pending.append(source)
    return {name: count for name, count in steps.items() if name.rpartition("/")[2].startswith("test_")}
