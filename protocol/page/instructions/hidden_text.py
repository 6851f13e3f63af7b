"""Finds hidden text of a page that addresses a model. Hidden means that people cannot see it, or that the accessibility tree lacks
it. Pure.

A page can address a program that reads its source, without showing the text to people. docs/adr/0044.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal

import msgspec

from protocol import limits
from protocol.kinds import Done
from protocol.page.instructions.instructions import instructions_in

Why = Literal[
    "display",
    "visibility",
    "opacity",
    "size",
    "place",
    "clip",
    "colour",
    "tree",
    "comment",
    "attribute",
    "meta",
    "template",
    "noscript",
]
WHY: Final[Mapping[Why, str]] = {
    "display": "not displayed",
    "visibility": "visibility: hidden",
    "opacity": "transparent",
    "size": "without a size",
    "place": "outside of the page",
    "clip": "cut off",
    "colour": "in the colour of its background",
    "tree": "left out of the accessibility tree",
    "comment": "in a comment",
    "attribute": "in the attribute",
    "meta": "in the metadata",
    "template": "in a template",
    "noscript": "for browsers without scripts",
}
"""The reasons why a text is hidden, in words."""
_SHOWN_ATTRIBUTES: Final = frozenset(
    {"alt", "title", "placeholder", "label", "aria-label", "aria-description", "aria-placeholder", "value", "content"}
)
"""Attributes that a browser shows to people, if only beside an element. They are judged as visible text."""


class HiddenText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text, and the reason why it is hidden."""

    why: Why
    at: Annotated[Done, msgspec.Meta(max_length=limits.HIDDEN_AT_CHARS_MAX)] = ""
    """The name of the attribute, of the metadata, or the pseudo-element; empty for text."""
    text: Annotated[Done, msgspec.Meta(max_length=limits.HIDDEN_TEXT_CHARS_MAX)]
    """White space folded, and cut."""


class HiddenTexts(msgspec.Struct, frozen=True, kw_only=True):
    """The hidden texts of a page that may address a model."""

    texts: tuple[HiddenText, ...] = ()
    whole: bool = True
    """True if the page was read to its end."""


def in_words(why: Why, at: str) -> str:
    """The reason why a text is hidden, in words."""
    return f"{WHY[why]} {at}".rstrip()


def unseen_by_people(one: HiddenText) -> bool:
    """True if only a program reads ``one``."""
    return one.why != "tree" and one.at not in _SHOWN_ATTRIBUTES


def speaking(texts: Iterable[HiddenText], stored: Callable[[str], str]) -> tuple[tuple[HiddenText, ...], bool]:
    """The ``texts`` that address a model, each cut to that part and redacted, and True if these are all: only the first
    ``HIDDEN_PER_STEP_MAX`` are kept. stored: redacts secrets and personal data.
    """
    found: dict[HiddenText, None] = {}
    for one in texts:
        kept = _kept(one, stored)
        if kept is not None and kept not in found:
            if len(found) == limits.HIDDEN_PER_STEP_MAX:
                return tuple(found), False
            found[kept] = None
    return tuple(found), True


def _kept(one: HiddenText, stored: Callable[[str], str]) -> HiddenText | None:
    hidden = unseen_by_people(one)
    if not instructions_in(one.text, hidden=hidden):
        return None
    # Redacted before it is cut, because half a secret would not be recognised.
    text = stored(one.text)
    part = next((each for each in _parts(text) if instructions_in(each, hidden=hidden)), None)
    return None if part is None else msgspec.structs.replace(one, text=part)


def _parts(text: str) -> Iterator[str]:
    """Overlapping parts of ``text``, each as long as a kept text."""
    size = limits.HIDDEN_KEPT_CHARS_MAX
    for start in range(0, max(len(text) - size // 2, 1), size // 2):
        yield text[start : start + size]
