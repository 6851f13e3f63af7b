"""Builds an ``Observation`` from a parsed snapshot and the facts about its controls. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final
from urllib.parse import urljoin

import msgspec

from adapters.browser.base.masking import Mask
from adapters.browser.base.text import well_formed
from adapters.browser.egress import FrameDocument
from adapters.browser.observing.aria import AriaNode
from adapters.browser.observing.standing import HiddenControl, place
from protocol import limits
from protocol.page.seen.observation import INTERACTIVE_ROLES, Cut, Element, Observation, Traits, Tree, truncate

_FIELD_ROLES: Final = frozenset(["textbox", "searchbox", "spinbutton", "combobox", "slider"])
_GROUP_ROLES: Final = frozenset(
    ["listitem", "row", "article", "region", "form", "group", "dialog", "alertdialog", "figure", "tabpanel"]
)
_CONTEXT_CHARS_MAX: Final = 80
_LONG_CHARS: Final = 4 * limits.ELEMENT_NAME_CHARS_MAX
_HEADINGS_TRIED_MAX: Final = 50
_CLICKS_ELSEWHERE: Final = frozenset(["label", "summary"])
"""A click on a label goes to its control; a summary is a control itself."""
_SPACE: Final = re.compile(r"\s+")


@dataclass(slots=True)
class FrameFacts:
    """The results of one evaluation per frame."""

    traits: dict[str, Traits] = field(default_factory=dict)
    """By Playwright ref."""
    identities: dict[str, str] = field(default_factory=dict)
    """By Playwright ref: the identity of an element in a reachable frame."""
    bases: dict[str, str] = field(default_factory=dict)
    """Base address by Playwright's frame prefix (``f3``; empty for the main frame)."""
    leads: dict[str, str] = field(default_factory=dict)
    """Targets of links that have the role of something else, such as ``<a role=button>``, by Playwright ref."""
    labels: dict[str, str] = field(default_factory=dict)
    """The control of each label, both as Playwright refs."""
    standing: list[HiddenControl] = field(default_factory=list)
    """Hidden controls that their labels stand for."""
    unmarked: bool = False
    """True if a frame has such controls, but none of its elements had a Playwright ref yet."""
    title: str = ""
    """Title of the main frame's document."""
    unread: int = 0
    """How many lines of the snapshot were left out."""
    awaited: int = 0
    """How many frames wait for their first document, …"""
    coming: int = 0
    """… and how many frames in reach have an incomplete document."""
    unfinished: bool = False
    """True if the document of the main frame still loads, but is no longer waited for."""
    unasked: int = 0
    """How many controls in unreachable frames have unread traits."""
    traps: bool = False
    """True if a form has a field that keeps the form's content from being pressed."""
    clobbered: str = ""
    """Name of a form's field that spoiled the snapshot."""
    busy: bool = False
    """True if a frame shows that it is working."""
    documents: list[FrameDocument] = field(default_factory=list)
    """The document of each frame."""
    passwords: set[str] = field(default_factory=set)
    """The content of password fields, to be removed wherever it appears."""


