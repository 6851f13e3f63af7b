"""Small mistakes that could stand in a Python file, each as one change of its text.

A mutation is found in the syntax tree and made in the text, so that everything else of the file stays as it is. What is
made: a comparison moved by one or turned round, one side of ``and`` or ``or`` left out, ``not`` left out, a number one
higher, ``True`` for ``False``, another operator, a condition that always or never holds, a call or an assignment to
something that outlives the function left out, ``None`` or the opposite returned.

Left alone, because no test of behaviour should notice: docstrings and other texts, annotations, ``assert`` (it marks our
own mistakes only), log lines, ``if TYPE_CHECKING``, ``__repr__``, the ``__all__`` of a module, and numbers in decorators.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

_SWAPS: dict[type[ast.AST], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
}
_COMPARISON = re.compile(rb"(?:is\s+not|not\s+in|is|in|[<>=!]=|[<>])")
_QUIET_CALLS = frozenset({"log"})
_LEFT_ALONE = frozenset({"__repr__"})


class Mutation(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One change of one file."""

    file: str
    """Below the root of the project."""
    line: int
    start: int
    """First byte that changes."""
    end: int
    new: str
    kind: str

    def applied(self, source: bytes) -> bytes:
        """The file with the mistake in it."""
        return source[: self.start] + self.new.encode() + source[self.end :]


class _Finder(ast.NodeVisitor):
    """Collects the mutations of one file."""

    def __init__(self, file: str, source: bytes) -> None:
        self._file, self._source = file, source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._returns: list[ast.expr | None] = []
        self.found: list[Mutation] = []

    # --- places ---

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr) -> str:
        start, end = self._span(node)
        return self._source[start:end].decode()

    def _add(self, kind: str, start: int, end: int, new: str) -> None:
        line = self._source.count(b"\n", 0, start) + 1
        self.found.append(Mutation(file=self._file, line=line, start=start, end=end, new=new, kind=kind))

    def _replace(self, kind: str, node: ast.expr | ast.stmt, new: str) -> None:
        self._add(kind, *self._span(node), new)

    # --- what is left alone ---

    def visit_Assert(self, node: ast.Assert) -> None:
        """Nothing in it."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Its value only."""
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Nothing in it: an annotation."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nothing in it: a text, and the form of a number in it."""

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in _LEFT_ALONE:
            return
        self.visit(node.args)
        self._returns.append(node.returns)
        for statement in node.body:
            self.visit(statement)
        self._returns.pop()

    visit_FunctionDef = _visit_function
    visit_AsyncFunctionDef = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its body; the arguments of a class are its form."""
        for statement in node.body:
            self.visit(statement)

    # --- conditions ---

    def visit_If(self, node: ast.If) -> None:
        """A condition that always holds, or never: with a guard as its only use, the guard is gone."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        ends = isinstance(node.body[-1], ast.Raise | ast.Return | ast.Continue | ast.Break) and not node.orelse
        self._replace("guard removed" if ends else "branch never taken", node.test, "False")
        if not ends:
            self._replace("branch always taken", node.test, "True")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """The same of a conditional expression."""
        self._replace("branch never taken", node.test, "False")
        self._replace("branch always taken", node.test, "True")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """A filter that lets everything through."""
        for condition in node.ifs:
            self._replace("filter removed", condition, "True")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Each operator of a chain."""
        sides = [node.left, *node.comparators]
        for operator, left, right in zip(node.ops, sides, sides[1:], strict=False):
            gap, end = self._span(left)[1], self._span(right)[0]
            token = _COMPARISON.search(self._source, gap, end)
            if token is not None:
                for new in _SWAPS[type(operator)]:
                    self._add("comparison", token.start(), token.end(), new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Each side left out, and the other operator."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        texts = [self._text(value) for value in node.values]
        for place in range(len(texts)):
            rest = [f"({text})" for text in (*texts[:place], *texts[place + 1 :])]
            self._replace(f"side of {word} left out", node, f"({f' {word} '.join(rest)})")
        other = f" {'or' if word == 'and' else 'and'} ".join(f"({text})" for text in texts)
        self._replace(f"{word} turned round", node, f"({other})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """``not`` left out."""
        if isinstance(node.op, ast.Not):
            self._replace("not left out", node, f"bool({self._text(node.operand)})")
        self.generic_visit(node)

    # --- values ---

    def visit_Constant(self, node: ast.Constant) -> None:
        """A number one higher, the other truth."""
        if isinstance(node.value, bool):
            self._replace("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace("constant", node, f"({self._text(node)} + 1)")

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Another operator, where numbers are meant."""
        pair = _OPERATORS.get(type(node.op))
        texts = [side for side in (node.left, node.right) if isinstance(side, ast.Constant | ast.JoinedStr)]
        if pair and not any(not isinstance(getattr(side, "value", ""), int | float) for side in texts):
            at = self._source.find(pair[0].encode(), self._span(node.left)[1], self._span(node.right)[0])
            if at >= 0:
                self._add("operator", at, at + len(pair[0]), pair[1])
        self.generic_visit(node)

    # --- statements ---

    def visit_Expr(self, node: ast.Expr) -> None:
        """A call left out; docstrings and log lines stay."""
        inner = node.value.value if isinstance(node.value, ast.Await) else node.value
        if not isinstance(inner, ast.Call):
            return
        root = inner.func
        while isinstance(root, ast.Attribute | ast.Call | ast.Subscript):
            root = root.func if isinstance(root, ast.Call) else root.value
        if isinstance(root, ast.Name) and root.id in _QUIET_CALLS:
            return
        self._replace("call left out", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Left out."""
        self._replace("assignment left out", node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Left out, unless it makes a name: without it nothing would run at all."""
        if isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return
        if self._returns and all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self._replace("assignment left out", node, "pass")
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        """Left out."""
        self._replace("deletion left out", node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        """The opposite of a truth, nothing in place of anything else."""
        value = node.value
        if value is None or not self._returns:
            return
        named = self._returns[-1]
        if isinstance(named, ast.Name) and named.id == "bool":
            if not isinstance(value, ast.Constant):
                self._replace("the opposite returned", value, f"not ({self._text(value)})")
        elif not (isinstance(value, ast.Constant) and value.value is None):
            self._replace("None returned", value, "None")
        self.generic_visit(node)


def mutations(file: str, source: bytes) -> Iterator[Mutation]:
    """Every mutation of ``source`` that still is Python, by place; each of them once."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    seen: set[tuple[int, int, str]] = set()
    for mutation in sorted(finder.found):
        key = (mutation.start, mutation.end, mutation.new)
        if key not in seen:
            seen.add(key)
            yield mutation
