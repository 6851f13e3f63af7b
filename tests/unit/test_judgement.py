"""What decides between pieces of evidence, and what is told about it."""

from __future__ import annotations

import pytest

from protocol.risk.judgement import NOT_UNDERSTOOD, Evidence, Risk, Source, raised, settled, weigh, worst


def said(source: Source, level: int, *, certain: bool = True) -> Evidence:
    return Evidence(source=source, level=level, certain=certain, says=f"{source} {level}")


@pytest.mark.parametrize(
    ("found", "level", "reason", "doubt"),
    [
        # certain class 5 to 7 decides, the highest first, whatever speaks for less
        ([said("words", 7), said("structure", 1)], 7, "words 7", False),
        ([said("words", 5), said("surroundings", 7)], 7, "surroundings 7", False),
        ([said("claim", 7), said("structure", 1)], 7, "claim 7", False),
        ([said("request", 7), said("words", 1)], 7, "request 7", False),
        # then what the browser guarantees: it lowers what is not certain, and words of class 4
        ([said("structure", 1), said("words", 4)], 1, "structure 1", False),
        ([said("structure", 1), said("words", 7, certain=False)], 1, "structure 1", False),
        # then what the page claims, unless something leans to class 5 to 7
        ([said("claim", 1), said("words", 4)], 1, "claim 1", False),
        ([said("claim", 1), said("words", 5, certain=False)], 4, f"{NOT_UNDERSTOOD}: words 5", True),
        ([said("claim", 1), said("surroundings", 5, certain=False)], 4, f"{NOT_UNDERSTOOD}: surroundings 5", True),
        # then words
        ([said("words", 1)], 1, "words 1", False),
        ([said("words", 4), said("request", 3)], 4, "words 4", False),
        ([said("words", 1), said("surroundings", 5, certain=False)], 4, f"{NOT_UNDERSTOOD}: surroundings 5", True),
        ([said("words", 4), said("surroundings", 7, certain=False)], 4, "words 4", False),
        # and otherwise it is not understood
        ([], 4, NOT_UNDERSTOOD, True),
        ([said("words", 1, certain=False)], 4, f"{NOT_UNDERSTOOD}: words 1", True),
        ([said("structure", 4, certain=False)], 4, f"{NOT_UNDERSTOOD}: structure 4", True),
    ],
)
def test_the_first_rule_that_applies_decides(found: list[Evidence], level: int, reason: str, doubt: bool) -> None:
    """Guard: protocol/risk/judgement.py, weigh."""
    risk = weigh(found)
    assert (risk.level, risk.reason, risk.doubt) == (level, reason, doubt)
    assert sorted(risk.evidence, key=repr) == sorted(found, key=repr)


def test_of_two_things_that_an_action_does_the_worse_one_counts() -> None:
    doubtful = weigh([])
    assert worst(settled(1, "a"), settled(5, "b"), settled(3, "c")) == settled(5, "b")
    assert worst(doubtful, settled(4, "sends")).reason == "sends"
    assert raised(settled(1, "a"), 4, "b") == Risk(level=4, reason="b")
    assert raised(settled(6, "a"), 4, "b") == settled(6, "a")
