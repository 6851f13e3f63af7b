"""Resolves ``within``: the row, card, section or dialog in which an element is looked for. Pure, based on the tree of an
observation.
"""

from __future__ import annotations

import itertools
import re
from typing import Final

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Within
from protocol.page.actions.fits import UNPINNED, Fit, MatchDemands, stands, stood
from protocol.page.seen.names import fold, same_name, visible
from protocol.page.seen.observation import Element, Observation, Tree
from protocol.page.seen.whole import require_only, require_whole

_UNLISTED: Final = re.compile(r"(?:f\d+)?n(\d+)\Z")


def node_of(element: Element, observation: Observation) -> int:
    """The place of ``element`` in the tree; -1 if it has none."""
    unlisted = _UNLISTED.match(element.ref)
    if unlisted:
        return int(unlisted[1]) if int(unlisted[1]) < len(observation.tree.parents) else -1
    return observation.nodes.get(element.ref, -1)


def end_of(node: int, tree: Tree) -> int:
    """The position after the last node inside ``node``."""
    return tree.ends[node]


def stands_in(element: Element, outer: Element, observation: Observation) -> bool:
    """True if ``element`` is inside ``outer``."""
    start, node = node_of(outer, observation), node_of(element, observation)
    return 0 <= start < node < end_of(start, observation.tree)


def container(within: Within, frame: str, observation: Observation, pins: MatchDemands = UNPINNED) -> Element:
    """The only element with the role of ``within`` and its name, or a text inside it.

    The text must equal a whole text in it. Only if none is equal, a part counts: “Beer” is not “Root Beer”. pins: the recorded
    match, which must be met again.
    Errors: ``action.target_missing``, ``action.target_ambiguous``, ``page.cut``.
    """
    pool = [item for item in observation.elements if item.frame == frame and item.role == within.role]
    if within.name:
        name = within.name[: limits.ELEMENT_NAME_CHARS_MAX]
        pool = [item for item in pool if same_name(item.name, name)]
    if within.text:
        texts = [(item, _texts(item, observation)) for item in pool]
        pool = _innermost(_saying(within.text, texts, pins), observation)
    said = within.name or within.text
    shown = f"{within.role} “{visible(said)}”" if said else within.role
    if len(pool) <= 1:
        require = require_only if pool else require_whole
        require(observation, f"whether one {shown} is there to look in", frame=frame, named=said)
    if len(pool) == 1:
        return pool[0]
    if not pool:
        raise MeshError("action.target_missing", f"no {shown} to look in", role=within.role, name=within.name)
    raise MeshError("action.target_ambiguous", f"{len(pool)} fit {shown} to look in", role=within.role, count=len(pool))


def _saying(text: str, texts: list[tuple[Element, list[str]]], pins: MatchDemands) -> list[Element]:
    if fit := pins.of("within"):
        return [
            item for item, said in texts if any(stands(fit, text, each, pins.text) for each in (*said, " ".join(said)))
        ]
    wanted = fold(text)
    whole = [item for item, said in texts if wanted in map(fold, said)]
    return whole or [item for item, said in texts if wanted in fold(" ".join(said))]


def fit_of(within: Within | None, outer: Element | None, observation: Observation) -> tuple[Fit, ...]:
    """The match of the text of ``within`` in ``outer``, the element that was found; empty without a text."""
    if within is None or outer is None or not within.text:
        return ()
    said = _texts(outer, observation)
    wanted = fold(within.text)
    best = next((each for each in said if fold(each) == wanted), "") or next(
        (each for each in said if wanted in fold(each)), ""
    )
    return (stood("within", within.text, best or " ".join(said)),)


def _texts(element: Element, observation: Observation) -> list[str]:
    node = node_of(element, observation)
    if node < 0:
        return [element.name]
    said = observation.tree.said[node : end_of(node, observation.tree)]
    # Its name repeats its content, so the name counts only if it has no content.
    return [text for text in said[1:] if text] or [said[0]]


def _innermost(pool: list[Element], observation: Observation) -> list[Element]:
    """``pool`` without the elements that contain another one of it, such as a row around a row."""
    # In document order, the content of an element follows it directly.
    nodes = sorted(node_of(item, observation) for item in pool)
    following = dict(itertools.pairwise(nodes))
    ends = observation.tree.ends

    def holds_one(node: int) -> bool:
        return 0 <= node < following.get(node, -1) < ends[node]

    return [item for item in pool if not holds_one(node_of(item, observation))]


def part(outer: Element | None, observation: Observation) -> Observation:
    """``observation`` reduced to the elements in ``outer``, without a tree; unchanged without ``outer``."""
    if outer is None:
        return observation
    start, tree = node_of(outer, observation), observation.tree
    held = {place for place in tree.elements[start + 1 : end_of(start, tree)] if place >= 0} if start >= 0 else set()
    elements = tuple(item for place, item in enumerate(observation.elements) if place in held)
    return msgspec.structs.replace(observation, elements=elements, lines=(), tree=Tree())
