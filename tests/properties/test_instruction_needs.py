"""What a rule is said to need stands in everything that it fits: else an instruction would be overlooked."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.page.instructions.instruction_needs import needs
from protocol.page.instructions.instruction_rules import PATTERNS

OTHERS = (
    r"(?:ab|cd)?ef\b[ -]?gh?",
    r"ab{0,2}(?:cdef|(?:gh|ij)kl)+m",
    r"\b(?:one|two\w{0,3})\W(?:three )?four(?!five)",
    r"[^a-z]abcd*efgh",
)


@pytest.mark.parametrize("pattern", (*(pattern for _, _, pattern in PATTERNS), *OTHERS))
@settings(max_examples=4, suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much))
@given(data=st.data())
def test_a_word_of_each_group_stands_in_all_that_a_rule_fits(pattern: str, data: st.DataObject) -> None:
    found = re.search(pattern, data.draw(st.from_regex(pattern)))
    assert found is not None
    for group in needs(pattern):
        assert any(word in found[0] for word in group), (found[0], group)
