"""The action table: one line for each thing that can be done on a page, and the difference between two tables.

A line is ``e17 button "Add to cart" [disabled] in "Blue mug"``. Text of the page stands in quotes, and never begins a line.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol import limits
from protocol.page.actions.action import Action, Check, Fill, Select
from protocol.page.seen.observation import INTERACTIVE_ROLES, ROLES, Element, Observation
from protocol.page.seen.whole import said
from protocol.page.showing.element_ids import Named
from protocol.page.showing.outline import Entry

_SPACE: Final = re.compile(r"\s+")
_SILENT: Final = frozenset({"active", "cursor"})
_LOUD: Final = re.compile(r'(?:alert|status|heading)(?: "(.*)"[^"]*|: (.*))')
_BARE: Final = re.compile(r"([a-z]+)(?: \[[^\]]*\])*:?")
"""A line of the snapshot that holds a role and no words."""
_NAME: Final = re.compile(r'^[a-z]+ "(.*)"')
_NAME_CHARS: Final = 100
_VALUE_CHARS: Final = 60
_CONTEXT_CHARS: Final = 40
_GONE_SHOWN: Final = 4
"""How many texts that are gone a difference quotes."""


@dataclass(frozen=True, slots=True)
class Table:
    """The lines of a page that a caller is shown."""

    rows: dict[str, str] = field(default_factory=dict)
    """The line of each thing that can be done, by id, in document order."""
    texts: tuple[str, ...] = ()
    """The other lines of the page, each without its indentation."""
    address: str = ""
    """Without fragment."""
    cut: str = ""
    """The parts that the page was too large to read, in words; empty for a page that was read to its end."""

    @property
    def headings(self) -> list[str]:
        """The texts of alerts, statuses and headings, in document order, without those that a control has too."""
        own = "\n".join(self.rows.values())
        loud = (_LOUD.fullmatch(line) for line in self.texts)
        said = (found[1] or found[2] for found in loud if found)
        return [line for line in dict.fromkeys(said) if line not in own]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines to show, and the ids of the elements in them."""

    lines: tuple[str, ...]
    ids: tuple[str, ...] = ()
    part: int = 1
    parts: int = 1
    """How many parts there are; the lines are the ``part``-th of them."""

    @property
    def more(self) -> str:
        """Which part this is; empty if it is the only one."""
        return f"part {self.part} of {self.parts}" if self.parts > 1 else ""


def table(named: Named, plain: Callable[[str], str] = str) -> Table:
    """The table of a page. plain: takes secrets out of a text.

    It is asked before a text is cut or written anew: half of a secret, or one with other quotes, is found by nobody.
    """
    observation = named.observation
    listed = [item for item in observation.elements if acts(item)]
    twice = Counter((item.role, item.name) for item in listed)
    rows = {
        named.id(item.ref): row(item, named.id(item.ref), plain, context=twice[item.role, item.name] > 1)
        for item in listed
    }
    own = _own_lines(observation, listed)
    cut = said(observation.cut) if observation.cut else ""
    return Table(
        rows=rows, texts=tuple(map(plain, _texts(observation, own))), address=observation.url.partition("#")[0], cut=cut
    )


def _own_lines(observation: Observation, listed: Sequence[Element]) -> set[int]:
    """The lines of the snapshot that the rows of ``listed`` stand for: their own, and those of the options of a list."""
    if not observation.lines:
        return set()
    own = {observation.lines[observation.places[item.ref]]: bool(item.options) for item in listed}
    lines, inside = observation.text.split("\n"), -1
    found = set(own)
    for number, line in enumerate(lines):
        level = len(line) - len(line.lstrip(" "))
        if 0 <= inside < level:
            found.add(number)
        else:
            inside = level if own.get(number) else -1
    return found


def acts(element: Element) -> bool:
    """True for a control, also a disabled one. The label of a control does not count."""
    control = element.role in INTERACTIVE_ROLES or element.traits.tag == "summary" or element.clickable
    return control and not element.inside


