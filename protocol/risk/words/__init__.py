"""Finds grave meanings in labels of any language: ``say`` for controls, ``field_says`` for labels of fields.

A text model trained on message catalogues reads the label (``model.py``). It often gives no answer, because most labels are just
names. Before that, ``text.py`` removes disguises of words. ``anchors.py`` has the few labels with a fixed meaning.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from protocol.risk.judgement import GRAVE_CLASS, RiskEvidence
from protocol.risk.words.anchors import ANCHORS, ASKING, CLOSERS, LEVELS, PICTURES
from protocol.risk.words.text import look_alike, read, runs, script_of

if TYPE_CHECKING:
    from protocol.risk.words.model import Model

__all__ = ["NOTHING", "Spoken", "asks", "closes", "field_says", "grave", "say"]

_CACHED: Final = 8192
_PARTS_MAX: Final = 12
"""The number of words of a label that are also read alone."""
_SHOWN_CHARS: Final = 40
_LIKELY: Final = 0.5
_GRAVE: Final = ("pay", "access", "destroy")
_QUESTION_WORDS: Final = 4


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning of a label."""

    kind: str = ""
    """One of ``anchors.KINDS``; empty if nothing was recognised."""
    level: int = 0
    """The class of a control with this label; 0 if the meaning is harmless or unknown."""
    certain: bool = False
    leans: int = 0
    """The highest class that it suggests without certainty; 0 if none."""
    text: str = ""
    """The text that was read, shortened."""


NOTHING: Final = Spoken()


def _model() -> Model:
    """The text model. Its arrays take as long to import as a whole command may take, and most commands read no label."""
    from protocol.risk.words.model import model

    return model()


def say(label: str) -> Spoken:
    """The meaning of a control's ``label``. Takes under 0.2 ms; results are cached."""
    text = read(label)
    return _say(text) if text else NOTHING


def grave(label: str, *, leans: bool = False) -> Iterator[RiskEvidence]:
    """The grave evidence of a label. leans: treat none of it as certain."""
    spoken = say(label)
    if spoken.certain and spoken.level >= GRAVE_CLASS:
        yield RiskEvidence(level=spoken.level, certain=not leans, says=f"says “{spoken.text}”")
    if spoken.leans:
        yield RiskEvidence(level=spoken.leans, certain=False, says=f"“{spoken.text}” may be class {spoken.leans}")


def asks(label: str) -> bool:
    """True if ``label`` is a question, like the headings of a list of questions and answers: “How do I delete my account?”"""
    words = read(label).split()
    return label.rstrip().endswith(("?", "？", "؟")) and len(words) >= _QUESTION_WORDS and words[0] in ASKING


def closes(label: str) -> bool:
    """True if ``label`` only means closing or giving up: “Cancel”."""
    return read(label) in CLOSERS


@functools.lru_cache(_CACHED)
def _say(text: str) -> Spoken:
    if not any(char.isalpha() for char in text):
        return _pictures(text)
    if anchored := ANCHORS.get(text):
        return _fixed(anchored, text)
    # Beside letters a picture only suggests: “🗑” on a button that names a bin is no deletion yet.
    pictured = _pictures(text)
    text = " ".join("".join(char for char in text if unicodedata.category(char) != "So").split())
    spoken = _worse(_judged(text), msgspec.structs.replace(pictured, certain=False, leans=pictured.level), text)
    # A word in a second script, or a word of look-alike letters, must not hide behind the first word.
    for other in filter(None, (look_alike(text), *runs(text))):
        spoken = _worse(spoken, _judged(other), text)
    return spoken


def _fixed(kind: str, text: str) -> Spoken:
    return Spoken(kind=kind, level=LEVELS.get(kind, 0), certain=kind in LEVELS, text=_shown(text))


def _pictures(text: str) -> Spoken:
    found = [PICTURES[char] for char in text if char in PICTURES]
    return _fixed(max(found, key=LEVELS.__getitem__), text) if found else NOTHING


def _judged(text: str) -> Spoken:
    chances, limits, shown = _chances(text), _model().header.thresholds, _shown(text)
    gravest = max(_GRAVE, key=chances.__getitem__)
    if sum(chances[each] for each in _GRAVE) >= limits.grave:
        return Spoken(kind=gravest, level=LEVELS[gravest], certain=True, text=shown)
    kind = max(chances, key=chances.__getitem__)
    # A label that is certain to show or search suggests nothing, unless single words of it do.
    shows = chances["view"] + chances["search"] >= limits.view.get(script_of(text), 2.0)
    leaning = [LEVELS[each] for each in _GRAVE if chances[each] >= limits.lean and not shows]
    changing = chances["change"] + chances["begin"] + sum(chances[each] for each in _GRAVE)
    certain = changing >= limits.change and kind == "change"
    acts = certain or (kind in ("begin", "change") and chances[kind] >= _LIKELY)
    return Spoken(kind=kind, level=4 if acts else 0, certain=certain, leans=max([*leaning, _hidden(text)]), text=shown)


def _hidden(text: str) -> int:
    """The highest class, from 5 on, that one word of ``text`` has when it is read alone. 0 if no word has such a class, or if there
    is only one word.
    """
    words = text.split()
    limit = _model().header.thresholds.grave
    alone = words[:_PARTS_MAX] if len(words) > 1 else []
    return max((LEVELS[kind] for word in alone for kind in _GRAVE if _chances(word)[kind] >= limit), default=0)


@functools.lru_cache(_CACHED)
def _chances(text: str) -> dict[str, float]:
    return _model().probabilities(text)


def _worse(one: Spoken, other: Spoken, text: str) -> Spoken:
    """The meaning of a label whose readings are ``one`` and ``other``: the graver one counts."""
    if other.certain and other.level > one.level:
        return msgspec.structs.replace(other, text=_shown(text))
    return msgspec.structs.replace(one, leans=max(one.leans, other.leans))


def field_says(label: str) -> Spoken:
    """The meaning of a field's ``label``: ``card``, ``secret``, or the result of ``say``."""
    text = read(label)
    if not text:
        return NOTHING
    chances = _chances(text)
    limits = _model().header.thresholds
    kind = max("card", "secret", key=chances.__getitem__)
    certain, leans = chances[kind] >= limits.field, chances[kind] >= limits.lean
    if not leans:
        return say(label)
    return Spoken(
        kind=kind, level=LEVELS[kind], certain=certain, leans=0 if certain else LEVELS[kind], text=_shown(text)
    )


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1].rstrip() + "…"
