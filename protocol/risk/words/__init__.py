"""What a label says, in any language: ``say`` for controls, ``field_says`` for labels of fields.

A text model that was trained on message catalogues reads the label (``model.py``). It abstains often: most names of things ask for
nothing. ``text.py`` undoes what hides a word before that, and ``anchors.py`` has the few labels whose meaning is fixed.
"""

from __future__ import annotations

import functools
import unicodedata
from typing import Final

import msgspec

from protocol.risk.words.anchors import ANCHORS, ASKING, CANCELS, CLOSERS, CROSSES, LEVELS, PICTURES, SENDERS, SIGNS
from protocol.risk.words.features import CHARS_MAX
from protocol.risk.words.model import model
from protocol.risk.words.terms import matcher, words_of
from protocol.risk.words.text import look_alike, read, runs, script_of

__all__ = [
    "NOTHING",
    "Spoken",
    "asks",
    "cancels",
    "closes",
    "field_says",
    "is_cross",
    "matcher",
    "only_sends",
    "say",
    "words_of",
]

_CACHED: Final = 8192
_PARTS_MAX: Final = 12
"""So many words of a label are also read alone; a longer one is never called harmless."""
_SHOWN_CHARS: Final = 40
_LIKELY: Final = 0.5
_GRAVE_CLASS: Final = 5
_GRAVE: Final = ("pay", "access", "destroy")


class Spoken(msgspec.Struct, frozen=True, kw_only=True):
    """What a label asks for."""

    kind: str = ""
    """One of ``anchors.KINDS``; empty if nothing was read."""
    level: int = 0
    """The class of a control that says it; 0 if it asks for nothing that is known."""
    certain: bool = False
    leans: int = 0
    """The highest class that it leans to without being certain; 0 if none."""
    text: str = ""
    """What was read, shortened."""
    legible: bool = True
    """Whether the model was shown to read its script."""

    @property
    def views(self) -> bool:
        """Whether it certainly only shows, opens, moves on, closes or searches."""
        return self.certain and self.level == 1


NOTHING: Final = Spoken()


def say(label: str) -> Spoken:
    """What ``label`` of a control asks for. Takes under 0.2 ms, and a cache holds labels that were read."""
    sign = SIGNS.get(label.strip().casefold())
    if sign is not None:
        return _fixed(sign, label.strip())
    text = read(label)
    if not text:
        return NOTHING
    return _say(text)


def asks(label: str) -> bool:
    """Whether ``label`` is a question, as the headings of a list of questions and answers are: “How do I delete my account?”"""
    words = read(label).split()
    return label.rstrip().endswith(("?", "？", "؟")) and len(words) >= _QUESTION_WORDS and words[0] in ASKING


_QUESTION_WORDS: Final = 4


def closes(label: str) -> bool:
    """Whether ``label`` only says that something is closed or given up: “Cancel”."""
    return read(label) in CLOSERS


def cancels(label: str) -> bool:
    """Whether that is “Cancel” and not “Close”: what is given up may be an order as well as a form."""
    return read(label) in CANCELS


def is_cross(label: str) -> bool:
    """Whether ``label`` is a cross: “×”."""
    return label.strip().casefold() in CROSSES  # it is no word: nothing of “×” is left when it is read


def only_sends(label: str) -> bool:
    """Whether ``label`` of a button only says that its form is sent, whatever that does: “OK”, “Apply”."""
    return read(label) in SENDERS


def _legible(text: str) -> bool:
    return all(script_of(each) in model().header.thresholds.view for each in (text, *runs(text)))