def row(element: Element, given: str, plain: Callable[[str], str] = str, *, context: bool = False) -> str:
    """The line of one element. given: its id. plain: as for ``table``. context: True to say in which row or card it stands."""
    states = " ".join(f"[{state}]" for state in element.states if state.partition("=")[0] not in _SILENT)
    parts = (
        given,
        element.role if element.role != "generic" else "clickable",
        quoted(plain(element.name), _NAME_CHARS),
        states,
        f"= {quoted(plain(element.value), _VALUE_CHARS)}" if element.value else "",
        f"({len(element.options)} options)" if element.options else "",
        f"in {quoted(plain(element.context), _CONTEXT_CHARS)}" if context and element.context else "",
    )
    return " ".join(part for part in parts if part)


def quoted(text: str, chars: int) -> str:
    """``text`` in quotes, on one line, cut after ``chars`` characters; empty for no text."""
    line = _SPACE.sub(" ", text).strip().replace('"', "”")
    return f'"{line[:chars]}{"…" if len(line) > chars else ""}"' if line else ""


def _texts(observation: Observation, own: Collection[int]) -> Iterator[str]:
    """The lines of ``observation`` that say something, but for those in ``own`` and those that a line around them says already."""
    around: list[tuple[int, str]] = []
    for number, line in enumerate(observation.text.split("\n")):
        body = line.lstrip(" ")
        level = len(line) - len(body)
        while around and around[-1][0] >= level:
            around.pop()
        text = _SPACE.sub(" ", body).strip().removeprefix("- ")
        bare = _BARE.fullmatch(text)
        if not text or (bare and bare[1] in ROLES):
            continue
        name = _NAME.search(text)
        words = (name[1] if name else text).casefold()
        repeated = any(words in outer for _, outer in around)
        if name:
            around.append((level, words))
        if number not in own and not repeated:
            yield text


def part(shown: Table, number: int = 1, bytes_max: int = limits.TABLE_BYTES) -> Lines:
    """The ``number``-th part of a table, from 1. The first begins with alerts, statuses and headings."""
    return parted([*_head(shown, bytes_max), *shown.rows.items()], number, bytes_max)


def change(
    before: Table, now: Table, asked: Collection[str] = (), bytes_max: int = limits.TABLE_BYTES
) -> tuple[Lines, bool]:
    """The difference between two tables; or, of another page, its table and True.

    ``now`` is another page if it has another address and its table is shorter than the difference. asked: ids of the fields that
    hold what they were asked to hold; they are counted only.
    """
    differing = _differing(before, now, asked)
    if before.address != now.address and _bytes(arrived := _arrived(before, now, bytes_max)) < _bytes(differing):
        return parted(arrived, 1, bytes_max), True
    return parted(differing or [("", "# nothing that is listed here has changed")], 1, bytes_max), False


def _bytes(entries: Sequence[Entry]) -> int:
    return sum(len(line.encode()) + 1 for _, line in entries)


def _arrived(before: Table, now: Table, bytes_max: int) -> list[Entry]:
    """The table of another page than ``before``. Of lines that ``before`` had too, only the ids are given."""
    new = [(given, line) for given, line in now.rows.items() if before.rows.get(given) != line]
    same = [given for given, line in now.rows.items() if before.rows.get(given) == line]
    still = [("", f"# as before: {ids_in_brief(same)}")] if same else []
    return [*_head(now, bytes_max), *still, *new]


def ids_in_brief(given: Sequence[str]) -> str:
    """``e1-e4 e7``: ids with those that follow each other as a range."""
    ranges: list[list[int]] = []
    for number in (int(each.removeprefix("e")) for each in given):
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    return " ".join("-".join(f"e{end}" for end in each) for each in ranges)


