"""Evidence from the surroundings of a control: the warning in its dialog, a card field in its form, a price beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from protocol.page.seen.observation import INTERACTIVE_ROLES, Element, Observation
from protocol.risk.judgement import RiskEvidence
from protocol.risk.pressing.fields import payment
from protocol.risk.words import grave

_DIALOGS: Final = frozenset({"dialog", "alertdialog"})
_NODES_MAX: Final = 80
_LEVELS_MAX: Final = 4
_TEXTS_MAX: Final = 12
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？؟।])\s*")
_PRICE: Final = re.compile(
    r"(?:[£$€¥₹₽₩₺₴₪฿]|\b(?:EUR|USD|GBP|CHF|JPY|INR)) ?[0-9]"
    r"|[0-9] ?(?:[£$€¥₹₽₩₺₴₪฿]|(?:EUR|USD|GBP|CHF|zł|kr|Kč|Ft|lei|лв|грн|元|円|원)\b)"
)


def beside(element: Element, page: Observation) -> Iterator[RiskEvidence]:
    """Evidence from the dialog or form around ``element``.

    In a dialog its texts count, but not the labels of its controls: “Delete” beside “Cancel” is no evidence about “Cancel”.
    """
    place = page.nodes.get(element.ref, -1) if page.tree.parents else -1
    if place < 0:
        return
    if _with_payment(place, page):
        yield RiskEvidence(level=5, certain=True, says="stands with a field of payment")
    dialog = place
    while dialog >= 0 and page.tree.roles[dialog] not in _DIALOGS:
        dialog = page.tree.parents[dialog]
    if dialog >= 0:
        yield from _said(_texts(dialog, page))


def _with_payment(place: int, page: Observation) -> bool:
    """True if one of the nearest elements around it contains a payment field. A form without a name is no node of its own."""
    node = page.tree.parents[place]
    for _ in range(_LEVELS_MAX):
        # The outermost element contains everything.
        if node < 0 or page.tree.parents[node] < 0:
            return False
        inside = list(_within(node, page))
        if len(inside) >= _NODES_MAX:
            return False
        controls = [page.tree.elements[each] for each in inside]
        if any(index >= 0 and payment(page.elements[index]) for index in controls):
            return True
        node = page.tree.parents[node]
    return False


def _texts(dialog: int, page: Observation) -> list[str]:
    controls = {at for at, item in enumerate(page.elements) if item.role in INTERACTIVE_ROLES}
    return [
        page.tree.said[node]
        for node in _within(dialog, page)
        if page.tree.said[node] and page.tree.elements[node] not in controls
    ]


def _said(texts: list[str]) -> Iterator[RiskEvidence]:
    if any(_PRICE.search(text) for text in texts):
        yield RiskEvidence(level=5, certain=False, says="a price stands beside it")
    for text in texts[:_TEXTS_MAX]:
        for sentence in _SENTENCE.split(text)[:_TEXTS_MAX]:
            for each in grave(sentence):
                if each.certain:
                    yield RiskEvidence(level=each.level, certain=True, says=f"its dialog {each.says}")
                    return


def _within(around: int, page: Observation) -> Iterator[int]:
    """The nodes below ``around``, at most ``_NODES_MAX``. They follow it, because a tree is in document order."""
    inside = {around}
    for node in range(around + 1, min(len(page.tree.parents), around + 1 + _NODES_MAX)):
        if page.tree.parents[node] not in inside:
            return
        inside.add(node)
        yield node
