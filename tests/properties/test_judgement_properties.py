"""What holds for every weighing of evidence."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from protocol.risk.judgement import APPROVAL_CLASS, GRAVE_CLASS, Evidence, weigh
from protocol.risk.words import say
from protocol.risk.words.text import read

SOURCES = st.sampled_from(["structure", "claim", "request", "surroundings", "words"])
EVIDENCE = st.builds(
    Evidence, source=SOURCES, level=st.integers(1, 7), certain=st.booleans(), says=st.sampled_from(["a", "b"])
)
FOUND = st.lists(EVIDENCE, max_size=6)


@given(FOUND, EVIDENCE)
def test_certain_evidence_of_class_5_to_7_never_lowers_a_class(found: list[Evidence], more: Evidence) -> None:
    before, after = weigh(found), weigh([*found, more])
    if more.certain and more.level >= GRAVE_CLASS:
        assert after.level >= max(before.level, more.level)


@given(FOUND, st.integers(1, 4))
def test_what_a_page_claims_never_lowers_what_is_or_may_be_class_5_to_7(found: list[Evidence], level: int) -> None:
    before = weigh(found)
    after = weigh([*found, Evidence(source="claim", level=level, certain=True, says="a tab")])
    if any(each.level >= GRAVE_CLASS for each in found):
        assert after.level >= before.level
    else:
        assert after.level >= min(before.level, level)


@given(FOUND.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_of_evidence_does_not_matter(given: tuple[list[Evidence], list[Evidence]]) -> None:
    assert weigh(given[0]) == weigh(given[1])


@given(FOUND)
def test_doubt_is_class_4_and_only_without_certain_evidence_of_class_5_to_7(found: list[Evidence]) -> None:
    risk = weigh(found)
    assert not risk.doubt or risk.level == APPROVAL_CLASS
    if any(each.certain and each.level >= GRAVE_CLASS for each in found):
        assert not risk.doubt


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
