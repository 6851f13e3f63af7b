"""The risk class of dragging one element onto another."""

from __future__ import annotations

from protocol.page.observation import Element
from protocol.risk.classes import Risk, by_words


def dropped(source: Element, onto: Element) -> Risk:
    """A drag counts as a button that says what either element says: a thing dropped on “Bin” is deleted.

    What the page does with it is not known otherwise, so it is at least class 4.
    """
    said = (by_words(element.name, element.traits.tokens, from_level=4) for element in (source, onto))
    return max([Risk(level=4, reason="drags something"), *filter(None, said)], key=lambda risk: risk.level)
