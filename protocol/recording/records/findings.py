"""Orders differences by importance, and merges a change that is the same in many steps."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec

from protocol.kinds import PageText
from protocol.recording.records.page_outline import parsed
from protocol.shown import shown

Aspect = Literal["address", "title", "extracted", "text", "action", "assertion", "alert", "sent"]
_WORDS: Final = re.compile(r"\w+|\W")
_ASPECTS: Final[dict[Aspect, str]] = {
    "address": "address",
    "title": "title",
    "extracted": "extracted value",
    "text": "text",
    "action": "not performed",
    "assertion": "did not hold",
    "alert": "a new alert",
    "sent": "not sent",
}


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference from the recording, cut to ``DIFFERENCE_CHARS_MAX`` around its beginning."""

    step: Annotated[int, shown("step")]
    """Index of the step."""
    what: Annotated[Aspect, shown("what")]
    """``text``: one line of it. ``action``: it was not performed; ``assertion``: it did not hold; ``met`` has the reason.
    ``alert``: the page shows an alert that the recording lacks. ``sent``: a request that the step had to send did not leave.
    """
    recorded: Annotated[PageText, shown("recorded")]
    """Empty for a line that was added."""
    met: Annotated[PageText, shown("met")]
    """Empty for a line that was removed."""
    also: Annotated[tuple[int, ...], shown("also in steps")] = ()
    """Later steps that differ in the same way."""
    place: Annotated[PageText, shown("where")] = ""
    """The elements around the line on the page: ``table “Orders” › row “Pump 2” › cell “Price”``."""
    note: Annotated[PageText, shown("note")] = ""
    """Further remarks: the line has moved, it contains more lines, more differences are not listed."""


def noted(found: Difference, note: str) -> Difference:
    """``found`` with another note after its own."""
    return msgspec.structs.replace(found, note="; ".join(filter(None, (found.note, note))))


def where(found: Difference) -> str:
    """The kind and the place of the difference: ``text, table “Orders” › row “Pump 2” › cell “Price”``."""
    at = f", {found.place}" if found.place else ""
    note = f" ({found.note})" if found.note else ""
    return f"{_ASPECTS[found.what]}{at}{note}"


def in_words(found: Difference) -> str:
    """The difference as one line: what the replay found in place of the recording."""
    if found.what in ("action", "assertion"):
        return found.met
    if found.what == "sent":
        return f"it did not send {found.recorded}"
    if found.what == "alert":
        return f"a new alert, “{found.met}”"
    subject, recorded, met = _sides(found)
    subject = f"{where(found)}{subject}"
    if not met:
        return f"{subject}: nothing instead of “{recorded}”" if recorded else subject
    if not recorded:
        return f"{subject}: “{met}”, where nothing was recorded"
    if recorded == met:
        return f"{subject}: “{met}”"
    return f"{subject}{'' if subject == _ASPECTS[found.what] else ':'} “{met}” instead of “{recorded}”"


def _sides(found: Difference) -> tuple[str, str, str]:
    """For two lines of one element that differ in one part: the element, and that part of both. Otherwise both lines."""
    recorded, met = (side.strip().removeprefix("- ") for side in (found.recorded, found.met))
    old, new = (parsed(side) for side in (found.recorded, found.met))
    if found.what != "text" or not old.role or (old.role, old.states) != (new.role, new.states):
        return "", recorded, met
    # A cell is the last part of its place.
    subject = "" if found.place.rpartition(" › ")[2].startswith(f"{old.role} ") else f", {old.role}"
    if old.text == new.text and old.name and new.name:
        return subject, old.name, new.name
    if old.name == new.name and old.text and new.text:
        return subject + (f" “{old.name}”" if old.name else ""), old.text, new.text
    return "", recorded, met


def merged(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """``differences`` without repetitions in later steps, whose indices are listed in ``also`` of the first.

    Two differences of titles or addresses are equal if the same words changed, such as a new prefix of all titles or an id in all
    addresses.
    """
    first: dict[tuple[Aspect, str, str], Difference] = {}
    for one in differences:
        whole = one.recorded, one.met
        change = changed_part(*whole) if one.what in ("title", "address") else whole
        key = one.what, *change
        known = first.get(key)
        if known is None:
            first[key] = one
        elif one.step not in (known.step, *known.also):
            first[key] = msgspec.structs.replace(known, also=(*known.also, one.step))
    return tuple(first.values())


def changed_part(recorded: str, met: str) -> tuple[str, str]:
    """Both texts without their common first and last words."""
    old, new = _WORDS.findall(recorded), _WORDS.findall(met)
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return "".join(old[head : len(old) - tail]), "".join(new[head : len(new) - tail])
