"""Evidence: facts about an element on which a recorder acted, by which a replay recognises the element.

``Judge.differs`` compares an element with the evidence, and ``choose`` finds the element of a page that agrees. There are no
scores: a single changed cell counts as a difference, if it distinguished the row from its neighbours. docs/adr/0032.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache
from typing import Annotated, Final

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import TextKind
from protocol.page.actions.action import Locator, Text, Url, Word
from protocol.page.actions.fits import FITS_MAX, Comparable, Fit
from protocol.page.actions.links import identities, numbers, path_of
from protocol.page.actions.scope import node_of
from protocol.page.seen.names import akin, fold, same_name, shortened, together, visible
from protocol.page.seen.observation import INTERACTIVE_ROLES, Element, Observation, Tree
from protocol.page.seen.whole import require_only, require_whole

RECORD_ROLES: Final = frozenset({"row", "listitem", "article", "figure", "treeitem"})
"""Roles of elements that hold one record each."""
_CELL_ROLES: Final = frozenset({"cell", "gridcell", "rowheader", "columnheader"})
_UNSAID_ROLES: Final = INTERACTIVE_ROLES - {"link"}
"""Controls, which have the same names in each row because they name what a person can do."""
_AGO: Final = re.compile(
    r"\b(ago|just now|yesterday|today|tomorrow)\b|\bin \d+ (second|minute|hour|day)s?\b|\b\d\d?:\d\d\b"
)
"""Texts that change with the clock."""
_SHOWN_MAX: Final = 3
_NEAREST_AMONG: Final = 50
_CELL_CHARS_MAX: Final = 80
_NAME_CHARS_MAX: Final = 80
"""A longer text is not the name of a record."""


_Places = Annotated[
    tuple[Annotated[int, msgspec.Meta(ge=0, lt=limits.EVIDENCE_CELLS_MAX)], ...],
    msgspec.Meta(max_length=limits.EVIDENCE_CELLS_MAX),
]


_Said = Annotated[Text, TextKind.PAGE_TEXT]
_Link = Annotated[Url, TextKind.PAGE_ADDRESS]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The texts of one row, item or card of a page, without the element in question and other controls."""

    role: str
    cells: tuple[str, ...]
    """In order. A row has one for each column, empty ones included."""
    links: tuple[str, ...] = ()


class ElementEvidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The identity and place of an element when it was acted on."""

    role: Word = ""
    name: _Said = ""
    label: _Said = ""
    """Name of the nearest group or heading."""
    alike: Annotated[int, msgspec.Meta(ge=0, le=limits.OBSERVATION_ELEMENTS_MAX)] = 0
    """Number of other elements with the same role and name."""
    group: Word = ""
    """Role of the row, item or card around it; empty if there was none."""
    cells: Annotated[tuple[Text, ...], msgspec.Meta(max_length=limits.EVIDENCE_CELLS_MAX), TextKind.PAGE_TEXT] = ()
    """The texts of the row, item or card, in order; a row has one for each column."""
    telling: _Places = ()
    """Positions in ``cells`` of the texts that at least one look-alike lacked."""
    only: _Places = ()
    """The positions among them whose text every look-alike lacked."""
    links: Annotated[tuple[_Link, ...], msgspec.Meta(max_length=limits.EVIDENCE_LINKS_MAX)] = ()
    """The link targets of the element and its row that no look-alike had, without secrets."""
    attributes: Annotated[tuple[tuple[Word, _Said], ...], msgspec.Meta(max_length=4)] = ()
    """``id``, ``name``, ``type`` and ``data-testid``."""
    fits: Annotated[tuple[Fit, ...], msgspec.Meta(max_length=FITS_MAX)] = ()
    """How closely the texts of the action's target were matched. A text without an entry is matched anew. An action without an
    element may have only this field.
    """


def collect(element: Element, observation: Observation) -> ElementEvidence:
    """The evidence of ``element``, not redacted yet."""
    pool = _pool(element, observation)
    alike = [item for item in pool if item.ref != element.ref]
    forest = forest_of(observation)
    places = forest.places([element, *alike])
    record = forest.record(element, places)
    others = [forest.record(item, places) for item in alike]
    telling, only = _telling(record.cells, others) if record else ((), ())
    return ElementEvidence(
        role=element.role,
        name=element.name,
        label=element.context,
        alike=len(alike),
        group=record.role if record else "",
        cells=record.cells if record else (),
        telling=telling,
        only=only,
        links=_telling_links(record, element, others, alike)[: limits.EVIDENCE_LINKS_MAX],
        attributes=_attributes(element),
    )


class Judge:
    """Compares the elements of one page with evidence."""

    def __init__(
        self, evidence: ElementEvidence, observation: Observation, text: Comparable, address: Comparable
    ) -> None:
        """text, address: make a text and an address of the page comparable with the evidence."""
        self._evidence = evidence
        self._observation = observation
        self._forest = forest_of(observation)
        # Neighbouring candidates share their surroundings, so the same texts would be redacted many times.
        self._placed: tuple[list[Element], list[int]] | None = None
        self._text = cache(text)
        self._address = cache(address)

    def differs(self, element: Element, *, reads: bool, writes: bool, placed: bool = False) -> str:
        """The difference of ``element`` from the recorded one, in words; empty if it agrees. reads: the action only reads, so the
        name may differ, because it is often the content. placed: the row may not differ. writes: the name of a row must be
        equal, even if nothing distinguished the row from others when it was recorded.
        """
        evidence = self._evidence
        # A link may have become a button. An element that writes must still have its role.
        rebuilt = not (reads or writes) and bool(evidence.name) and akin(element.role, evidence.role)
        if element.role != evidence.role and not rebuilt:
            return f"a {element.role}, recorded was a {evidence.role}"
        if not reads and not same_name(self._text(element.name), evidence.name):
            return f"“{visible(element.name)}”, recorded was “{visible(evidence.name)}”"
        if reads and not placed:
            return ""
        pool = _pool(element, self._observation)
        found = self._records(element, self._places_of(pool))
        if not found and not evidence.alike and len(pool) == 1 and self._is_said():
            return ""
        if any(
            self._is_linked(record) or (self._says(record, writes=writes) and not (writes and self._is_other(record)))
            for record in found
        ):
            return ""
        if not (
            evidence.telling or (evidence.links and evidence.alike) or (writes and self._names(evidence.cells) >= 0)
        ):
            return ""
        here = next((record for record in found if _shown(record.cells)), None)
        shown = _shown(here.cells) if here else ""
        return f"one at “{shown}”, recorded was one at “{self._recorded()}”{self._other_cells(here)}"

    def is_whole(self, element: Element) -> bool:
        """True if the row of ``element`` has all recorded texts except times, and the recorded row differed from others."""
        evidence = self._evidence
        if not any(map(fold, evidence.cells)) or (evidence.alike and not evidence.telling):
            return False
        wanted = [fold(cell) for cell in evidence.cells]
        records = self._records(element, self._places_of(_pool(element, self._observation)))
        rows = [[fold(cell) for cell in record.cells] for record in records if record.role == evidence.group]

        def same(now: str, then: str) -> bool:
            return now == then or bool(_AGO.search(now) and _AGO.search(then))

        return any(len(row) == len(wanted) and all(map(same, row, wanted)) for row in rows)

    def choose(self, locator: Locator, pool: list[Element], *, writes: bool) -> Element:
        """The element of ``pool`` that agrees with the evidence; all of ``pool`` have the role and name of ``locator``.

        Errors: ``action.target_differs`` (none agrees), ``action.target_ambiguous`` (several do), ``page.cut``.
        """
        agreeing = [item for item in pool if not self.differs(item, reads=False, writes=writes)]
        if locator.nth is None or not agreeing:
            require = require_only if agreeing else require_whole
            asked = "whether another one agrees with the recorded one"
            require(self._observation, asked, frame=locator.frame, named=locator.name)
        if not agreeing:
            raise self._none(locator, pool, writes=writes)
        if len(agreeing) == 1 and not (writes and self._is_disputed(agreeing[0], pool)):
            return agreeing[0]
        for narrowed in (
            [item for item in agreeing if self._address(item.link) in self._evidence.links],
            [item for item in agreeing if _kept(_attributes(item)) & _kept(self._evidence.attributes)],
            [item for item in agreeing if item.context and self._text(item.context) == self._evidence.label],
        ):
            if len(narrowed) == 1 and not self._evidence.telling:
                return narrowed[0]
        # Nothing distinguished them at the recording either, and their number is the same, so the position decides.
        if not self._evidence.telling and len(pool) == self._evidence.alike + 1 and (locator.nth or 0) < len(pool):
            return pool[locator.nth or 0]
        if agreeing[0].link and len({item.link for item in agreeing}) == 1:
            return agreeing[0]
        raise self._several(locator, max(2, len(agreeing)))

    def _is_disputed(self, chosen: Element, pool: list[Element]) -> bool:
        """True if the links agree for ``chosen``, but the text agrees for another element of ``pool``."""
        others = self._forest.places(pool)
        return bool(self._evidence.telling) and any(
            self._says(record, writes=True)
            for item in pool
            if item.ref != chosen.ref
            for record in self._records(item, others)
        )

    def _places_of(self, pool: list[Element]) -> list[int]:
        """The places of ``pool`` in the tree. They are kept, because the elements of a pool are judged one after another."""
        if self._placed is None or self._placed[0] is not pool:
            self._placed = pool, self._forest.places(pool)
        return self._placed[1]

    def _several(self, locator: Locator, count: int) -> MeshError:
        where = f" at “{self._recorded()}”" if self._recorded() else ""
        return MeshError(
            "action.target_ambiguous",
            f"{count} elements agree with what was recorded: {locator.role} “{visible(locator.name)}”{where}",
            role=locator.role,
            name=locator.name,
            count=count,
        )

    def _none(self, locator: Locator, pool: list[Element], *, writes: bool) -> MeshError:
        found = [self.differs(item, reads=False, writes=writes) for item in pool[:_SHOWN_MAX]]
        places = list(dict.fromkeys(each.partition(", recorded was")[0] for each in found))
        return MeshError(
            "action.target_differs",
            f"expected {locator.role} “{visible(locator.name)}” at “{self._recorded()}”, found {len(pool)}: {'; '.join(places)}"
            f"{self._nearest(pool)}",
            role=locator.role,
            name=locator.name,
            found=places,
        )

    def _other_cells(self, record: Record | None) -> str:
        """The cells of ``record`` that differ from the distinguishing cells of the recorded row, in words."""
        cells, places = self._evidence.cells, self._evidence.telling or range(len(self._evidence.cells))
        if record is None:
            return ""
        if len(record.cells) == len(cells):
            pairs = [(place, record.cells[place], cells[place]) for place in places]
            other = [
                f"its cell {place + 1} says “{_brief(now)}”, not “{_brief(then)}”"
                for place, now, then in pairs
                if fold(now) != fold(then)
            ]
        else:
            said = {fold(cell) for cell in record.cells}
            other = [f"it does not say “{_brief(cells[place])}”" for place in places if fold(cells[place]) not in said]
        return "".join(f"; {one}" for one in other[:_SHOWN_MAX])

    def _nearest(self, pool: list[Element]) -> str:
        """The differing cells of the element in ``pool`` that has most of the recorded cells, in words; empty if none has any."""
        wanted = {fold(cell) for cell in self._evidence.cells if fold(cell)}
        most, near = 0, None
        for item in pool[:_NEAREST_AMONG]:
            for record in self._records(item, self._places_of(pool))[:1]:
                shared = len(wanted & {fold(cell) for cell in record.cells})
                most, near = (shared, record) if shared > most else (most, near)
        return f"; nearest is the one at “{_shown(near.cells)}”{self._other_cells(near)}" if near else ""

    def _recorded(self) -> str:
        cells = [self._evidence.cells[place] for place in self._evidence.telling]
        return _shown(cells or self._evidence.cells)

    def _records(self, element: Element, alike: list[int]) -> list[Record]:
        """Candidates for the recorded row of ``element``: the nearest element of the same role, otherwise wrappers that are not
        larger.
        """
        group = self._evidence.group
        found = self._forest.records(element, alike) or [Record(role="", cells=(), links=(element.link,))]
        if group in RECORD_ROLES:
            found = [record for record in found if record.role == group][:1]
        elif any(record.role in RECORD_ROLES for record in found):
            found = [record for record in found if record.role in RECORD_ROLES][:1]
        else:
            found = found[:1] + [record for record in found[1:] if len(record.cells) <= len(self._evidence.cells)]
        return [
            Record(
                role=record.role,
                cells=together(record.cells, self._text),
                links=tuple(self._address(link) for link in record.links),
            )
            for record in found
        ]

    def _says(self, record: Record, *, writes: bool) -> bool:
        """True if ``record`` has the texts that distinguished the recorded row from others."""
        evidence = self._evidence
        if evidence.telling:
            # An action that only reads may rely on unique texts alone: a count or a state changes sooner than a name.
            places = evidence.telling if writes else evidence.only or evidence.telling
            wanted = [(place, evidence.cells[place]) for place in places]
            return _contains(record.cells, wanted, same_size=len(record.cells) == len(evidence.cells))
        if evidence.links and evidence.alike:
            return False  # only its links distinguished it from others
        place = self._names(evidence.cells)
        return not writes or place < 0 or fold(evidence.cells[place]) in {fold(cell) for cell in record.cells}

    def _is_said(self) -> bool:
        """True if the page still contains the name of the recorded row, for an element that was and is the only one of its name,
        and is in no row now.

        So a table that only served layout may disappear. Its "name" is longer than the name of any record.
        """
        place = self._names(self._evidence.cells)
        name = fold(self._evidence.cells[place]) if place >= 0 else ""
        return len(name) > _NAME_CHARS_MAX or name in fold(self._text(self._observation.text))

    def _is_linked(self, record: Record) -> bool:
        """True if one of its links has a target that only the recorded row had: a renamed record keeps its number."""
        if not self._evidence.telling:
            return any(path_of(link) in map(path_of, self._evidence.links) for link in record.links)
        return bool(identities(record.links) & identities(self._evidence.links))

    def _is_other(self, record: Record) -> bool:
        """True if both contain numbers, but different ones: the same text then belongs to another record."""
        mine, recorded = numbers(record.links), numbers(self._evidence.links)
        return bool(mine and recorded) and not mine & recorded

    @staticmethod
    def _names(cells: tuple[str, ...]) -> int:
        """The position of the cell that names a record: the first cell with a letter; -1 if there is none."""
        return next((i for i, cell in enumerate(cells) if any(char.isalpha() for char in fold(cell))), -1)


def _contains(cells: tuple[str, ...], wanted: list[tuple[int, str]], *, same_size: bool) -> bool:
    """True if ``cells`` have the ``wanted`` texts: at the same places, or in the same order if the number of cells changed."""
    folded = [fold(cell) for cell in cells]
    if same_size:
        return all(folded[place] == fold(cell) for place, cell in wanted)
    left = iter(folded)
    return all(fold(cell) in left for _, cell in wanted)


def _telling(cells: tuple[str, ...], others: list[Record | None]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Places of the cells that at least one look-alike lacks, and of the cells that all lack."""
    elsewhere = [frozenset(fold(cell) for cell in other.cells) if other else frozenset[str]() for other in others]
    stated = [(i, fold(cell)) for i, cell in enumerate(cells) if fold(cell) and not _AGO.search(fold(cell))]
    telling = tuple(i for i, cell in stated if not all(cell in other for other in elsewhere))
    return telling, tuple(i for i, cell in stated if elsewhere and not any(cell in other for other in elsewhere))


