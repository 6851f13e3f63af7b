"""Parses Playwright's accessibility snapshots (a line format) into a tree. Pure.

One node per line, two spaces of indentation per level::

    - heading "Name" [level=1] [ref=e2]: text
    - 'link "Quoted: key" [ref=e3] [cursor=pointer]':
      - /url: /somewhere
      - text: loose text
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from protocol import limits

_KEY: Final = re.compile(
    r'(?P<role>[\w/-]+)(?: (?P<name>"(?:[^"\\]++|\\.)*+"))?(?P<attributes>(?: \[[^\]]*\])*)', re.DOTALL
)
_ATTRIBUTE: Final = re.compile(r"\[([^\]=]+)(?:=([^\]]*))?\]")
_JSON: Final = json.JSONDecoder(strict=False)
_ESCAPE: Final = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "0": "\0"}


@dataclass(slots=True)
class AriaNode:
    """One node of the snapshot. Loose text has the ``role`` ``text`` and stands in ``text``."""

    role: str
    name: str = ""
    ref: str = ""
    pointer: bool = False
    """True if the cursor over it is a pointer, which usually means that a script handles clicks."""
    attributes: dict[str, str] = field(default_factory=dict)
    """States such as ``checked`` (empty value) or ``level`` (``2``); without ref and cursor."""
    properties: dict[str, str] = field(default_factory=dict)
    """``url``, ``placeholder``."""
    text: str = ""
    children: list[AriaNode] = field(default_factory=list)

    def walk(self) -> Iterator[AriaNode]:
        """This node and all below it, in document order."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))


def parse(snapshot: str) -> list[AriaNode]:
    """The outermost nodes of ``snapshot``. A line that does not fit the format becomes loose text. Lines after the first
    ``SNAPSHOT_LINES_MAX`` are left out; ``unread`` counts them.
    """
    roots: list[AriaNode] = []
    # Only "\n" separates lines: names may hold other characters that Python treats as line ends.
    open_nodes: list[tuple[int, AriaNode]] = []
    for line in snapshot.split("\n", limits.SNAPSHOT_LINES_MAX)[: limits.SNAPSHOT_LINES_MAX]:
        stripped = line.lstrip(" ")
        if not stripped.startswith("- "):
            continue
        depth = len(line) - len(stripped)
        while open_nodes and open_nodes[-1][0] >= depth:
            open_nodes.pop()
        parent = open_nodes[-1][1] if open_nodes else None
        content = stripped[2:]
        if content.startswith("/") and parent is not None:
            key, _, value = content[1:].partition(": ")
            parent.properties[key] = _scalar(value)
            continue
        node = _node(content)
        (parent.children if parent is not None else roots).append(node)
        if node.role != "text":
            open_nodes.append((depth, node))
    return roots


def unread(snapshot: str) -> int:
    """How many lines of ``snapshot`` follow those that ``parse`` reads."""
    return max(0, snapshot.count("\n") + 1 - limits.SNAPSHOT_LINES_MAX)


def _node(content: str) -> AriaNode:
    if content.startswith("text: "):
        return AriaNode("text", text=_scalar(content[6:]))
    if content.startswith("'"):
        end = _quote_end(content)
        key, rest = content[1:end].replace("''", "'"), content[end + 1 :]
        match = _KEY.fullmatch(key)
    else:
        match = _KEY.match(content)
        rest = content[match.end() :] if match else ""
    if match is None or (rest and not rest.startswith(":")):
        return AriaNode("text", text=_scalar(content))
    node = AriaNode(match["role"], name=_json_text(match["name"]) if match["name"] else "", text=_scalar(rest[2:]))
    for name, value in _ATTRIBUTE.findall(match["attributes"]):
        if name == "ref":
            node.ref = value
        elif name == "cursor":
            node.pointer = value == "pointer"
        elif name != "box":
            node.attributes[name] = value
    return node


def _quote_end(content: str) -> int:
    """The index of the quote that ends the single-quoted key at the start of ``content``; a doubled quote is part of the key."""
    position = 1
    while position < len(content):
        if content[position] == "'":
            if content[position + 1 : position + 2] != "'":
                return position
            position += 1
        position += 1
    return len(content)


def _json_text(quoted: str) -> str:
    try:
        return str(_JSON.decode(quoted))
    except ValueError:
        return quoted[1:-1]


def _scalar(value: str) -> str:
    """A YAML scalar as Playwright writes it: plain, or in double quotes with escapes."""
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return _ESCAPE.sub(_unescape, value[1:-1])
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)
