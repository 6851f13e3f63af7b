"""Measures the text model on applications that it has not seen, and writes ``docs/risk-words.md``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from protocol.risk.words import Spoken, say
from protocol.risk.words.text import script_of
from scripts.labels.choosing import GRAVE, HARMLESS
from scripts.labels.dataset import Label

_LANGUAGES: Final = (
    "en", "de", "fr", "es", "it", "pt_br", "nl", "sv", "fi", "pl", "cs", "hu", "ro", "tr", "vi", "id", "ru", "uk", "bg", "el",
    "he", "ar", "fa", "hi", "bn", "th", "ka", "ja", "zh_cn", "zh_hans", "zh_tw", "ko",
)  # fmt: skip
_INTRODUCTION: Final = """\
# How well the text model reads labels

Written by `python -m scripts.labels.train`; do not edit. What it decides is in [controls](controls.md#words), why it is built like
this in [ADR 40](adr/0040-judgement-by-evidence.md).

A rule on the English original (`scripts/labels/rules.py`) says what a label asks for, and its translations are held to that. The
rule is wrong now and then (“Order” is a purchase in one application and a sequence in another), so every figure here holds the
errors of both.

- *raised*: harmless labels that it calls certainly class 5 to 7.
- *grave found*: labels of class 5 to 7 that it calls certainly class 5 to 7.
"""


class _Counts(NamedTuple):
    harmless: int
    raised: int
    grave: int
    found: int


def report(test: Sequence[Label], *, size: int, applications: dict[str, tuple[str, int, str]]) -> str:
    """The page. size: bytes of the weights. applications: by name the part, how many labels, and a hash of them."""
    said = [(label, say(label.text)) for label in test if label.kind not in ("other", "card", "secret", "begin")]
    lines = [
        _INTRODUCTION,
        f"The weights take {size:,} bytes. Labels of applications that it was neither fitted to nor tuned on:",
        "",
    ]
    lines += _table("all", [("all", said)])
    lines += ["", "## By script", "", *_table("script", _grouped(said, lambda label: script_of(label.text)))]
    by_language = [each for each in _grouped(said, lambda label: label.language) if each[0] in _LANGUAGES]
    lines += ["", "## By language", "", *_table("language", by_language)]
    lines += [
        "",
        "## What it learned from",
        "",
        "| application | part | labels | SHA-256 of the labels |",
        "|---|---|---|---|",
    ]
    lines += [f"| {name} | {part} | {count:,} | `{hashed}` |" for name, (part, count, hashed) in applications.items()]
    return "\n".join(lines) + "\n"


def _grouped(said: Sequence[tuple[Label, Spoken]], key: object) -> list[tuple[str, list[tuple[Label, Spoken]]]]:
    assert callable(key)
    groups: dict[str, list[tuple[Label, Spoken]]] = defaultdict(list)
    for each in said:
        groups[key(each[0]) or "none"].append(each)
    return sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def _table(named: str, groups: Sequence[tuple[str, Sequence[tuple[Label, Spoken]]]]) -> Iterator[str]:
    yield f"| {named} | harmless labels | raised | grave found |"
    yield "|---|---|---|---|"
    for name, said in groups:
        counts = _count(said)
        if counts.grave >= 20:
            raised, found = _share(counts.raised, counts.harmless), _share(counts.found, counts.grave)
            yield f"| {name} | {counts.harmless:,} | {raised} | {found} |"


def _count(said: Sequence[tuple[Label, Spoken]]) -> _Counts:
    harmless = [spoken for label, spoken in said if label.kind in HARMLESS]
    grave = [spoken for label, spoken in said if label.kind in GRAVE]
    return _Counts(
        len(harmless),
        sum(spoken.certain and spoken.level > 4 for spoken in harmless),
        len(grave),
        sum(spoken.certain and spoken.level > 4 for spoken in grave),
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "–"