def _telling_links(
    record: Record | None, element: Element, others: list[Record | None], alike: list[Element]
) -> tuple[str, ...]:
    """Links of the element and its row that no look-alike has."""
    own = [element.link] if 0 < len(element.link) <= limits.URL_CHARS_MAX // 2 else []
    mine = dict.fromkeys([*own, *(record.links if record else ())])
    taken = {item.link for item in alike} | {link for other in others if other for link in other.links}
    return tuple(link for link in mine if link not in taken)


def _attributes(element: Element) -> tuple[tuple[str, str], ...]:
    return element.traits.attributes + ((("type", element.traits.input_type),) if element.traits.input_type else ())


def _kept(attributes: tuple[tuple[str, str], ...]) -> frozenset[tuple[str, str]]:
    return frozenset(pair for pair in attributes if pair[0] != "type")


def _shown(cells: Iterable[str]) -> str:
    return " · ".join([_brief(cell) for cell in cells if fold(cell)][:_SHOWN_MAX])


def _brief(cell: str) -> str:
    return shortened(visible(cell), _CELL_CHARS_MAX)


def _pool(element: Element, observation: Observation) -> list[Element]:
    """All elements with the role, the frame and a name like that of ``element``."""
    pools = observation.kept.setdefault("pools", {})
    key = (element.role, element.frame, element.name)
    if key not in pools:
        pools[key] = [
            item
            for item in observation.elements
            if item.role == element.role and item.frame == element.frame and same_name(item.name, element.name)
        ]
    found: list[Element] = pools[key]
    return found


