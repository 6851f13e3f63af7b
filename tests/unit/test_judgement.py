"""What raises the class of an action, and what is told about it."""

from __future__ import annotations

from protocol.risk.judgement import Risk, RiskEvidence, raised, settled, weigh, worst
from tests.tables import each

SURE, CLAIMED, ACTS = settled(1, "a link"), settled(1, "a tab", sure=False), settled(4, "acts", sure=False)


def says(level: int, *, certain: bool = True) -> RiskEvidence:
    return RiskEvidence(level=level, certain=certain, says=f"class {level}")


@each(
    ("begins", "found", "level", "reason"),
    [
        (SURE, [], 1, "a link"),
        (ACTS, [], 4, "acts"),
        # what is certain decides, the highest first
        (SURE, [says(5), says(7)], 7, "class 7"),
        (CLAIMED, [says(6)], 6, "class 6"),
        (ACTS, [says(5), says(7, certain=False)], 5, "class 5"),
        (ACTS, [says(3)], 4, "acts"),
        # what only leans raises what the browser does not guarantee, and nothing else
        (SURE, [says(7, certain=False)], 1, "a link"),
        (CLAIMED, [says(7, certain=False)], 4, "class 7"),
        (ACTS, [says(7, certain=False)], 4, "acts"),
    ],
)
def test_what_is_grave_raises_a_class_and_nothing_lowers_it(
    begins: Risk, found: list[RiskEvidence], level: int, reason: str
) -> None:
    """Guard: protocol/risk/judgement.py, weigh."""
    risk = weigh(begins, found)
    assert (risk.level, risk.reason) == (level, reason)
    assert risk.gravest == max([level, *(each.level for each in found)]), "also what only leans counts for a question"


def test_of_two_things_that_an_action_does_the_worse_one_counts() -> None:
    assert worst(settled(1, "a"), settled(5, "b"), settled(3, "c")).reason == "b"
    assert worst(ACTS, weigh(SURE, [says(7, certain=False)])).gravest == 7, "with what the other one leans to"
    assert raised(SURE, 4, "b") == Risk(level=4, reason="b")
    assert raised(settled(6, "a"), 4, "b") == settled(6, "a")