def _head(shown: Table, bytes_max: int) -> list[Entry]:
    told = [f"# not all of the page could be read: {shown.cut}"] if shown.cut else []
    loud = _within([f"# {quoted(line, _NAME_CHARS)}" for line in shown.headings], bytes_max // 5)
    return [("", line) for line in (*told, *loud)]


def parted(entries: Sequence[Entry], number: int, bytes_max: int) -> Lines:
    """The ``number``-th part of ``entries``, from 1; the last one for a greater number. A part has at most ``bytes_max`` bytes."""
    parts = _parts(entries, bytes_max)
    number = min(max(number, 1), len(parts))
    chosen = parts[number - 1]
    return Lines(
        lines=tuple(line for _, line in chosen),
        ids=tuple(given for given, _ in chosen if given),
        part=number,
        parts=len(parts),
    )


def _within(lines: Sequence[str], bytes_max: int) -> list[str]:
    return [line for _, line in _parts([("", line) for line in lines], bytes_max)[0]]


def _parts(entries: Sequence[Entry], bytes_max: int) -> list[list[Entry]]:
    parts: list[list[Entry]] = [[]]
    size = 0
    for given, line in entries:
        cost = len(line.encode()) + 1
        if size + cost > bytes_max and parts[-1]:
            parts.append([])
            size = 0
        parts[-1].append((given, line))
        size += cost
    return parts


def _differing(before: Table, now: Table, asked: Collection[str]) -> list[Entry]:
    """The lines that ``now`` has and ``before`` had not (``+``), that say something else (``~``), and that are gone (``-``)."""
    entries: list[Entry] = []
    if asked:
        entries.append(("", f"# {len(asked)} field{'s hold' if len(asked) > 1 else ' holds'} what was given"))
    entries += [
        (given, f"{'~' if given in before.rows else '+'} {line}")
        for given, line in now.rows.items()
        if before.rows.get(given) != line and given not in asked
    ]
    new, old = Counter(now.texts) - Counter(before.texts), Counter(before.texts) - Counter(now.texts)
    for line in now.texts:
        if new[line] > 0:
            new[line] -= 1
            entries.append(("", f"+ {quoted(line, 2 * _NAME_CHARS)}"))
    if gone := [given for given in before.rows if given not in now.rows]:
        entries += [("", f"- {ids_in_brief(gone)}")]
    lines = [*old.elements()]
    entries += [("", f"- {quoted(line, _NAME_CHARS)}") for line in lines[:_GONE_SHOWN]]
    if len(lines) > _GONE_SHOWN:
        entries.append(("", f"# {len(lines) - _GONE_SHOWN} more texts are gone"))
    return entries


def holds(action: Action, before: Element, now: Element) -> bool:
    """True if the field ``now`` holds what ``action`` has put into it, and else is as it was ``before``."""
    if _otherwise(before) != _otherwise(now):
        return False
    match action:
        case Fill(value=str() as text):
            return _SPACE.sub(" ", text).strip() == _SPACE.sub(" ", now.value).strip()
        case Check(checked=checked):
            return ("checked" in now.states) is checked
        case Select(option=option, also=()):
            return option == now.value
        case _:
            return False


def _otherwise(element: Element) -> tuple[str, str, str, frozenset[str]]:
    """The parts of an element that filling it does not change."""
    return element.role, element.name, element.context, frozenset(element.states) - _SILENT - {"checked"}


def matching(named: Named, wanted: str, plain: Callable[[str], str] = str) -> list[Entry]:
    """The lines of a page that contain ``wanted``, in any case of letters, or whose role it is.

    A control also counts if the row or card around it is called ``wanted`` in part. plain: as for ``table``.
    """
    folded, observation = wanted.casefold(), named.observation
    at: dict[int, list[Element]] = defaultdict(list)
    for place, element in zip(observation.lines, observation.elements, strict=True):
        at[place].append(element)
    found: list[Entry] = []
    for number, line in enumerate(observation.text.split("\n")):
        words = plain(line.lstrip(" ").removeprefix("- "))
        here: list[Element | None] = [*at.get(number, ())] or [None]
        *boxes, last = here
        found += _hits(named, boxes, folded, plain)
        if last is not None:
            found += _hits(named, [last], folded, plain, words)
        elif folded in words.casefold():
            found.append(("", f"# {quoted(words, 2 * _NAME_CHARS)}"))
    return found + _hits(named, at[-1], folded, plain)


def _hits(
    named: Named, elements: Sequence[Element | None], folded: str, plain: Callable[[str], str], words: str = ""
) -> list[Entry]:
    """The lines of those of ``elements`` that contain ``folded``. words: what their line of the snapshot says."""
    hits = []
    for element in filter(None, elements):
        around = plain(element.context) if acts(element) else ""
        if folded in f'{element.role} "{plain(element.name)}" {around} {words}'.casefold():
            given = named.id(element.ref)
            line = row(element, given, plain, context=acts(element))
            hits.append((given, line if folded in line.casefold() else f"{given} {quoted(words, 2 * _NAME_CHARS)}"))
    return hits
