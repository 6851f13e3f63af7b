"""Measures the text model on applications that it has not seen, and writes ``docs/risk-words.md``."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from protocol.risk.words import Spoken, say
from protocol.risk.words.text import script_of
from scripts.labels.choosing import DANGEROUS, GRAVE, HARMLESS
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

- *missed*: labels that pay, grant access, destroy, send or save, and that the model calls certainly harmless. In brackets the
  upper end of the 95 % interval.
- *reached*: harmless labels that the model calls certainly harmless. The others are in doubt, unless what the element is decides.
- *raised*: harmless labels that it calls certainly class 5 to 7.
- *grave found*: labels of class 5 to 7 that it calls certainly class 5 to 7. The others are in doubt.
"""


class _Counts(NamedTuple):
    dangerous: int
    missed: int
    harmless: int
    reached: int
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
    yield f"| {named} | dangerous labels | missed | harmless labels | reached | raised | grave found |"
    yield "|---|---|---|---|---|---|---|"
    for name, said in groups:
        counts = _count(said)
        if counts.dangerous < 20:
            continue
        bound = 100 * _upper(counts.missed, counts.dangerous)
        yield (
            f"| {name} | {counts.dangerous:,} | {_share(counts.missed, counts.dangerous)} (≤ {bound:.2f} %) | {counts.harmless:,} "
            f"| {_share(counts.reached, counts.harmless)} | {_share(counts.raised, counts.harmless)} "
            f"| {_share(counts.found, counts.grave)} |"
        )


def _count(said: Sequence[tuple[Label, Spoken]]) -> _Counts:
    dangerous = [spoken for label, spoken in said if label.kind in DANGEROUS]
    harmless = [spoken for label, spoken in said if label.kind in HARMLESS]
    grave = [spoken for label, spoken in said if label.kind in GRAVE]
    return _Counts(
        len(dangerous),
        sum(spoken.views for spoken in dangerous),
        len(harmless),
        sum(spoken.views for spoken in harmless),
        sum(spoken.certain and spoken.level > 4 for spoken in harmless),
        len(grave),
        sum(spoken.certain and spoken.level > 4 for spoken in grave),
    )


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "–"


def _upper(part: int, whole: int) -> float:
    """Upper end of the 95 % interval of a share (Wilson)."""
    if not whole:
        return 1.0
    share, z = part / whole, 1.96
    centre = share + z * z / (2 * whole)
    spread = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole))
    return (centre + spread) / (1 + z * z / whole)