@dataclass(slots=True)
class View:
    """An observation, and the Playwright ref of each of its refs."""

    observation: Observation
    refs: dict[str, str]
    standing: dict[str, str] = field(default_factory=dict)
    """Hidden controls with visible labels: by Playwright ref, the ref of the frame around each, empty for the main frame."""
    nodes: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Place in the tree, and frame, by Playwright ref."""
    traps: bool = False
    """``FrameFacts.traps``."""
    identities: dict[str, str] = field(default_factory=dict)
    """``adapters.ports.Page.identities``."""
    unlisted: dict[str, Element] = field(default_factory=dict)
    """Elements that a selector found but the observation leaves out, by their ref."""

    def element(self, ref: str) -> Element | None:
        """The element with this ref."""
        return self.observation.element(ref) or self.unlisted.get(ref)

    def known(self, frame: str) -> dict[str, str]:
        """Refs of the observation by Playwright ref, for the elements of ``frame``."""
        return {self.refs[item.ref]: item.ref for item in self.observation.elements if item.frame == frame}

    def nodes_in(self, frame: str) -> list[str]:
        """Playwright refs of everything in ``frame``."""
        return [ref for ref, (_, known) in self.nodes.items() if known == frame]

    def keep(self, internal: str, frame: str, traits: Traits, around: str, mask: Mask, said: str = "") -> Element:
        """An element that the observation leaves out. internal: its Playwright ref, or a made-up name without one. around: ref
        of the control that contains it. said: its text, for an element without a ref.
        """
        place, _ = self.nodes.get(internal, (-1, ""))
        tree = self.observation.tree
        said = (
            " ".join(part for part in tree.said[place : tree.ends[place]] if part)
            if place >= 0
            else mask(well_formed(said))
        )
        shown = tuple((key, mask(kept)) for key, kept in traits.attributes)
        traits = msgspec.structs.replace(traits, attributes=shown)
        name = "" if traits.input_type == "password" else said[: limits.ELEMENT_NAME_CHARS_MAX]
        role = tree.roles[place] if place >= 0 else "generic"
        ref = f"{frame}n{place}" if place >= 0 else f"{frame}x{len(self.unlisted)}"
        element = Element(ref=ref, role=role, name=name, frame=frame, inside=around, traits=traits)
        self.refs[ref], self.unlisted[ref] = internal, element
        return element


def wanted_refs(roots: Sequence[AriaNode]) -> list[str]:
    """Playwright refs of the nodes whose traits an observation needs, known controls first."""
    nodes = [node for root in roots for node in root.walk() if node.ref]
    acting = [node.ref for node in nodes if node.role in INTERACTIVE_ROLES or node.pointer]
    # A node with a name and no role can be the ``summary`` of a page without other controls. A page can have many such nodes.
    named = [node.ref for node in nodes if node.role == "generic" and node.name and not node.pointer]
    return acting + named


def assemble(roots: list[AriaNode], facts: FrameFacts, *, url: str, title: str, mask: Mask) -> View:
    """The observation of a page, with refs numbered in snapshot order."""

    def cleaned(text: str) -> str:
        return mask(well_formed(text))

    place(roots, facts.standing)
    builder = _Builder(roots, facts, url, cleaned)
    elements = builder.elements()
    lines, total = builder.lines()
    text = truncate("\n".join(lines), limits.SNAPSHOT_BYTES_MAX)
    left_out = {
        "lines": facts.unread,
        "elements": builder.unlisted,
        "text": total - text.count("\n") - bool(text),
        "controls": facts.unasked,
        "frames": facts.awaited + facts.coming,
        "document": int(facts.unfinished),
    }
    observation = Observation(
        url=cleaned(url),
        title=cleaned(title)[: limits.TITLE_CHARS_MAX],
        text=text,
        elements=tuple(elements),
        lines=builder.places(total),
        tree=builder.tree(),
        cut=msgspec.convert([{"bound": key, "left_out": n} for key, n in left_out.items() if n], tuple[Cut, ...]),
    )
    observation.prepare()
    identities = {ref: facts.identities[known] for ref, known in builder.refs.items() if known in facts.identities}
    return View(
        observation, builder.refs, builder.standing(), builder.nodes(), traps=facts.traps, identities=identities
    )


class _Builder:
    def __init__(self, roots: Sequence[AriaNode], facts: FrameFacts, url: str, mask: Mask) -> None:
        self.refs: dict[str, str] = {}
        self._facts = facts
        self._url = url
        self._mask = mask
        self._order: list[AriaNode] = []
        self._end: list[int] = []
        self._parent: list[int] = []
        self._counts: dict[str, int] = {}
        self._number(roots)
        # Playwright numbers frames over the life of the page, including the main frame; here they are numbered per snapshot. The
        # first ref belongs to the main frame: a frame without a ref of its own is not looked into. The outermost nodes may have no
        # ref.
        self._frames: dict[str, str] = {self._prefix(next((node.ref for node in self._order if node.ref), "")): ""}
        self._headings = [i for i, node in enumerate(self._order) if node.role == "heading"]
        self._said_beside = {each.ref: each.said for each in facts.standing if each.said != each.name}
        self._speaking = [i for i, node in enumerate(self._order) if self._said(i)]
        self._labels: dict[int, str] = {}
        self._groups: dict[int, int] = {}
        self._labelled: dict[int, int] = {}
        self._listed: list[int] = []
        """The index of each element's node."""
        self.unlisted = 0
        """How many elements were left out."""
        self._before: list[int] = []
        """How many lines precede each node."""

    def _number(self, roots: Sequence[AriaNode]) -> None:
        """List the tree in document order; iterative, as a page can nest deeper than Python can recurse."""
        pending = [(root, -1) for root in reversed(roots)]
        while pending:
            node, parent = pending.pop()
            self._clean(node)
            index = len(self._order)
            self._order.append(node)
            self._parent.append(parent)
            self._end.append(index + 1)
            pending.extend((child, index) for child in reversed(node.children))
        for index in range(len(self._order) - 1, -1, -1):
            parent = self._parent[index]
            if parent >= 0:
                self._end[parent] = max(self._end[parent], self._end[index])

    def _clean(self, node: AriaNode) -> None:
        """Remove secrets from a node before anything else reads it."""
        if node.role in _FIELD_ROLES and node.ref and self._hides(node):
            node.text = ""
            node.children = [child for child in node.children if child.role != "text"]
        if node.name:
            node.name = self._mask(node.name)
        if node.text:
            node.text = self._mask(node.text)
        for key, value in node.properties.items():
            node.properties[key] = self._mask(value)

    def _hides(self, node: AriaNode) -> bool:
        """True for a password field, and for a field without facts, which could be one."""
        traits = self._facts.traits.get(node.ref)
        return traits is None or traits.input_type == "password"

    # --- elements ---

    def elements(self) -> list[Element]:
        """Every node with a ref, except mere wrappers."""
        found: list[Element] = []
        clickable = self._clickable()
        for index, node in enumerate(self._order):
            if not node.ref or (node.role == "generic" and not node.pointer and not node.name):
                continue
            if len(found) == limits.OBSERVATION_ELEMENTS_MAX:
                self.unlisted += 1
                continue
            element = self._element(index, node)
            if index in clickable and element.traits.tag not in _CLICKS_ELSEWHERE:
                element = msgspec.structs.replace(element, clickable=True)
            found.append(element)
            self._listed.append(index)
        return self._labelling(found)

    def _labelling(self, elements: list[Element]) -> list[Element]:
        """``elements``, where each label names its control."""
        controls = {internal: ref for ref, internal in self.refs.items()} if self._facts.labels else {}
        for index, element in enumerate(elements if controls else ()):
            control = controls.get(self._facts.labels.get(self.refs[element.ref], ""), "")
            if control:
                elements[index] = msgspec.structs.replace(element, inside=control)
        return elements

    def _clickable(self) -> set[int]:
        """Nodes with a pointer cursor that are no control and have none in or around them."""
        within: list[bool] = []
        """For each node: True if it is a control or stands in one. Nodes come after those that contain them."""
        for node, parent in zip(self._order, self._parent, strict=True):
            within.append(node.role in INTERACTIVE_ROLES or (parent >= 0 and within[parent]))
        before = [0, *accumulate(node.role in INTERACTIVE_ROLES or node.role == "iframe" for node in self._order)]
        return {
            index
            for index, node in enumerate(self._order)
            if node.pointer
            and node.role in ("generic", "img")
            and not within[index]
            and before[index] == before[self._end[index]]
        }

    def _element(self, index: int, node: AriaNode) -> Element:
        frame = self._frame(node.ref)
        self._counts[frame] = self._counts.get(frame, 0) + 1
        ref = f"{frame}e{self._counts[frame]}"
        self.refs[ref] = node.ref
        name = self._name(index, node)
        traits = self._facts.traits.get(node.ref, Traits())
        if traits.attributes:
            shown = tuple((key, self._mask(kept)) for key, kept in traits.attributes)
            traits = msgspec.structs.replace(traits, attributes=shown)
        if said := self._said_beside.get(node.ref):
            traits = msgspec.structs.replace(traits, label=self._mask(said))
        selected = [child for child in node.children if child.role == "option" and "selected" in child.attributes]
        value = ""
        if node.role in _FIELD_ROLES:
            value = node.text or " ".join(child.text for child in node.children if child.role == "text")
            value = value or (selected[0].name if selected else "")
        return Element(
            ref=ref,
            role=node.role,
            name=name,
            frame=frame,
            value=value,
            states=tuple(sorted(key + (f"={kept}" if kept else "") for key, kept in node.attributes.items())),
            url=self._link(node),
            context=self._context(index, name),
            options=tuple(child.name for child in node.children if child.role == "option" and not child.ref),
            traits=traits,
        )

    def _frame(self, ref: str) -> str:
        prefix = self._prefix(ref)
        if prefix not in self._frames:
            self._frames[prefix] = f"f{len(self._frames)}"
        return self._frames[prefix]

    @staticmethod
    def _prefix(ref: str) -> str:
        return ref.rpartition("e")[0]

    def _link(self, node: AriaNode) -> str:
        stated = node.properties.get("url", self._facts.leads.get(node.ref))
        if stated is None:
            return ""
        base = self._facts.bases.get(self._prefix(node.ref), self._url)
        try:
            led = urljoin(base, stated.strip())
        except ValueError:
            return ""
        # An empty fragment, which the join drops, distinguishes a button from a link to another page.
        whole = f"{led.removesuffix('#')}#" if stated.rstrip().endswith("#") else led
        return self._mask(whole)[: limits.URL_CHARS_MAX]

    def _name(self, index: int, node: AriaNode) -> str:
        """The accessible name; if the snapshot omits it because it repeats the content, the content."""
        if node.name:
            return node.name[: limits.ELEMENT_NAME_CHARS_MAX]
        if node.role in _FIELD_ROLES:
            return node.properties.get("placeholder", "")
        if node.role in INTERACTIVE_ROLES or node.role == "heading" or node.pointer:
            return self._content(index)[: limits.ELEMENT_NAME_CHARS_MAX]
        return ""

    def _content(self, index: int) -> str:
        parts: list[str] = []
        chars = 0
        # Only nodes with text, and only as much as is kept: otherwise nested nodes would be read once per level.
        for speaker in range(bisect_left(self._speaking, index), len(self._speaking)):
            item = self._order[self._speaking[speaker]]
            if self._speaking[speaker] >= self._end[index] or chars > limits.ELEMENT_NAME_CHARS_MAX:
                break
            for part in filter(None, (item.name, item.text)):
                folded = " ".join(part[:_LONG_CHARS].split())
                parts.append(folded)
                chars += len(folded) + 1
        return " ".join(filter(None, parts))

    def standing(self) -> dict[str, str]:
        """Hidden controls that labels stand for, each with the frame around it."""
        hidden = {each.ref for each in self._facts.standing}
        return {node.ref: self._holder(index) for index, node in enumerate(self._order) if node.ref in hidden}

    def _holder(self, index: int) -> str:
        while index >= 0 and self._order[index].role != "iframe":
            index = self._parent[index]
        return self._order[index].ref if index >= 0 else ""

    def nodes(self) -> dict[str, tuple[int, str]]:
        """Place and frame of all nodes that have a ref."""
        return {node.ref: (index, self._frame(node.ref)) for index, node in enumerate(self._order) if node.ref}

    def tree(self) -> Tree:
        """The order of all nodes, once the elements are listed."""
        places = {node: place for place, node in enumerate(self._listed)}
        return Tree(
            parents=tuple(self._parent),
            roles=tuple(node.role for node in self._order),
            said=tuple("" if self._is_unchosen(index) else self._said(index) for index in range(len(self._order))),
            elements=tuple(places.get(index, -1) for index in range(len(self._order))),
        )

    # --- context ---

    def _context(self, index: int, name: str) -> str:
        """A text that distinguishes the element from similar ones: its group's name, or the nearest heading in its group."""
        own = self._order[index].role
        parent = self._labelled_from(self._parent[index])
        while parent >= 0:
            label = self._label(parent)
            if label != name and not (own == "heading" and self._order[parent].role == "generic"):
                return label[:_CONTEXT_CHARS_MAX]
            parent = self._labelled_from(self._parent[parent])
        nearest = "" if own == "heading" else self._heading_above(index)
        return nearest[:_CONTEXT_CHARS_MAX] if nearest != name else ""

    def _heading_above(self, index: int) -> str:
        """The last heading before the element, except those of other groups, such as an earlier list item."""
        position = bisect_left(self._headings, index)
        for heading in reversed(self._headings[max(0, position - _HEADINGS_TRIED_MAX) : position]):
            group = self._group_around(heading)
            if group < 0 or group < index < self._end[group]:
                return self._content(heading)
        return ""

    def _group_around(self, heading: int) -> int:
        """The nearest group around a heading; -1 if there is none."""
        if heading not in self._groups:
            group = self._parent[heading]
            while group >= 0 and self._order[group].role not in _GROUP_ROLES:
                group = self._parent[group]
            self._groups[heading] = group
        return self._groups[heading]

    def _labelled_from(self, index: int) -> int:
        """The nearest node with a label among a node and those around it; -1 if there is none. Each path is walked once."""
        passed: list[int] = []
        while index >= 0 and index not in self._labelled and not self._label(index):
            passed.append(index)
            index = self._parent[index]
        found = self._labelled.get(index, index)
        self._labelled.update(dict.fromkeys(passed, found))
        return found

    def _label(self, index: int) -> str:
        """Name of a group: its own, else its first heading, else its first text. A mere wrapper takes only a single heading."""
        if index not in self._labels:
            node = self._order[index]
            self._labels[index] = self._named(index) if node.role in _GROUP_ROLES else self._only_heading(index)
        return self._labels[index]

    def _named(self, index: int) -> str:
        node = self._order[index]
        label = "" if node.role == "row" else node.name
        label = label or self._first_heading(index)
        if not label and node.role in ("listitem", "row", "article", "figure"):
            first = bisect_left(self._speaking, index + 1)
            here = first < len(self._speaking) and self._speaking[first] < self._end[index]
            label = self._said(self._speaking[first]) if here else node.text
        return label or node.name

    def _said(self, index: int) -> str:
        node = self._order[index]
        return "" if node.role in _FIELD_ROLES else node.name or node.text

    def _is_unchosen(self, index: int) -> bool:
        """True if it is an option that a closed list does not show. Options of an open list have refs, or stand in a listbox."""
        node, parent = self._order[index], self._parent[index]
        is_listed = node.role == "option" and not node.ref and parent >= 0 and self._order[parent].role == "combobox"
        return is_listed and "selected" not in node.attributes

    def _first_heading(self, index: int) -> str:
        position = bisect_left(self._headings, index)
        if position < len(self._headings) and self._headings[position] < self._end[index]:
            return self._content(self._headings[position])
        return ""

    def _only_heading(self, index: int) -> str:
        """The heading of a wrapper that holds exactly one."""
        start, end = bisect_left(self._headings, index), bisect_left(self._headings, self._end[index])
        return self._content(self._headings[start]) if end - start == 1 else ""

    # --- text ---

    def lines(self) -> tuple[list[str], int]:
        """The snapshot without refs, cursors and wrappers, one line per node, up to the limit; and the full number of lines."""
        listed: list[str] = []
        total = chars = 0
        shift = [0] * len(self._order)
        for index, node in enumerate(self._order):
            parent = self._parent[index]
            level = shift[parent] if parent >= 0 else 0
            wrapper = (
                node.role == "generic" and not node.name and not node.text and not node.attributes.keys() - {"active"}
            )
            shift[index] = level if wrapper else level + 1
            self._before.append(total)
            if wrapper:
                continue
            total += 1
            # Indentation alone makes the text of a deep page grow with the square of its depth.
            if chars <= limits.SNAPSHOT_BYTES_MAX:
                listed.append("  " * level + self._line(node))
                chars += len(listed[-1]) + 1
        return listed, total

    def places(self, total: int) -> tuple[int, ...]:
        """For each element, the line of its node, or the first line within a wrapper. total: the number of lines."""
        before = [*self._before, total]
        return tuple(before[node] if before[self._end[node]] > before[node] else -1 for node in self._listed)

    @staticmethod
    def _line(node: AriaNode) -> str:
        if node.role == "text":
            return f"- {_SPACE.sub(' ', node.text)}"  # page text must not start a new line
        states = "".join(
            f" [{key}={value}]" if value else f" [{key}]"
            for key, value in sorted(node.attributes.items())
            if key != "active"
        )
        name = f' "{_SPACE.sub(" ", node.name)}"' if node.name else ""
        role = "" if node.role == "generic" and not name else f"{node.role}{name}"
        text = _SPACE.sub(" ", node.text)
        head = f"{role}{states}"
        return f"- {head}: {text}" if head and text else f"- {head or text}"
