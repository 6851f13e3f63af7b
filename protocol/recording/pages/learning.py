"""Learns masks from two recordings of the same steps on unchanged data: only numbers are learned.

One recording cannot show every number that changes by itself (``protocol.recording.pages.masks``), for example a count of visits,
or the number of a record that the flow creates. A second recording can. Such a number is masked only if the pages are equal
otherwise, so a change of the data is refused and not learned.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final, NamedTuple

from protocol import limits
from protocol.recording.pages.extracts import same_extracted
from protocol.recording.pages.masks import NUMBER, mask_address, mask_line, mask_text, may_learn
from protocol.recording.records.session import Mask, Step

_AMOUNT: Final = re.compile(r"[0-9][0-9.,]*[.,][0-9]{2}")
"""A number with two decimals may be an amount of money whose currency stands elsewhere."""

Pair = tuple[str, str]
"""A text of the earlier recording, and the text in its place in the later one."""


class Learned(NamedTuple):
    """The result of comparing two texts of the same step."""

    masks: tuple[Mask, ...]
    """Masks of the later text."""
    lines: tuple[Pair, ...]
    """The lines in which a number changed."""
    differences: tuple[Pair, ...]
    """Other differences, at most ``DIFFERENCE_LINES_MAX``. If there are any, the masks must not be used."""


def learn_between(earlier: str, earlier_masks: Sequence[Mask], text: str, masks: Sequence[Mask]) -> Learned:
    """``masks`` of ``text``, with the numbers that ``earlier_masks`` cover in ``earlier``, and with the numbers that differ
    between the two texts.

    Never learned: amounts of money, numbers with two decimals, names of controls, and a number that is the only text of a line.
    """
    old, new = earlier.split("\n"), text.split("\n")
    if len(old) != len(new):
        return Learned(tuple(masks), (), _unlike(old, new))
    found, lines, differences = list(masks), list[Pair](), list[Pair]()
    for number, (before, after) in enumerate(zip(old, new, strict=True), 1):
        spans = _of_line(earlier_masks, number), _of_line(masks, number)
        learned = _line(before, after, *spans)
        if learned is None:
            differences.append((before, after))
            continue
        found += [Mask(number, start, end, "number") for start, end, _ in learned]
        if any(changed for _, _, changed in learned):
            lines.append((before, after))
    found.sort(key=lambda mask: (mask.line, mask.start))
    kept = tuple(found[: limits.MASKS_PER_STEP_MAX])
    return Learned(kept, tuple(lines), tuple(differences[: limits.DIFFERENCE_LINES_MAX]))


def unlike(earlier: Step, step: Step) -> tuple[Pair, ...]:
    """The differences between two recordings of one step, masked, without the text of the page."""
    pairs = [
        (earlier.url, step.url, mask_address(earlier.url) == mask_address(step.url)),
        (earlier.title, step.title, mask_text(earlier.title) == mask_text(step.title)),
        (earlier.extracted, step.extracted, same_extracted(step.action, earlier.extracted, step.extracted)),
    ]
    return tuple((before, after) for before, after, same in pairs if not same)


def _of_line(masks: Sequence[Mask], line: int) -> list[Mask]:
    return [mask for mask in masks if mask.line == line]


def _line(before: str, after: str, old: Sequence[Mask], new: Sequence[Mask]) -> list[tuple[int, int, bool]] | None:
    """The numbers of ``after`` to mask, each with True if it differs between the two lines; None if anything else differs."""
    if NUMBER.sub("#", before) != NUMBER.sub("#", after):
        return [] if mask_line(before) == mask_line(after) else None
    found = []
    for one, other in zip(NUMBER.finditer(before), NUMBER.finditer(after), strict=True):
        was, now = _cover(old, one), _cover(new, other)
        if now is not None:
            if one[0] != other[0] and was is None and now.form != "number":
                return None  # its form differs from the earlier one
            continue
        if was is not None and was.form == "number":
            found.append((other.start(), other.end(), one[0] != other[0]))
        elif one[0] != other[0]:
            if was is not None or not (_may_learn(before, one) and _may_learn(after, other)):
                return None
            found.append((other.start(), other.end(), True))
    return found


def _cover(masks: Sequence[Mask], number: re.Match[str]) -> Mask | None:
    return next((mask for mask in masks if mask.start < number.end() and number.start() < mask.end), None)


def _may_learn(line: str, number: re.Match[str]) -> bool:
    return may_learn(line, number) and not _AMOUNT.fullmatch(number[0])


def _unlike(old: Sequence[str], new: Sequence[str]) -> tuple[Pair, ...]:
    """The lines that differ between two texts of different length, except for numbers that could be learned."""
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    ours, theirs = (lines[same : same + limits.DIFFERENCE_LINES_MAX] for lines in (old, new))
    before, after = ([NUMBER.sub("#", mask_line(line)) for line in lines] for lines in (ours, theirs))
    pairs: list[Pair] = []
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        facing = list(zip_longest(ours[a:b], theirs[c:d], fillvalue=""))
        pairs += facing if kind != "equal" else [pair for pair in facing if _line(*pair, (), ()) is None]
    return tuple(pairs[: limits.DIFFERENCE_LINES_MAX]) or (("", f"{len(new)} lines instead of {len(old)}"),)
