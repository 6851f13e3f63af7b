"""What stands around a control: the warning of its dialog, the card field of its form, a price beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from protocol.page.observation import INTERACTIVE_ROLES, Element, Observation
from protocol.risk.fields import payment
from protocol.risk.judgement import GRAVE_CLASS, Evidence
from protocol.risk.words import say

_DIALOGS: Final = frozenset({"dialog", "alertdialog"})
_AROUND: Final = _DIALOGS | {"form"}
_NODES_MAX: Final = 200
_TEXTS_MAX: Final = 12
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？؟।])\s*")
_PRICE: Final = re.compile(
    r"(?:[£$€¥₹₽₩₺₴₪฿]|\b(?:EUR|USD|GBP|CHF|JPY|INR)) ?[0-9]"
    r"|[0-9] ?(?:[£$€¥₹₽₩₺₴₪฿]|(?:EUR|USD|GBP|CHF|zł|kr|Kč|Ft|lei|лв|грн|元|円|원)\b)"
)


def beside(element: Element, page: Observation) -> list[Evidence]:
    """Evidence from the dialog or form that ``element`` stands in.

    Of a dialog its texts count, but not the labels of its controls: “Delete” beside “Cancel” says nothing about “Cancel”.
    """
    place = _place(element, page)
    around = _around(place, page) if place >= 0 else -1
    if around < 0:
        return []
    found = []
    texts: list[str] = []
    for node in _within(around, page):
        index = page.tree.elements[node]
        item = page.elements[index] if index >= 0 else None
        if item is not None and payment(item):
            found.append(Evidence(source="surroundings", level=5, certain=True, says="stands with a field of payment"))
            break
        if (item is None or item.role not in INTERACTIVE_ROLES) and page.tree.said[node]:
            texts.append(page.tree.said[node])
    if page.tree.roles[around] in _DIALOGS:
        found.extend(_said(texts))
    return found


def _said(texts: list[str]) -> Iterator[Evidence]:
    if any(_PRICE.search(text) for text in texts):
        yield Evidence(source="surroundings", level=5, certain=False, says="a price stands beside it")
    for text in texts[:_TEXTS_MAX]:
        for sentence in _SENTENCE.split(text)[:_TEXTS_MAX]:
            spoken = say(sentence)
            if spoken.certain and spoken.level >= GRAVE_CLASS:
                yield Evidence(
                    source="surroundings", level=spoken.level, certain=True, says=f"its dialog says “{spoken.text}”"
                )
                return


def _place(element: Element, page: Observation) -> int:
    """The node of ``element`` in the tree; -1 if it is not known."""
    if not page.tree.parents:
        return -1
    index = next((at for at, item in enumerate(page.elements) if item.ref == element.ref), -1)
    return page.tree.elements.index(index) if index >= 0 and index in page.tree.elements else -1


def _around(node: int, page: Observation) -> int:
    while node >= 0:
        if page.tree.roles[node] in _AROUND:
            return node
        node = page.tree.parents[node]
    return -1


def _within(around: int, page: Observation) -> Iterator[int]:
    """The nodes below ``around``, at most ``_NODES_MAX``. They follow it, since a tree is in document order."""
    inside = {around}
    for node in range(around + 1, min(len(page.tree.parents), around + 1 + _NODES_MAX)):
        if page.tree.parents[node] not in inside:
            return
        inside.add(node)
        yield node
