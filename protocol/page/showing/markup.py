"""The document of a page as text, with marks on the elements that the tried locators find. Pure.

It helps a person to correct a locator. It shows tags, texts, and the attributes by which elements are found, one on each line,
indented. The caller must escape it like any other text of a page, so that no browser parses it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from protocol import limits
from protocol.page.secrets.redaction import redact_text, redact_url

ADDRESSES: Final = frozenset({"href", "src", "action", "formaction", "poster"})
"""Attributes that hold an address. Only the address in them is shown."""
ATTRIBUTES: Final = ADDRESSES.union(
    (
        "id",
        "class",
        "name",
        "type",
        "role",
        "for",
        "title",
        "alt",
        "label",
        "placeholder",
        "value",
        "part",
        "slot",
        "lang",
    ),
    (
        "checked",
        "selected",
        "disabled",
        "readonly",
        "required",
        "multiple",
        "hidden",
        "inert",
        "open",
        "contenteditable",
    ),
    ("colspan", "rowspan", "tabindex", "autocomplete", "method", "target", "popover", "usemap"),
    ("data-testid", "data-test-id", "data-test", "data-qa", "data-cy"),
)
"""The attributes of an element that are shown, beside ``aria-…``. Handlers, styles, data of scripts and the content of fields are
not.
"""
VALUED: Final = ("button", "checkbox", "image", "radio", "reset", "submit")
"""Types of fields whose ``value`` the author of the page wrote. In other fields it was typed, or is hidden."""
CLOSED: Final = ("iframe", "math", "noscript", "object", "embed", "svg", "template", "textarea")
"""Elements of which only the tag is shown."""
_QUOTE: Final = '"'
LEFT_OUT: Final = ("base", "link", "meta", "script", "style")
"""Elements that are not shown at all."""


class MarkupNode(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """An element, or a text."""

    depth: int
    tag: str
    """In lower case; empty for a text. ``#shadow-root`` for the content of a component."""
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = ""
    ways: tuple[int, ...] = ()
    """The positions in ``Markup.ways`` of the selectors that find it."""
    hidden: bool = False
    """True if a selector finds it but the page does not show it."""


class Way(NamedTuple):
    """One selector by which an element was looked for."""

    said: str
    found: int
    """The number of elements that it finds, shown or not."""


class Markup(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a document: at most ``MARKUP_LINES_MAX`` elements and texts around the first element that was found."""

    nodes: tuple[MarkupNode, ...] = ()
    ways: tuple[Way, ...] = ()
    before: int = 0
    """The number of elements and texts before this part."""
    after: int = 0
    """The number of elements and texts after this part, as far as the document was read."""
    whole: bool = True
    """True if the document was read to its end, not only its first ``MARKUP_NODES_MAX`` nodes."""


class MarkupLine(NamedTuple):
    """A line of a document."""

    text: str
    ways: tuple[int, ...]
    """Numbers of the selectors that find it, from 1."""
    hidden: bool


class WayShown(NamedTuple):
    """One selector by which an element was looked for."""

    said: str
    """The selector in words; empty for the elements most similar to the wanted one."""
    found: int
    lines: tuple[int, ...]
    """The lines of the elements that it finds, from 0."""


class MarkupShown(NamedTuple):
    """A document in the form for people."""

    lines: tuple[MarkupLine, ...]
    ways: tuple[WayShown, ...]
    cut: str
    """A sentence about the missing parts; empty if nothing is missing."""


def shown(markup: Markup, secrets: Mapping[str, str]) -> MarkupShown:
    """``markup`` as lines, redacted like a recording.

    All texts are searched together, so that a secret spread over several elements is found too.
    """
    texts = [node.text for node in markup.nodes]
    values = [
        redact_url(value) if name in ADDRESSES else value for node in markup.nodes for name, value in node.attributes
    ]
    said = [" ".join(text.split()) for text in (*texts, *values, *(way.said for way in markup.ways))]
    clean = [text[: limits.MARKUP_TEXT_CHARS_MAX] for text in redact_text("\n".join(said), secrets).split("\n")]
    read, rest = clean[: len(texts)], iter(clean[len(texts) :])
    nodes = [
        msgspec.structs.replace(node, text=text, attributes=tuple((name, next(rest)) for name, _ in node.attributes))
        for node, text in zip(markup.nodes, read, strict=True)
    ]
    lines = tuple(_lines(nodes))
    ways = tuple(
        WayShown(next(rest), way.found, tuple(place for place, line in enumerate(lines) if number in line.ways))
        for number, way in enumerate(markup.ways, 1)
    )
    return MarkupShown(lines, ways, _cut(markup))


def _lines(nodes: Sequence[MarkupNode]) -> list[MarkupLine]:
    """The lines of a document. If an element holds only a text, both are in one line."""
    outer = min((node.depth for node in nodes), default=0)
    lines: list[MarkupLine] = []
    place = 0
    while place < len(nodes):
        node = nodes[place]
        inner, behind = nodes[place + 1 : place + 2], nodes[place + 2 : place + 3]
        sole = bool(node.tag and inner and not inner[0].tag and inner[0].depth > node.depth) and not (
            behind and behind[0].depth > node.depth
        )
        text = f"{_tag(node)}{inner[0].text}</{node.tag}>" if sole else _tag(node) or node.text
        lines.append(MarkupLine("  " * (node.depth - outer) + text, tuple(way + 1 for way in node.ways), node.hidden))
        place += 2 if sole else 1
    return lines


def _tag(node: MarkupNode) -> str:
    if not node.tag or node.tag.startswith("#"):
        return node.tag
    said = [name + (f'="{value.replace(_QUOTE, "&quot;")}"' if value else "") for name, value in node.attributes]
    return f"<{' '.join([node.tag, *said])}>"


def _cut(markup: Markup) -> str:
    sides = ((markup.before, "before"), (markup.after, "after"))
    left = [f"{count:,} elements and texts {where} these" for count, where in sides if count]
    said = f"{' and '.join(left)} are not shown" if left else ""
    unread = "" if markup.whole else f"the document was read up to its first {limits.MARKUP_NODES_MAX:,} nodes"
    return "; ".join(filter(None, (said, unread)))
