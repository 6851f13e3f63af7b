"""The labels by which the text model is measured: nothing taught stands among them, and how they were read is counted right."""

from __future__ import annotations

import pytest

from benchmarks.bench_labels import Counts, Does, Exam, counted, exams
from protocol.risk.words import Spoken
from protocol.risk.words.text import read
from scripts.labels.dataset import seeds


def test_no_label_of_the_exam_is_taught_as_it_stands() -> None:
    taught = {label.text for label in seeds()}
    assert [exam.label for exam in exams() if read(exam.label) in taught] == []


def test_the_exam_has_each_label_once_a_language_and_every_script_that_a_threshold_is_for() -> None:
    assert len({(exam.language, exam.label) for exam in exams()}) == len(exams())
    by_script = counted("script")
    assert {"Latin", "Cyrillic", "Han", "Arabic", "Greek", "Hangul", "Hebrew", "Kana", "Thai"} <= set(by_script)
    assert sum(counts.dangerous + counts.harmless for counts in by_script.values()) == len(exams())
    assert min(counts.dangerous for counts in counted("language").values()) >= 8


VIEWS = Spoken(kind="view", level=1, certain=True)
NAMES = Spoken(kind="other")
PAYS = Spoken(kind="pay", level=5, certain=True)
LEANS = Spoken(kind="other", leans=5)


@pytest.mark.parametrize(
    ("does", "spoken", "expected"),
    [
        ("pay", VIEWS, Counts(dangerous=1, grave=1, missed=1, quiet=1)),
        ("pay", NAMES, Counts(dangerous=1, grave=1, quiet=1)),
        ("pay", PAYS, Counts(dangerous=1, grave=1, found=1)),
        ("pay", LEANS, Counts(dangerous=1, grave=1)),
        ("change", PAYS, Counts(dangerous=1)),
        ("view", VIEWS, Counts(harmless=1, reached=1)),
        ("view", PAYS, Counts(harmless=1, raised=1)),
        ("view", NAMES, Counts(harmless=1)),
    ],
)
def test_a_label_counts_by_what_it_does_and_how_it_was_read(does: Does, spoken: Spoken, expected: Counts) -> None:
    counts = Counts()
    counts.add(Exam(language="en", does=does, label="Wug", means="Wug"), spoken)
    assert counts == expected