@functools.lru_cache(_CACHED)
def _say(text: str) -> Spoken:
    if not any(char.isalpha() for char in text):
        return _pictures(text)
    anchored = ANCHORS.get(text)
    if anchored is not None:
        return _fixed(anchored, text)
    # Beside letters a picture only leans: “🗑” on a button that names a bin is not yet a deletion.
    pictured = _pictures(text)
    text = " ".join("".join(char for char in text if unicodedata.category(char) != "So").split())
    spoken = msgspec.structs.replace(_judged(text), legible=_legible(text))
    if pictured.level >= _GRAVE_CLASS:
        spoken = _worse(spoken, msgspec.structs.replace(pictured, certain=False, leans=pictured.level), text)
    # A word in a second script, or one that only looks like another, must not hide behind the first.
    for other in filter(None, (look_alike(text), *runs(text))):
        spoken = _worse(spoken, _judged(other), text)
    return spoken


def _fixed(kind: str, text: str) -> Spoken:
    certain = kind not in ("begin", "other")
    return Spoken(kind=kind, level=LEVELS.get(kind, 0), certain=certain, text=_shown(text))


def _pictures(text: str) -> Spoken:
    found = [PICTURES[char] for char in text if char in PICTURES]
    return _fixed(max(found, key=LEVELS.__getitem__), text) if found else NOTHING


def _judged(text: str) -> Spoken:
    chances = _chances(text)
    limits = model().header.thresholds
    kind = max(chances, key=chances.__getitem__)
    shown = _shown(text)
    grave = max(_GRAVE, key=chances.__getitem__)
    if sum(chances[each] for each in _GRAVE) >= limits.grave:
        return Spoken(kind=grave, level=LEVELS[grave], certain=True, text=shown)
    hidden = _hidden(text)
    harmless = chances["view"] + chances["search"]
    needed = limits.view.get(script_of(text), 2.0)
    if harmless >= needed and not hidden and len(text) <= CHARS_MAX and text.count(" ") < _PARTS_MAX:
        return Spoken(kind=max("view", "search", key=chances.__getitem__), level=1, certain=True, text=shown)
    leaning = [LEVELS[each] for each in _GRAVE if chances[each] >= limits.lean]
    leans = max([*leaning, hidden])
    changing = chances["change"] + chances["begin"] + sum(chances[each] for each in _GRAVE)
    likely = chances[kind] >= _LIKELY and kind not in ("card", "secret")
    level = LEVELS.get(kind, 0) if likely else 0
    certain = changing >= limits.change and kind == "change"
    return Spoken(kind=kind, level=4 if certain else level, certain=certain, leans=leans, text=shown)


def _hidden(text: str) -> int:
    """The highest class from 5 on that one of several words asks for alone."""
    words = text.split()
    if len(words) < 2:
        return 0
    limit = model().header.thresholds.grave
    return max(
        max((LEVELS[kind] for kind in _GRAVE if _chances(word)[kind] >= limit), default=0)
        for word in words[:_PARTS_MAX]
    )


@functools.lru_cache(_CACHED)
def _chances(text: str) -> dict[str, float]:
    return model().probabilities(text)


def _worse(one: Spoken, other: Spoken, text: str) -> Spoken:
    """What a label says of which ``one`` and ``other`` were read: it is harmless only if both are."""
    if other.certain and other.level > one.level:
        return msgspec.structs.replace(other, text=_shown(text), legible=one.legible)
    if one.views and not other.views:
        return msgspec.structs.replace(one, certain=False, leans=max(one.leans, other.leans))
    return msgspec.structs.replace(one, leans=max(one.leans, other.leans))


def field_says(label: str) -> Spoken:
    """What ``label`` of a field asks for: ``card``, ``secret``, or what ``say`` gives."""
    text = read(label)
    if not text:
        return NOTHING
    chances = _chances(text)
    limits = model().header.thresholds
    kind = max("card", "secret", key=chances.__getitem__)
    if chances[kind] >= limits.field:
        return Spoken(kind=kind, level=LEVELS[kind], certain=True, text=_shown(text))
    if chances[kind] >= limits.lean:
        return Spoken(kind=kind, level=LEVELS[kind], leans=LEVELS[kind], text=_shown(text))
    return say(label)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1].rstrip() + "…"
