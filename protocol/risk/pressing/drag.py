"""The risk class of dragging one element onto another."""

from __future__ import annotations

from protocol.page.seen.observation import Element
from protocol.risk.judgement import Risk, worst
from protocol.risk.pressing.structure import label_risk


def dropped(source: Element, onto: Element) -> Risk:
    """A drag counts as a button that says what either element says: a thing dropped on “Bin” is deleted.

    What the page does with it is not known otherwise, so it is at least class 4.
    """
    return worst(label_risk(source), label_risk(onto))
