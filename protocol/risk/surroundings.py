"""What stands around a control: the warning of its dialog, the card field of its form, a price beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from protocol.page.seen.observation import INTERACTIVE_ROLES, Element, Observation
from protocol.risk.fields import payment
from protocol.risk.judgement import GRAVE_CLASS, Evidence
from protocol.risk.words import only_sends, say
from protocol.risk.words.anchors import COOKIE_ANSWERS
from protocol.risk.words.text import read

_DIALOGS: Final = frozenset({"dialog", "alertdialog"})
_NODES_MAX: Final = 80
_LEVELS_MAX: Final = 4
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
    if place < 0:
        return []
    found = []
    if _with_payment(place, page):
        found.append(Evidence(source="surroundings", level=5, certain=True, says="stands with a field of payment"))
    dialog = _dialog(place, page)
    if dialog >= 0:
        found.extend(_said(_texts(dialog, page)))
    return found


def answers_cookies(element: Element, page: Observation) -> bool:
    """Whether it is a button that answers what a site asks about its cookies, in a dialog that asks for nothing else."""
    plain = element.role == "button" and not element.url and not element.traits.form_method and not element.traits.opens
    if not plain or read(element.name) not in COOKIE_ANSWERS:
        return False
    place = _place(element, page)
    dialog = _dialog(place, page) if place >= 0 else -1
    if dialog < 0 or beside(element, page):
        return False
    texts = [read(text) for text in _texts(dialog, page)]
    told = any("cookie" in text and _USES.search(text) for text in texts)
    return told and not any(map(_ASKS_MORE.search, texts))


_USES: Final = re.compile(
    r"\b(?:uses?|stores?|verwende[nt]|nutz(?:en|t)|setzen|utilis(?:ons|e|ent)|usamos|utilizamos|utilizza(?:mo)?|utiliza|usiamo|"
    r"gebruik(?:en|t)|używamy|используем|использует|نستخدم)\b|使用|使います"
)
"""What a site says that it does with cookies."""
_ASKS_MORE: Final = re.compile(
    r"\b(?:terms|agreement|agree|invite[ds]?|invitation|join|orders?|account|team|sign|contract|contacts|mail|requests?|charged?|"
    r"price|updated|agb|nutzungsbedingungen|vertrag|conditions|términos|termini|condiciones|voorwaarden)\b"
)
"""What a dialog says that asks for more than an answer about cookies."""


def in_navigation(element: Element, page: Observation) -> bool:
    """Whether it stands in the navigation of the page, whose entries are called as what they lead to is."""
    node = _place(element, page)
    while node >= 0 and page.tree.roles[node] != "navigation":
        node = page.tree.parents[node]
    return node >= 0


def in_row(element: Element, page: Observation) -> bool:
    """Whether it stands in one of several like things (a row, an item of a list) that are not being filled in."""
    node = _place(element, page)
    while node >= 0 and page.tree.roles[node] not in _ENDS_ROW:
        if page.tree.roles[node] in _ROWS and _has_like(node, page):
            return not (_fills_in(node, page) and any(map(_keeps, _controls(node, page))))
        node = page.tree.parents[node]
    return False


def _has_like(node: int, page: Observation) -> bool:
    """Whether another one of its role stands beside it, near enough to be one of its list."""
    parent, role = page.tree.parents[node], page.tree.roles[node]
    near = range(max(0, node - _NODES_MAX), min(len(page.tree.roles), node + _NODES_MAX))
    return any(each != node and page.tree.parents[each] == parent and page.tree.roles[each] == role for each in near)


def is_way_out(element: Element, page: Observation) -> bool:
    """Whether it stands in a dialog, in a form, beside “OK” or near something that is filled in: “Cancel” leads out of these."""
    node = _place(element, page)
    if node < 0 or element.traits.form_method or _dialog(node, page) >= 0:
        return True
    for _ in range(_LEVELS_MAX):
        node = page.tree.parents[node]
        if node < 0 or page.tree.parents[node] < 0:
            return False
        if page.tree.roles[node] in _LEFT or _fills_in(node, page) or _offers_more(node, element, page):
            return True
    return False


_LEFT: Final = frozenset({"form", "toolbar", "menu", "alert", "status", "complementary"})


def _offers_more(around: int, element: Element, page: Observation) -> bool:
    others = (each for each in _controls(around, page) if each.ref != element.ref and each.role == "button")
    return any(only_sends(each.name) for each in others)


def _controls(around: int, page: Observation) -> list[Element]:
    return [page.elements[index] for each in _within(around, page) if (index := page.tree.elements[each]) >= 0]


def _fills_in(around: int, page: Observation) -> bool:
    return any(each.role in _FILLED for each in _controls(around, page))


def _keeps(element: Element) -> bool:
    """Whether it is the button “Save” of what is filled in."""
    spoken = say(element.name)
    sends = element.traits.submits or only_sends(element.name) or (spoken.certain and spoken.kind == "change")
    return element.role == "button" and sends


_ROWS: Final = frozenset({"row", "listitem", "article"})
_ENDS_ROW: Final = _DIALOGS | {"form", "alert", "status", "navigation"}
_FILLED: Final = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "listbox"})


def _with_payment(place: int, page: Observation) -> bool:
    """Whether one of the next elements around it holds a field of payment: a form without a name is no node of its own."""
    node = page.tree.parents[place]
    for _ in range(_LEVELS_MAX):
        # The outermost element holds everything.
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
    return page.nodes.get(element.ref, -1) if page.tree.parents else -1


def _dialog(node: int, page: Observation) -> int:
    """The nearest dialog around a node; -1 if there is none."""
    while node >= 0 and page.tree.roles[node] not in _DIALOGS:
        node = page.tree.parents[node]
    return node


def _within(around: int, page: Observation) -> Iterator[int]:
    """The nodes below ``around``, at most ``_NODES_MAX``. They follow it, since a tree is in document order."""
    inside = {around}
    for node in range(around + 1, min(len(page.tree.parents), around + 1 + _NODES_MAX)):
        if page.tree.parents[node] not in inside:
            return
        inside.add(node)
        yield node
