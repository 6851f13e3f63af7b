"""Laws of comparing texts: numbers are free, nothing else is, and what is shown is bounded and true."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from protocol import limits
from protocol.recording.pages.page_diff import differing
from protocol.recording.pages.page_text import compare_text, contrast
from protocol.recording.records.page_outline import outline

WORDS = st.text(st.sampled_from("ab £-:\n"), min_size=1, max_size=12)
NUMBERS = st.from_regex(r"[0-9]{1,4}([.,][0-9]{1,3}){0,2}", fullmatch=True)
PIECES = st.lists(st.tuples(WORDS, NUMBERS, NUMBERS), max_size=12)
TEXTS = st.text(st.sampled_from("ab1.\n \x1b\u202e"), max_size=400)


@given(PIECES)
def test_other_numbers_in_the_same_words_are_only_other_numbers(pieces: list[tuple[str, str, str]]) -> None:
    recorded, met = ("".join(piece[0] + piece[side] for piece in pieces) for side in (1, 2))
    assert compare_text(recorded, met) == ("same" if recorded == met else "numbers")


@given(PIECES, WORDS, st.integers(min_value=0))
def test_another_word_is_never_only_another_number(pieces: list[tuple[str, str, str]], word: str, place: int) -> None:
    recorded, met = ([piece[0] + piece[side] for piece in pieces] for side in (1, 2))
    met.insert(place % (len(met) + 1), word)
    assert compare_text("".join(recorded), "".join(met)) == "differs"


@given(TEXTS, TEXTS)
def test_what_is_told_is_bounded_printable_and_there_exactly_if_the_outlines_differ(recorded: str, met: str) -> None:
    assert compare_text(recorded, met) == compare_text(met, recorded)
    changes = differing(recorded, met, 5)
    assert bool(changes.found) == (outline(recorded).text != outline(met).text)
    assert len(changes.found) <= 5 and changes.whole
    for side in (side for change in changes.found for side in contrast(change.recorded, change.met)):
        assert side.isprintable()
        assert len(side) <= limits.DIFFERENCE_CHARS_MAX + 2


@given(
    st.lists(st.sampled_from(["- a", "- b", "- row", "- cell: 1", '  - cell "2"', "    - link", '- row "x"', "- main"]))
)
def test_a_page_in_a_wrapper_and_further_in_is_the_same_page(lines: list[str]) -> None:
    text = "\n".join(lines)
    wrapped = "- main\n  - generic\n" + "\n".join(f"      {line}" for line in lines)
    if any(line.strip() not in ("", "- main") for line in lines):
        assert differing(text, wrapped, 5).found == []
