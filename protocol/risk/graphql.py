"""Recognises GraphQL documents that contain only queries.

This is a scanner and not a parser: the kinds of operations are at the top level, so neither schema nor tree is needed. It reads
each token once. A document that it cannot read to the end counts as no query.
"""

from __future__ import annotations

import re
from typing import Final

from protocol.risk.addresses.segments import order_of

_TOKEN: Final = re.compile(
    r'(?P<skip>[ \t\r\n,\ufeff]++|\#[^\r\n]*+)|(?P<text>"""(?:\\"""|[^"]|"(?!""))*+"""|"(?:\\[^\r\n]|[^"\\\r\n])*+")'
    r"|(?P<open>[{(\[])|(?P<close>[})\]])|(?P<name>[_A-Za-z][_0-9A-Za-z]*+)|(?P<other>\.\.\.|[$!&:=|@]|-?[0-9][0-9A-Za-z.+-]*+)"
)
_CLOSES: Final = {"{": "}", "(": ")", "[": "]"}
DOCUMENT_CHARS_MAX: Final = 65_536
_DEPTH_MAX: Final = 128
_LINE_ENDS: Final = re.compile("[\0\v\f\x1c-\x1e\x85\u2028\u2029]")
"""Some readers treat these as line ends, which also end a comment."""


def names(document: str) -> set[str]:
    """The names of the operations in a document that ``is_query``; empty for any other document."""
    if not is_query(document):
        return set()
    found, depth, before = set(), 0, ""
    for token in _TOKEN.finditer(document):
        if token.lastgroup == "name" and before == "query" and not depth:
            found.add(token[0])
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        before = before if token.lastgroup == "skip" else token[0]
    return found


def is_query(document: str) -> bool:
    """True if ``document`` has at least one operation, all operations are queries, and no field at the root has a deleting
    name.
    """
    if len(document) > DOCUMENT_CHARS_MAX or _LINE_ENDS.search(document):
        return False
    position, begins, queries, brackets = 0, True, 0, ""
    while position < len(document):
        token = _TOKEN.match(document, position)
        if token is None:
            return False
        position, kind, text = token.end(), token.lastgroup, token[0]
        if kind == "skip":
            continue
        if begins:
            if text not in ("{", "query", "fragment"):
                return False
            begins, queries = False, queries + (text != "fragment")
        if kind == "open":
            brackets += text
            if len(brackets) > _DEPTH_MAX:
                return False
        elif kind == "close":
            if not brackets or _CLOSES[brackets[-1]] != text:
                return False
            brackets = brackets[:-1]
            begins = text == "}" and not brackets
        elif kind == "name" and brackets == "{":
            order = order_of(text)
            if order and order.kind in ("clear", "weak"):
                return False
    return begins and queries > 0
