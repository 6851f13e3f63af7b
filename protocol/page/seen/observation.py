"""Observations: the accessibility snapshot of a page with element refs, and a hash of its state.

Every browser backend returns byte-identical observations for the same page state: refs are numbered in snapshot order
(``e1``, ``e2`` …; ``f1e1`` in the first frame), and ``encode`` is deterministic.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import cached_property
from typing import Any, Final, Literal
from urllib.parse import SplitResult, parse_qsl, urlsplit

import msgspec

from protocol import limits
from protocol.wire import cbor

INTERACTIVE_ROLES = frozenset(
    [
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "listbox",
        "option",
        "checkbox",
        "radio",
        "switch",
        "slider",
        "spinbutton",
        "tab",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "treeitem",
    ]
)
CHECKABLE_ROLES: Final = frozenset({"checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"})
"""Roles of elements that can be checked and unchecked."""
ROLES: Final = INTERACTIVE_ROLES | frozenset(
    [
        "alert",
        "alertdialog",
        "application",
        "article",
        "banner",
        "blockquote",
        "caption",
        "cell",
        "code",
        "columnheader",
        "complementary",
        "contentinfo",
        "definition",
        "deletion",
        "dialog",
        "directory",
        "document",
        "emphasis",
        "feed",
        "figure",
        "form",
        "generic",
        "grid",
        "gridcell",
        "group",
        "heading",
        "iframe",
        "img",
        "insertion",
        "list",
        "listitem",
        "log",
        "main",
        "mark",
        "marquee",
        "math",
        "menu",
        "menubar",
        "meter",
        "navigation",
        "none",
        "note",
        "paragraph",
        "presentation",
        "progressbar",
        "radiogroup",
        "region",
        "row",
        "rowgroup",
        "rowheader",
        "scrollbar",
        "search",
        "separator",
        "status",
        "strong",
        "subscript",
        "superscript",
        "table",
        "tablist",
        "tabpanel",
        "term",
        "time",
        "timer",
        "toolbar",
        "tooltip",
        "tree",
        "treegrid",
    ]
)
"""Every role an element can have: WAI-ARIA 1.2, and ``iframe``. Browsers ignore any other role."""
_VOLATILE = re.compile(r"\d+")
_QUERY_CHARS_MAX = 16_384
"""The part of a query after this length does not distinguish pages."""
_BOXES: Final = frozenset(
    {"article", "cell", "figure", "generic", "gridcell", "group", "heading", "listitem", "paragraph", "row"}
)
"""Roles that can be a mere box around a control. Dialogs and named parts of a page are not included, because an author who names
one of them means it.
"""
_FIELD_TAGS: Final = frozenset({"input", "select", "textarea"})
_SPACES: Final = re.compile(r"\s+")
_UNLISTED: Final = re.compile(r"(?:f\d+)?n(\d{1,9})")
"""Refs of elements that only a selector found: frame, and place in the tree."""
_INNER_NODES_MAX: Final = 1_000
"""An element with more nodes is no control. Its nodes are not searched, because this may be done for all elements of a large
page.
"""


class Traits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The facts that a risk decision needs and the accessibility tree does not contain."""

    tag: str = ""
    """Element name in lower case."""
    input_type: str = ""
    """The ``type`` attribute in lower case."""
    submits: bool = False
    """True if activating it submits its form."""
    form_method: str = ""
    """``get``, ``post`` or ``dialog`` of the form around it, lower case; empty without a form."""
    form_action: str = ""
    """The form's target path, without query; empty if the form states neither action nor method."""
    tokens: tuple[str, ...] = ()
    """Words of its id, class, ``name``, ``title`` and icon attributes, which tell the purpose of a control with only an icon."""
    autocomplete: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    """Its ``id``, ``name`` and ``data-testid``, unchanged, as far as it has them."""
    opens: bool = False
    """True if the page says that it opens or closes something (``aria-haspopup``, ``aria-expanded``)."""
    reacts: Literal["", "submit", "script"] = ""
    """The effect of an attribute such as ``onchange`` when a field, list or box changes or a ``summary`` opens: it submits the
    form, or runs any other script. Empty if there is none. Listeners that scripts added are not seen.
    """
    handler: str = ""
    """A short hash of the script in an attribute such as ``onclick``, or in ``onsubmit`` of its form, without numbers. It
    distinguishes controls that look alike.
    """
    label: str = ""
    """The text of the label that stands for a hidden control, if it differs from the control's name."""
    guarded: bool = False
    """True if it is in a form by GET that holds a hidden token against forged requests (``_wpnonce``, ``csrf_token``)."""


