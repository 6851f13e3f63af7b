"""Text of a page that no person sees, or no reader of its accessibility tree, and what of it speaks to a model. Pure.

A page can speak to a program that reads its source and show a person nothing of it. docs/adr/0044.
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
"""In words: what keeps a text from being seen."""
_SHOWN_ATTRIBUTES: Final = frozenset(
    {"alt", "title", "placeholder", "label", "aria-label", "aria-description", "aria-placeholder", "value", "content"}
)
"""What a browser shows a person, if only beside something: judged as visible text is."""


class HiddenText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text and what keeps it from being seen."""

    why: Why
    at: Annotated[Done, msgspec.Meta(max_length=limits.HIDDEN_AT_CHARS_MAX)] = ""
    """The name of the attribute, of the metadata, or the pseudo-element; empty for text."""
    text: Annotated[Done, msgspec.Meta(max_length=limits.HIDDEN_TEXT_CHARS_MAX)]
    """White space folded, and cut."""


class HiddenTexts(msgspec.Struct, frozen=True, kw_only=True):
    """What of a page is hidden and may speak to a model."""

    texts: tuple[HiddenText, ...] = ()
    whole: bool = True
    """Whether the page was read to its end."""


def in_words(why: Why, at: str) -> str:
    """What keeps a text from being seen, for a person."""
    return f"{WHY[why]} {at}".rstrip()


def unseen_by_people(one: HiddenText) -> bool:
    """Whether nobody reads ``one`` but a program."""
    return one.why != "tree" and one.at not in _SHOWN_ATTRIBUTES


def speaking(texts: Iterable[HiddenText], stored: Callable[[str], str]) -> tuple[tuple[HiddenText, ...], bool]:
    """Those of ``texts`` that speak to a model, each cut to the part that does, and as they are stored; and whether these are all:
    only the first ``HIDDEN_PER_STEP_MAX`` are kept.

    stored: takes secrets and personal data out.
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
    # Redacted before it is cut: what is cut in the middle of a secret is not found any more.
    text = stored(one.text)
    part = next((each for each in _parts(text) if instructions_in(each, hidden=hidden)), None)
    return None if part is None else msgspec.structs.replace(one, text=part)


def _parts(text: str) -> Iterator[str]:
    """Overlapping parts of ``text``, of the length that is kept."""
    size = limits.HIDDEN_KEPT_CHARS_MAX
    for start in range(0, max(len(text) - size // 2, 1), size // 2):
        yield text[start : start + size]
