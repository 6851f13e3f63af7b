"""The risk class of dragging one element onto another."""

from __future__ import annotations

from protocol.page.seen.observation import Element
from protocol.risk.judgement import Risk, worst
from protocol.risk.pressing.structure import label_risk


def dropped(source: Element, onto: Element) -> Risk:
    """The risk of a drag. It counts as a button with the text of either element: a thing dropped on “Bin” is deleted.

    The further effect is unknown, so the class is at least 4.
    """
    return worst(label_risk(source), label_risk(onto))
