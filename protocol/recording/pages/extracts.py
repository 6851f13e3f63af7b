"""Compares the texts that steps of a recording and of a replay read."""

from __future__ import annotations

from protocol.page.actions.action import Action, Extract
from protocol.page.actions.values import same_value
from protocol.recording.pages.masks import mask_text


def same_extracted(action: Action, recorded: str, met: str, *, strict: bool = False) -> bool:
    """True if ``action`` read the same as when it was recorded.

    An ``extract`` is compared by its type, and not masked: its author asked for this value. Texts of other steps are masked before
    they are compared. strict: they are not masked.
    """
    if isinstance(action, Extract):
        return same_value(action, recorded, met)
    return recorded == met or (not strict and mask_text(recorded) == mask_text(met))