def forest_of(observation: Observation) -> ObservationTree:
    """The forest of ``observation``, made once."""
    forest: ObservationTree = observation.kept.get("forest") or ObservationTree(observation)
    observation.kept["forest"] = forest
    return forest


class ObservationTree:
    """The tree of an observation, walked upwards and downwards."""

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        self._tree: Tree = observation.tree
        self._elements = observation.elements
        self._end = observation.tree.ends

    def places(self, elements: list[Element]) -> list[int]:
        """The places of ``elements`` in the tree, in order."""
        nodes = self._observation.nodes
        return sorted(nodes[item.ref] for item in elements if item.ref in nodes)

    def record(self, element: Element, alike: list[int]) -> Record | None:
        """The row, item or card of ``element``: the nearest with such a role, else the largest wrapper without a look-alike."""
        found = self.records(element, alike)
        named = next((record for record in found if record.role in RECORD_ROLES), None)
        # Without a look-alike the largest wrapper would be the page.
        own = self._observation.nodes.get(element.ref, -1)
        return named or (found[-1] if found and any(place != own for place in alike[:2]) else None)

    def records(self, element: Element, alike: list[int]) -> list[Record]:
        """The nodes around ``element`` that have text, from the inside out, up to the first that also holds a look-alike. alike:
        places of the look-alikes, in order; that of ``element`` may be among them.
        """
        start = node_of(element, self._observation)
        if start < 0:
            return []
        at = bisect_left(alike, start)
        before = alike[at - 1] if at else -1
        at += at < len(alike) and alike[at] == start
        after = alike[at] if at < len(alike) else len(self._end)
        found: list[Record] = []
        node = self._tree.parents[start]
        # A node around it contains the nearest look-alike on either side before any other one.
        while node >= 0 and not (node <= before or after < self._end[node]):
            record = self._read(node, start)
            if any(map(fold, record.cells)):
                found.append(record)
            node = self._tree.parents[node]
        return found

    def _read(self, root: int, element: int) -> Record:
        """The texts in the node ``root``, without ``element``."""
        cells: list[str] = []
        links: list[str] = []
        node = root + 1
        while node < self._end[root] and len(cells) < limits.EVIDENCE_CELLS_MAX:
            role = self._tree.roles[node]
            if role in _CELL_ROLES:
                cells.append(self._joined(node, element, links))
                node = self._end[node]
            elif node == element or role in _UNSAID_ROLES:
                self._link(node, links)
                node = self._end[node]
            else:
                self._link(node, links)
                if self._is_leaf(node):
                    cells.append(self._tree.said[node][: limits.EVIDENCE_CHARS_MAX])
                node += 1
        return Record(role=self._tree.roles[root], cells=tuple(cells), links=tuple(links))

    def _joined(self, cell: int, element: int, links: list[str]) -> str:
        """The whole text of a cell; empty if it holds only controls."""
        parts: list[str] = []
        node = cell
        while node < self._end[cell]:
            self._link(node, links)
            if node != cell and (node == element or self._tree.roles[node] in _UNSAID_ROLES):
                node = self._end[node]
                continue
            if self._is_leaf(node):
                parts.append(self._tree.said[node])
            node += 1
        return " ".join(parts)[: limits.EVIDENCE_CHARS_MAX]

    def _is_leaf(self, node: int) -> bool:
        return bool(self._tree.said[node]) and not any(self._tree.said[node + 1 : self._end[node]])

    def _link(self, node: int, links: list[str]) -> None:
        place = self._tree.elements[node]
        url = self._elements[place].link if place >= 0 else ""
        # A longer link is not the address of a record. The limit is half of the permitted length because redaction may lengthen a
        # link.
        if 0 < len(url) <= limits.URL_CHARS_MAX // 2 and len(links) < limits.EVIDENCE_LINKS_MAX:
            links.append(url)
