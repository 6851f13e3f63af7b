"""Explains to a person how a page of a replay differs from the recorded one, and why a step could not be performed.

Explanations are redacted as the recording is. They are shown to the caller of the replay, and signed only if inputs were changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Goto, describe
from protocol.page.secrets.personal import common
from protocol.page.secrets.redaction import redact_text
from protocol.page.seen.names import shortened
from protocol.recording.pages.extracts import same_extracted
from protocol.recording.pages.masks import apply_masks, mask_text
from protocol.recording.pages.page_diff import differing
from protocol.recording.pages.page_text import contrast
from protocol.recording.records.findings import Aspect, Difference, noted
from protocol.recording.records.manifest import words
from protocol.recording.records.session import Step
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.replays.replay import Met, Rebase, rebased

_BESIDE_THE_PAGE: Final = 4
"""The weight of a different address or title among the changes of a page (``protocol.recording.pages.page_diff``)."""
_ONLY_WRAPPERS: Final = "only wrappers and indentation differ"
_NOT_WHOLE: Final = "the pages differ in too much, or are too long: they were compared in part"


def explain(step: Step, met: Met, snapshot: bytes | None, *, strict: bool = False) -> tuple[Difference, ...]:
    """The differences between page and recording, the most important first: at most ``DIFFERENCES_PER_STEP_MAX``.

    The last one gives the number of further differences. Both sides are redacted like the recording. A secret that the replay was
    not given cannot be redacted in ``met``.
    """
    plain = (lambda text: text) if strict else mask_text
    found: list[tuple[int, Difference]] = []

    def add(weighs: int, what: Aspect, pair: tuple[str, str]) -> None:
        found.append((weighs, Difference(step=step.index, what=what, recorded=pair[0], met=pair[1])))

    for place in met.unsent:
        add(0, "sent", (shortened(words(step.effects[place]), limits.DIFFERENCE_CHARS_MAX), ""))
    if met.alert:
        add(0, "alert", contrast("", met.alert.words))
    if not same_extracted(step.action, *common(step.extracted, met.extracted), strict=strict):
        # Not masked, because two different dates would show as the same mask.
        add(0, "extracted", contrast(step.extracted, met.extracted))
    parts: tuple[tuple[Aspect, str, str], ...] = (("address", step.url, met.url), ("title", step.title, met.title))
    for what, recorded, other in parts:
        old, new = common(recorded, other)
        if plain(old) != plain(new):
            add(_BESIDE_THE_PAGE, what, contrast(old, new))
    texts, more = _page_differences(step, met, snapshot_text(snapshot), strict=strict)
    found += texts
    found.sort(key=lambda one: one[0])
    most = limits.DIFFERENCES_PER_STEP_MAX
    more += max(0, len(found) - most)
    listed = [difference for _, difference in found[:most]]
    if more:
        listed[-1] = noted(listed[-1], f"{more} more difference{'s' if more > 1 else ''} not listed")
    return tuple(listed)


def _page_differences(
    step: Step, met: Met, recorded: str | None, *, strict: bool
) -> tuple[list[tuple[int, Difference]], int]:
    """The differences in the text of the page, each with its weight, and the number of further differences."""
    if recorded is None or recorded == met.text:
        return [], 0
    recorded, text = common(recorded, met.text)
    old, new = apply_masks(recorded, () if strict else step.masks, text)
    changes = differing(old, new, limits.DIFFERENCES_PER_STEP_MAX)
    found: list[tuple[int, Difference]] = []
    for change in changes.found:
        before, after = contrast(change.recorded, change.met)
        found.append(
            (
                change.weight,
                Difference(
                    step=step.index, what="text", recorded=before, met=after, place=change.place, note=change.note
                ),
            )
        )
    if strict and old != new and not found:
        found.append((6, Difference(step=step.index, what="text", recorded="", met="", note=_ONLY_WRAPPERS)))
    if found and not changes.whole:
        found[0] = (found[0][0], noted(found[0][1], _NOT_WHOLE))
    return found, changes.more


def explain_stop(
    step: Step,
    error: MeshError,
    secrets: Mapping[str, str],
    mapping: Rebase = Rebase(),  # noqa: B008 - frozen
    what: Aspect = "action",
) -> tuple[Difference, ...]:
    """The failed action or condition, and the reason, redacted like the recording.

    A shown address is the address that the replay tried.
    """
    tried = rebased(step.action, mapping)
    reason = f"{describe(tried)}: {error.message}" if isinstance(tried, Goto) else str(error.message)
    recorded, met = (
        shortened(redact_text(text, secrets), limits.REASON_CHARS_MAX) for text in (describe(step.action), reason)
    )
    return (Difference(step=step.index, what=what, recorded=recorded, met=met),)
