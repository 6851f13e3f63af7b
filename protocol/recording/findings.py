"""Differences in the order in which they matter, and each change that is the same in many steps once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from protocol.page.observation import INTERACTIVE_ROLES

Aspect = Literal["address", "title", "extracted", "text", "action", "assertion", "alert"]
_WORDS: Final = re.compile(r"\w+|\W")
_NUMBER: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_ROLE: Final = re.compile(r"…?\s*- ([a-z]+)(?: |:|$)")
_MONEY: Final = re.compile(r"[£$€¥₹₽₩] ?[0-9]|[0-9] ?(?:[£$€¥₹₽₩]|EUR|USD|GBP|CHF)")


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One difference from the recording, cut to ``DIFFERENCE_CHARS_MAX`` around the place where it begins."""

    step: int
    """Index of the step."""
    what: Aspect
    """``text``: one line of it. ``action``: it was not performed, and ``assertion``: it did not hold; ``met`` says why.
    ``alert``: the page shows one that the recording lacks."""
    recorded: str
    """Empty for a line that came in addition."""
    met: str
    """Empty for a line that is gone."""
    also: tuple[int, ...] = ()
    """Later steps that differ in the same way."""


def in_words(found: Difference) -> str:
    """What is there instead of what is recorded, for one line."""
    if found.what in ("action", "assertion"):
        return found.met
    if found.what == "alert":
        return f"a new alert, “{found.met}”"
    recorded, met = found.recorded.strip(), found.met.strip()
    if not met:
        return f"{found.what}: nothing instead of “{recorded}”"
    if not recorded:
        return f"{found.what}: “{met}”, where nothing was recorded"
    return f"{found.what} “{met}” instead of “{recorded}”"


def weight(what: Aspect, recorded: str, met: str) -> int:
    """How much a difference matters, 0 most.

    0: what was extracted, not performed or did not hold; a new alert, a heading, a control, an amount of money. 1: another
    line. 2: title or address. 3: a number.
    """
    if what in ("extracted", "action", "assertion", "alert"):
        return 0
    if what in ("title", "address"):
        return 2
    if any(_MONEY.search(line) or _role(line) in INTERACTIVE_ROLES | {"heading"} for line in (recorded, met)):
        return 0
    return 3 if recorded and met and _NUMBER.sub("#", recorded) == _NUMBER.sub("#", met) else 1


def _role(line: str) -> str:
    found = _ROLE.match(line)
    return found[1] if found else ""


def merged(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """``differences`` without those that say the same of a later step: its index stands in ``also`` of the first.

    Two titles or addresses say the same if the same words changed in them: a new prefix of all titles, an id in all addresses.
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
    """Both without the words that they begin and end with alike."""
    old, new = _WORDS.findall(recorded), _WORDS.findall(met)
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    return "".join(old[head : len(old) - tail]), "".join(new[head : len(new) - tail])
