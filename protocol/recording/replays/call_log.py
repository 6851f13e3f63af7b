"""Describes the step at which a replay stopped: what it tried, and the elements most like the wanted one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import PageAddress, PageText, Words
from protocol.page.actions.action import Action, Locator, describe, target_of
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.secrets.redaction import Redaction, redact_snapshot, redacted
from protocol.page.seen.names import visible
from protocol.page.seen.observation import Element, Observation
from protocol.recording.records.session import Step

_NEAR_MAX: Final = 5
_LIKE_MIN: Final = 0.45
"""The similarity, from 0 to 1, at which two names count as near."""
_CELLS_SHOWN: Final = 3


def call_log(step: Step, error: MeshError, page: Observation | None, secrets: Mapping[str, str]) -> tuple[str, ...]:
    """Lines about a failed step: its action, the search for its element, the page, the error, and the most similar elements.

    page: the last page. All lines are redacted like a recording.
    """
    target, tried = target_of(step.action), [describe(step.action)]
    if target is not None:
        tried.append(f"looked for {_ways(target)}")
    evidence = step.evidence if step.evidence is not None and step.evidence.role else None
    if evidence is not None:
        tried.append(f"recorded was {_recorded(evidence)}")
    met, wanted = [f"{error.code}: {error.message}"], _wanted(target, evidence)
    if page is not None and wanted is not None:
        met += [f"near: {_said(element)}" for element in _near(*wanted, page)]
    title, url = (page.title, page.url) if page is not None else ("", "")
    log = redacted(_Log(tried=tuple(tried), title=title, url=url, met=tuple(met)), Redaction(secrets))
    where = []
    if page is not None:
        count = len(page.elements)
        where = [f"on “{log.title}” at {log.url}, with {count} element{'' if count == 1 else 's'}"]
    return tuple(map(as_line, (*log.tried, *where, *log.met)))


class _Log(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the lines about a failed step."""

    tried: tuple[Words, ...]
    title: PageText
    url: PageAddress
    met: tuple[Words, ...]


def as_line(said: str) -> str:
    """``said``, redacted, as one line of a log. Invisible characters may lie between those of a secret, so they are shown last."""
    return " ".join(visible(said).split())[: limits.REASON_CHARS_MAX]


class PageLine(NamedTuple):
    """A line of the page at which a replay ended."""

    text: str
    marked: bool
    """True if one of the elements most similar to the wanted one is on this line."""


def page_lines(step: Step, page: Observation, secrets: Mapping[str, str]) -> tuple[PageLine, ...]:
    """The page at which ``step`` ended a replay, redacted like a recording: at most ``PAGE_LINES_SHOWN_MAX`` lines around the
    first marked one.
    """
    near = {element.ref for element in likest(step.action, step.evidence, page)}
    marked = {line for element, line in zip(page.elements, page.lines, strict=False) if element.ref in near}
    lines = redact_snapshot(page.text, secrets).split("\n")
    first = max(0, min(marked, default=0) - limits.PAGE_LINES_SHOWN_MAX // 2)
    shown = enumerate(lines[first : first + limits.PAGE_LINES_SHOWN_MAX], first)
    return tuple(PageLine(line, number in marked) for number, line in shown)


def likest(action: Action, evidence: ElementEvidence | None, page: Observation) -> list[Element]:
    """The elements of ``page`` that are most similar to the target of ``action``, or to its recorded element."""
    wanted = _wanted(target_of(action), evidence if evidence is not None and evidence.role else None)
    return _near(*wanted, page) if wanted is not None else []


def found_element(element: Element | None, evidence: ElementEvidence | None) -> str:
    """The role and present name of the element that was found for a step, not redacted; empty if there is none."""
    if element is None:
        return ""
    return _recorded(evidence) if evidence is not None else _said(element)


def _ways(target: Locator) -> str:
    ways = ", then ".join(target.selectors)
    named = f"{target.role or 'element'} “{target.name}”"
    frame = f" in frame {target.frame}" if target.frame else ""
    within = target.within
    if within is None:
        return f"{ways or named}{frame}"
    around = within.selectors[0] if within.selectors else f"{within.role} “{within.name or within.text}”"
    return f"{ways or named}{frame}, in {around}"


def _recorded(evidence: ElementEvidence) -> str:
    cells = [cell for cell in evidence.cells if cell][:_CELLS_SHOWN]
    row = f" in a {evidence.group or 'part'} that said {' · '.join(cells)}" if cells else ""
    named, like = (f"“{evidence.name}”", "of this name") if evidence.name else ("without a name", "like it")
    alike = f", one of {evidence.alike + 1} {like}" if evidence.alike else ""
    return f"{evidence.role} {named}{row}{alike}"


def _wanted(target: Locator | None, evidence: ElementEvidence | None) -> tuple[str, str] | None:
    """Role and name of the element; None if neither is known."""
    if evidence is not None and evidence.name:
        return evidence.role, evidence.name
    if target is not None and (target.name or target.role):
        return target.role, target.name
    return None


def _near(role: str, name: str, page: Observation) -> list[Element]:
    """The elements whose names are most similar to ``name``, those of the same role first; without a name, the elements of
    the role.
    """
    matcher = difflib.SequenceMatcher(b=name.casefold())
    scored = []
    for place, element in enumerate(page.elements):
        if not element.name or (not name and element.role != role):
            continue
        matcher.set_seq1(element.name.casefold()[: 2 * len(name) + 20])
        like = matcher.ratio() if name and matcher.quick_ratio() >= _LIKE_MIN else 0.0
        if like >= _LIKE_MIN or not name:
            scored.append((-(like + (0.2 if element.role == role else 0.0)), place, element))
    return [element for _, _, element in sorted(scored, key=lambda one: one[:2])[:_NEAR_MAX]]


def _said(element: Element) -> str:
    states = f" ({', '.join(element.states)})" if element.states else ""
    context = f", under “{element.context}”" if element.context else ""
    return f"{element.role} “{element.name}”{states}{context}"
