"""Labels with their kinds, by application: what ``train.py`` teaches, tunes on and measures."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from protocol.risk.words.anchors import KINDS
from protocol.risk.words.text import read
from scripts.labels.catalogues import Message, messages
from scripts.labels.fetch import folder_of
from scripts.labels.rules import MNEMONIC, PLACE, kind_of

SEEDS: Final = Path(__file__).with_name("seeds.toml")
CHARS_MAX: Final = 100
_OTHERS_KEPT: Final = 0.12
"""Share of the texts of one application only that ask for nothing: they are most of a catalogue, and much alike."""


class Label(NamedTuple):
    """One text as ``read`` gives it."""

    text: str
    kind: str
    language: str
    application: str


def labels_of(base: Path, application: str) -> list[Label]:
    """The labels of an application, each once a language, its English originals among them."""
    found: dict[Label, None] = {}
    for message in _with_english(messages(folder_of(base, application) / "files")):
        if len(message.english) > CHARS_MAX or len(message.said) > CHARS_MAX or "\n" in message.said.strip():
            continue
        kind = kind_of(message.english)
        text = read(_without_places(message.said))
        if kind and text and text != "0":
            found[Label(text, kind, message.language, application)] = None
    return list(found)


def _with_english(given: Iterator[Message]) -> Iterator[Message]:
    for message in given:
        # A translation that equals its original may be one that nobody has made yet.
        if message.language.startswith("en") or message.said != message.english:
            yield message
        yield Message("en", message.english, message.english)


def _without_places(said: str) -> str:
    return MNEMONIC.sub("", PLACE.sub(" ", said))


def thinned(labels: list[Label]) -> list[Label]:
    """``labels`` with a share of those that ask for nothing."""
    return [label for label in labels if label.kind != "other" or _share(label.text) <= _OTHERS_KEPT]


def seeds() -> list[Label]:
    """Labels that catalogues seldom hold, written for this model: paying above all."""
    read_seeds = tomllib.loads(SEEDS.read_text())
    return [
        Label(read(text), kind, language, "seeds")
        for language, kinds in read_seeds.items()
        for kind, texts in kinds.items()
        for text in texts
    ]


def weighed(labels: list[Label]) -> Iterator[tuple[str, int, float]]:
    """Each text with the number of its kind in ``KINDS`` and its weight, which grows with the applications that say it."""
    applications_of: dict[tuple[str, str], set[str]] = defaultdict(set)
    english: set[tuple[str, str]] = set()
    for label in labels:
        applications_of[label.text, label.kind].add(label.application)
        if label.language == "en":
            english.add((label.text, label.kind))
    for (text, kind), said_by in applications_of.items():
        seeded = "seeds" in said_by
        if kind == "other" and len(said_by) == 1 and not seeded and _share(text) > _OTHERS_KEPT:
            continue
        weight = 1 + math.log(len(said_by)) + (2 if (text, kind) in english else 0) + (6 if seeded else 0)
        yield text, KINDS.index(kind), weight


def _share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32
