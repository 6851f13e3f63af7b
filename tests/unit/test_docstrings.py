"""Docstrings state facts: subject, verb, object."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("adapters", "benchmarks", "node", "protocol", "trailmesh")
_QUESTION = re.compile(r"(What|Whether)\b")
_DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _questions(file: Path) -> list[str]:
    """The lines of docstrings in ``file`` that begin like a question, those of fields and constants too."""
    nodes = [node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, _DOCUMENTED)]
    return [
        f"{file.relative_to(ROOT)}:{each.lineno}: {text.splitlines()[0]}"
        for node in nodes
        for each in node.body
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)
        if isinstance(text := each.value.value, str) and _QUESTION.match(text)
    ]


def test_no_docstring_begins_like_a_question() -> None:
    """“Whether it is open” has no verb of its own: “True if it is open” is read once."""
    found = [line for room in ROOMS for file in sorted((ROOT / room).rglob("*.py")) for line in _questions(file)]
    assert not found, "\n".join(found)