class Element(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One element of the snapshot that has a ref."""

    ref: str
    role: str
    name: str = ""
    frame: str = ""
    """Prefix of its frame (``f1``), empty for the main frame."""
    value: str = ""
    """The content of a field; always empty for passwords."""
    states: tuple[str, ...] = ()
    """Sorted: checked, disabled, expanded, pressed, selected, active, level=2 …"""
    url: str = ""
    """The absolute target of a link, also of one with the role of a button, if its frame can be read."""
    context: str = ""
    """Name of the nearest enclosing list item, row, article, region or form. It tells look-alikes apart."""
    options: tuple[str, ...] = ()
    """Labels of a select's options."""
    clickable: bool = False
    """True if a script probably handles clicks on it: the pointer over it is a hand, and it has no role or is a picture, without a
    control in or around it.
    """
    traits: Traits = Traits()
    inside: str = ""
    """Ref of the control that gets its events: the control of a label, or the control around an element that only a selector found.
    """

    @property
    def interactive(self) -> bool:
        """True if a person could act on it now. A ``summary``, which opens the text around it, has no role of its own."""
        acts = self.role in INTERACTIVE_ROLES or self.traits.tag == "summary"
        return acts and "disabled" not in self.states

    @property
    def link(self) -> str:
        """``url`` of an element with the role of a link: two links to one address count as one. It is empty for other controls and
        for links to “#”, because their address does not tell what scripts do with them.
        """
        leads = self.role == "link" and not self.url.endswith("#") and not self.url.lower().startswith("javascript:")
        return self.url if leads else ""


class Tree(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """Every node of a snapshot in document order, wrappers included, which shows the nodes that belong together."""

    parents: tuple[int, ...] = ()
    """The parent of each node; -1 for the outermost."""
    roles: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    """The own name of each node, else its own text; empty for fields."""
    elements: tuple[int, ...] = ()
    """The element of the observation for each node; -1 if there is none."""

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """The place after the last node in each node."""
        ends = list(range(1, len(self.parents) + 1))
        for node in range(len(ends) - 1, -1, -1):
            parent = self.parents[node]
            if parent >= 0 and ends[parent] < ends[node]:
                ends[parent] = ends[node]
        return tuple(ends)


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """A part that a bound cut from an observation. Nothing is known of that part of the page."""

    bound: Literal["lines", "elements", "text", "controls", "frames", "document", "closed"]
    """The kind of the missing parts: lines of the browser's snapshot, elements, lines of the text, controls in frames of other
    sites (of which only role and name are known), frames whose document is incomplete, the rest of a document that still loads, or
    texts and controls in closed shadow trees.
    """
    left_out: int
    """The number of missing parts."""
    letters: str | None = None
    """For closed shadow trees, all text from which names of their elements can come, folded and without spaces; None if unknown."""


class Observation(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A page at one moment."""

    url: str
    title: str
    text: str
    """The whole snapshot, indented, one line per node; at most ``SNAPSHOT_BYTES_MAX``."""
    elements: tuple[Element, ...]
    """In document order, at most ``OBSERVATION_ELEMENTS_MAX``."""
    lines: tuple[int, ...] = ()
    """The line of ``text`` for each of ``elements``, from 0: its own, or the first of its content; -1 if there is none."""
    tree: Tree = Tree()
    cut: tuple[Cut, ...] = ()
    """The missing parts; empty for a page that was read to its end. Only a whole page shows absence, number and uniqueness:
    ``protocol/page/seen/whole.py``.
    """

    @cached_property
    def nodes(self) -> dict[str, int]:
        """The place of each element in the tree, by its ref. It is computed once, because it may be needed for all elements of a
        large page.
        """
        found = dict[str, int]()
        for node, place in enumerate(self.tree.elements):
            if 0 <= place < len(self.elements):
                found.setdefault(self.elements[place].ref, node)
        return found

    def _node(self, element: Element) -> int:
        """The place of ``element`` in the tree, -1 if unknown. The ref of an element that only a selector found holds its place."""
        unlisted = None if element.ref in self.nodes else _UNLISTED.fullmatch(element.ref)
        node = int(unlisted[1]) if unlisted else self.nodes.get(element.ref, -1)
        return node if node < len(self.tree.parents) else -1

    @cached_property
    def kept(self) -> dict[str, Any]:
        """Cached results for this page, by a name that their maker chooses."""
        return {}

    def control_around(self, element: Element) -> Element | None:
        """The control around ``element`` that gets its events, if there is one, such as the link around a heading in a card."""
        if element.inside:
            return self.element(element.inside)
        node = self._node(element)
        node = self.tree.parents[node] if node >= 0 else -1
        while node >= 0:
            above = self.tree.elements[node]
            if above >= 0 and self.elements[above].role in INTERACTIVE_ROLES:
                return self.elements[above]
            node = self.tree.parents[node]
        return None

    def labelled(self, element: Element) -> Element:
        """The control whose label is or contains ``element``, an element that a selector found; else ``element`` itself."""
        control = self.control_around(element) if element.inside else None
        # A field contains nothing, so an element whose events it gets is its label.
        labels = control is not None and (element.traits.tag == "label" or control.traits.tag in _FIELD_TAGS)
        return control if control is not None and labels else element

    def sole_control(self, element: Element) -> Element:
        """The only control in ``element``, if ``element`` has no other text than the control: a link in the box of a menu, an icon
        in a named box.

        Otherwise ``element`` itself: an author who means the row of a person does not mean the icon in it. A click on the control
        also reaches listeners on the box, so it can replace a click on the box.
        """
        node = self._node(element)
        if element.role not in _BOXES or node < 0:
            return element
        found, said = list[int](), False
        for inner in range(node + 1, min(len(self.tree.parents), node + 1 + _INNER_NODES_MAX)):
            if self.tree.parents[inner] < node:
                break
            said = said or (inner < len(self.tree.said) and bool(self.tree.said[inner]))
            if self.tree.roles[inner] in INTERACTIVE_ROLES or self.tree.roles[inner] == "iframe":
                found.append(self.tree.elements[inner])
        else:
            if len(self.tree.parents) > node + 1 + _INNER_NODES_MAX:
                return element  # too many nodes to search
        if len(found) != 1 or found[0] < 0:
            return element
        control = self.elements[found[0]]
        name = _SPACES.sub("", control.name)
        return control if (name == _SPACES.sub("", element.name) if name else not said) else element

    def has_ended(self, element: Element) -> bool:
        """True if something follows ``element``. A browser reads a document in order, so the content of ``element`` is then
        complete.
        """
        node = self._node(element)
        return node >= 0 and any(parent < node for parent in self.tree.parents[node + 1 :])

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each element in ``elements``, by its ref."""
        return {item.ref: place for place, item in enumerate(self.elements)}

    @cached_property
    def _named(self) -> dict[tuple[str, str, str], list[int]]:
        found: dict[tuple[str, str, str], list[int]] = {}
        for place, item in enumerate(self.elements):
            found.setdefault((item.role, item.name, item.frame), []).append(place)
        return found

    def named(self, role: str, name: str, frame: str) -> list[Element]:
        """All elements with exactly this role, name and frame, in their order."""
        return [self.elements[place] for place in self._named.get((role, name, frame), ())]

    def alike(self, element: Element) -> list[Element]:
        """All elements with the role, name and frame of ``element``, in their order; it is one of them if it is listed."""
        return self.named(element.role, element.name, element.frame)

    def prepare(self) -> None:
        """Compute the cached facts that every page needs, in the thread that made the page: for a large page this would block
        others too long.
        """
        _ = self.state, self.places, self._named, self.tree.ends

    def element(self, ref: str) -> Element | None:
        """The element with this ref."""
        place = self.places.get(ref)
        return None if place is None else self.elements[place]

    @cached_property
    def state(self) -> bytes:
        """The state hash (16 bytes): equal for pages that look alike to a user, whatever their numbers."""
        return state_hash(self)


BLANK: Final = Observation(url="about:blank", title="", text="", elements=())
"""A tab that has opened no page yet."""


def encode(observation: Observation) -> bytes:
    """The bytes of an observation, by which backends are compared."""
    return cbor.encode(observation)


def state_hash(observation: Observation) -> bytes:
    """SHA-256/128 of origin, path, sorted query keys, and the multiset of (role, name without digits, states, filled).

    An address that cannot be read counts as a path.
    """
    try:
        parts = urlsplit(observation.url)
    except ValueError:
        parts = SplitResult("", "", observation.url, "", "")
    # Values of a query are left out, because ids and page numbers differ between visits of the same page.
    keys = sorted({key for key, _ in parse_qsl(parts.query[:_QUERY_CHARS_MAX], keep_blank_values=True)})
    # A multiset, because the order of elements may change between visits, but their number matters.
    seen = Counter(
        (item.role, _VOLATILE.sub("#", item.name), ",".join(s for s in item.states if s != "active"), bool(item.value))
        for item in observation.elements
    )
    listed = [[*entry, count] for entry, count in sorted(seen.items())]
    path = _VOLATILE.sub("#", parts.path)
    return hashlib.sha256(cbor.encode([f"{parts.scheme}://{parts.netloc}", path, keys, listed])).digest()[:16]


def truncate(text: str, bytes_max: int = limits.SNAPSHOT_BYTES_MAX) -> str:
    """``text`` cut at a line end so that its UTF-8 form has at most ``bytes_max`` bytes."""
    if text.isascii() and len(text) <= bytes_max:
        return text
    raw = text.encode()
    if len(raw) <= bytes_max:
        return text
    return raw[:bytes_max].decode(errors="ignore").rpartition("\n")[0]
