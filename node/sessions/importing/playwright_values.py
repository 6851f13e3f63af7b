"""Evaluates the names, loops and f-strings of a Playwright script as far as their values are literal. Nothing of the script is
executed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any, Final

from node.sessions.importing.playwright_locators import Bad
from protocol import limits
from protocol.errors import MeshError

_VALUE_CHARS_MAX: Final = limits.ACTION_TEXT_CHARS_MAX
_NOT_WRITTEN: Final = (
    "a loop is unrolled only over values that are written out: a list, `range`, `enumerate` or `items`"
)


class Values:
    """The values of the names of a script so far."""

    def __init__(self) -> None:
        self._known: dict[str, ast.expr] = {}
        self._rounds = 0
        self._room = _Room()

    def knows(self, name: str) -> bool:
        """True if ``name`` has a literal value."""
        return name in self._known

    def keep(self, name: str, value: ast.expr) -> None:
        """Note that ``name`` has the value ``value`` from here on."""
        self._known[name] = value

    def forget(self, name: str) -> None:
        """Note that the value of ``name`` is unknown from here on."""
        self._known.pop(name, None)

    def in_full(self, node: ast.AST) -> Any:
        """A copy of ``node`` in which names are replaced by their values, and f-strings and concatenated texts by texts."""
        self._room.take(node)
        return _Filler(self._known, self._room).visit(copy.deepcopy(node))

    def rounds(self, loop: ast.For, bad: Bad) -> Iterator[None]:
        """Yield once for each round of ``loop``, with the loop's names set to the values of the round. Errors:
        ``input.invalid``.
        """
        for item in _items(self.in_full(loop.iter), loop, bad):
            self._rounds += 1
            if self._rounds > limits.SESSION_STEPS_MAX:
                raise bad(loop, f"the loops of a script are unrolled {limits.SESSION_STEPS_MAX} times at most")
            self._bind(loop.target, item, bad)
            yield

    def _bind(self, target: ast.expr, item: ast.expr, bad: Bad) -> None:
        match target, item:
            case ast.Name(id=name), _:
                self.keep(name, item)
            case ast.Tuple(elts=targets), ast.Tuple(elts=items) | ast.List(elts=items) if len(targets) == len(items):
                for each, value in zip(targets, items, strict=True):
                    self._bind(each, value, bad)
            case _:
                raise bad(target, _NOT_WRITTEN)


def is_written(value: ast.expr) -> bool:
    """True if ``value`` is literal: a text, a number, a list or a dictionary of such, or an environment variable."""
    match value:
        case ast.Constant() | ast.Subscript(value=ast.Attribute(value=ast.Name(id="os"), attr="environ")):
            return True
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return all(map(is_written, items))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and is_written(key) for key in keys) and all(map(is_written, values))
        case _:
            return False


def _items(value: ast.expr, loop: ast.For, bad: Bad) -> list[ast.expr]:
    match value:
        case ast.List(elts=items) | ast.Tuple(elts=items) if is_written(value):
            return list(items)
        case ast.Call(func=ast.Name(id="range"), args=args, keywords=[]) if 1 <= len(args) <= 3:
            numbers = [each.value for each in args if isinstance(each, ast.Constant) and type(each.value) is int]
            if len(numbers) == len(args) and (len(numbers) < 3 or numbers[2]):
                return [ast.Constant(number) for number in range(*numbers)[: limits.SESSION_STEPS_MAX + 1]]
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner], keywords=[]):
            found = _items(inner, loop, bad)
            return [ast.Tuple([ast.Constant(number), item], ast.Load()) for number, item in enumerate(found)]
        case ast.Call(func=ast.Attribute(value=ast.Dict() as inner, attr="items"), args=[]) if is_written(inner):
            pairs = zip(inner.keys, inner.values, strict=True)
            return [ast.Tuple([key, item], ast.Load()) for key, item in pairs if key is not None]
    raise bad(loop, _NOT_WRITTEN)


class _Room:
    """Limits how much names and loops may expand: a few lines can expand to more than fits into memory."""

    def __init__(self) -> None:
        self._left = limits.SCRIPT_NODES_MAX

    def take(self, node: ast.AST) -> None:
        """Count the nodes of ``node``. Errors: ``input.too_large``."""
        self._left -= sum(1 for _ in ast.walk(node))
        if self._left < 0:
            raise MeshError(
                "input.too_large", "the names and loops of the script stand for too much: write less of it out"
            )


class _Filler(ast.NodeTransformer):
    def __init__(self, known: dict[str, ast.expr], room: _Room) -> None:
        self._known, self._room = known, room

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a name that is read by its value."""
        known = self._known.get(node.id) if isinstance(node.ctx, ast.Load) else None
        if known is None:
            return node
        self._room.take(known)
        return ast.copy_location(copy.copy(known), node)  # nothing changes what is in it: it is not copied each time

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Replace an f-string by a text."""
        self.generic_visit(node)
        parts = [_formatted(each) for each in node.values]
        texts = [part for part in parts if part is not None]
        return _text("".join(texts), node) if len(texts) == len(parts) else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace the sum of two texts or numbers by its value."""
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=ast.Constant(value=str(left)), op=ast.Add(), right=ast.Constant(value=str(right))):
                return _text(left + right, node)
            case ast.BinOp(left=ast.Constant(value=int(one)), op=ast.Add(), right=ast.Constant(value=int(other))):
                return ast.copy_location(ast.Constant(one + other), node)
            case _:
                return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Replace a negative number by its value."""
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                return ast.copy_location(ast.Constant(-number), node)
            case _:
                return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace ``str(…)`` of a text or number by its value."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="str"), args=[ast.Constant(value=str() | int() as value)], keywords=[]):
                return _text(str(value), node)
            case _:
                return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Replace an item of a literal list or dictionary by its value."""
        self.generic_visit(node)
        match node:
            case ast.Subscript(
                value=ast.List(elts=items) | ast.Tuple(elts=items), slice=ast.Constant(value=int(place))
            ):
                return items[place] if -len(items) <= place < len(items) else node
            case ast.Subscript(value=ast.Dict(keys=keys, values=values), slice=ast.Constant(value=wanted)):
                found = (item for key, item in zip(keys, values, strict=True) if _is(key, wanted))
                return next(found, node)
            case _:
                return node


def _is(key: ast.expr | None, wanted: object) -> bool:
    return isinstance(key, ast.Constant) and type(key.value) is type(wanted) and key.value == wanted


def _formatted(part: ast.expr) -> str | None:
    match part:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=ast.Constant(value=str() | int() as value), conversion=-1, format_spec=None):
            return str(value)
        case ast.FormattedValue(
            value=ast.Constant(value=int(number)), conversion=-1, format_spec=ast.Constant(value=str(form))
        ) if form.isdigit() and len(form) <= 3:
            return format(number, form)
        case _:
            return None


def _text(text: str, node: ast.AST) -> ast.expr:
    # A text longer than a step can hold is cut one character beyond the limit, so that the step is refused without using up
    # memory.
    return ast.copy_location(ast.Constant(text[: _VALUE_CHARS_MAX + 1]), node)
