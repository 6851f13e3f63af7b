"""Graded versions of the shop: the same pages with other names, another order and other words."""

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from trailmesh.shop.config import ShopConfig, digest, fraction
from trailmesh.shop.words import SYNONYMS

VOID: Final = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
ID_ATTRIBUTES: Final = frozenset(["id", "for", "aria-labelledby", "aria-describedby", "aria-controls", "list"])
PINNED_FIRST: Final = frozenset(["legend", "h1", "h2", "h3", "summary"])
WRAPPING_PARENTS: Final = frozenset(["main", "div", "section", "article", "aside", "header", "footer", "form"])
WRAPPED: Final = frozenset(
    ["div", "section", "article", "aside", "form", "nav", "ul", "dl", "h2", "p", "fieldset", "a", "button"]
)
SHUFFLE: Final = "data-shuffle"
# The wrapper's class; the stylesheet gives it "display: contents", so that wrapping leaves the layout alone.
WRAPPER_CLASS: Final = "wrap"


@dataclass(slots=True)
class Node:
    """An element; its children are elements or raw markup."""

    tag: str
    attrs: list[tuple[str, str | None]]
    children: "list[Node | str]" = field(default_factory=list)

    def value(self, name: str) -> str:
        """An attribute's value, empty if absent."""
        return next((value or "" for key, value in self.attrs if key == name), "")


class _TreeBuilder(HTMLParser):
    """Builds the tree of a page. The pages are our own and well-formed, so no error recovery is needed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.root = Node("", [])
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, attrs)
        self._open[-1].children.append(node)
        if tag not in VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Node(tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        if self._open[-1].tag != tag:
            raise ValueError(f"</{tag}> closes <{self._open[-1].tag}>")
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def handle_entityref(self, name: str) -> None:
        self._open[-1].children.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._open[-1].children.append(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._open[-1].children.append(f"<!{decl}>")


def _serialise(node: Node, out: list[str]) -> None:
    if node.tag:
        attrs = (f" {n}" if v is None else f' {n}="{html.escape(v)}"' for n, v in node.attrs)
        out.append(f"<{node.tag}{''.join(attrs)}>")
    for child in node.children:
        if isinstance(child, str):
            out.append(child)
        else:
            _serialise(child, out)
    if node.tag and node.tag not in VOID:
        out.append(f"</{node.tag}>")


class Drift:
    """Turns the base version of a page, stylesheet or wording into the version of one seed and drift level."""

    def __init__(self, config: ShopConfig) -> None:
        self._seed = config.seed
        self._level = config.drift
        self._style = int(digest("style", config.seed), 16) % 3

    def word(self, text: str) -> str:
        """The wording for a base wording. What changes at one level also changes at every higher one."""
        synonyms = SYNONYMS[text]
        if not self._seed or fraction("reword", self._seed, text) >= self._level:
            return text
        return synonyms[int(fraction("synonym", self._seed, text) * len(synonyms))]

    def class_name(self, name: str) -> str:
        """The class name for a base class name."""
        return self._rename("class", name)

    def element_id(self, name: str) -> str:
        """The id for a base id."""
        return self._rename("id", name)

    def data_name(self, name: str) -> str:
        """The name of a ``data-`` attribute, given without its prefix."""
        return name if not self._seed else f"x{digest('data', self._seed, name)[:5]}"

    def _rename(self, kind: str, name: str) -> str:
        if not self._seed:
            return name
        tail = digest(kind, self._seed, name)[:6]
        return (f"css-{tail}", f"{name.split('-')[0]}_{tail}", f"u{tail}")[self._style]

    def stylesheet(self, css: str) -> str:
        """The stylesheet with its class names changed as in the pages."""
        return re.sub(r"\.([a-z][a-z0-9-]*)", lambda found: "." + self.class_name(found[1]), css)

    def page(self, markup: str) -> str:
        """The version of a page."""
        builder = _TreeBuilder()
        builder.feed(markup)
        builder.close()
        self._change(builder.root)
        out: list[str] = []
        _serialise(builder.root, out)
        return "".join(out)

    def _change(self, node: Node) -> None:
        for child in node.children:
            if isinstance(child, Node):
                self._change(child)
        group = node.value(SHUFFLE)
        node.attrs = [(name, value) for name, value in node.attrs if name != SHUFFLE]
        if not self._seed:
            return
        if group:
            self._shuffle(node, group)
        # Wrapping looks at base names, so it must come before this node's own attributes change; the
        # children's have changed already, and theirs are as stable as base names within one seed.
        if node.tag in WRAPPING_PARENTS:
            node.children = [self._wrap(child) for child in node.children]
        node.attrs = [self._attribute(name, value) for name, value in node.attrs]
        node.attrs.sort(key=lambda pair: digest("attribute", self._seed, pair[0]))

    def _shuffle(self, node: Node, group: str) -> None:
        elements = [child for child in node.children if isinstance(child, Node)]
        pinned = [child for child in elements if child.tag in PINNED_FIRST]
        free = [(index, child) for index, child in enumerate(elements) if child.tag not in PINNED_FIRST]
        free.sort(key=lambda pair: digest("order", self._seed, group, pair[0]))
        node.children = [*pinned, *(child for _, child in free)]

    def _wrap(self, child: Node | str) -> Node | str:
        if isinstance(child, str) or child.tag not in WRAPPED:
            return child
        share = 0.15 + 0.35 * self._level
        if fraction("wrap", self._seed, child.tag, child.value("class"), child.value("id")) >= share:
            return child
        return Node("div", [("class", self.class_name(WRAPPER_CLASS))], [child])

    def _attribute(self, name: str, value: str | None) -> tuple[str, str | None]:
        if value and name == "class":
            return name, " ".join(self.class_name(part) for part in value.split())
        if value and name in ID_ATTRIBUTES:
            return name, " ".join(self.element_id(part) for part in value.split())
        if value and name == "href" and value.startswith("#"):
            return name, "#" + self.element_id(value[1:])
        if name.startswith("data-"):
            return "data-" + self.data_name(name[5:]), value
        return name, value
