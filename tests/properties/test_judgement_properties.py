"""What holds for every weighing of evidence."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from protocol.risk.judgement import Risk, RiskEvidence, settled, weigh
from protocol.risk.words import say
from protocol.risk.words.text import read

EVIDENCE = st.builds(RiskEvidence, level=st.integers(4, 7), certain=st.booleans(), says=st.sampled_from(["a", "b"]))
FOUND = st.lists(EVIDENCE, max_size=6)
BEGINS = st.builds(settled, st.integers(1, 4), st.just("begins"), sure=st.booleans())


@given(BEGINS, FOUND, EVIDENCE)
def test_no_evidence_ever_lowers_a_class(begins: Risk, found: list[RiskEvidence], more: RiskEvidence) -> None:
    before, after = weigh(begins, found), weigh(begins, [*found, more])
    assert after.level >= before.level >= begins.level
    if more.certain:
        assert after.level >= more.level


@given(BEGINS, FOUND.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_of_evidence_does_not_matter(
    begins: Risk, given: tuple[list[RiskEvidence], list[RiskEvidence]]
) -> None:
    assert weigh(begins, given[0]) == weigh(begins, given[1])


@given(st.text(max_size=200))
@example("¼×¼")
@example("1 4 1 44")
def test_any_text_is_read_and_reading_it_again_changes_nothing(text: str) -> None:
    once = read(text)
    assert read(once) == once
    assert 0 <= say(text).level <= 7


@given(
    st.sampled_from(["delete", "удалить", "削除"]),
    st.lists(st.sampled_from("\u200b\u200d\u00ad\u2060\ufeff\u202e\u2066\ufe0f"), max_size=8),
)
def test_what_cannot_be_seen_hides_no_word(word: str, hidden: list[str]) -> None:
    spread = "".join(char + "".join(hidden[at : at + 1]) for at, char in enumerate(word))
    assert read(spread) == word
