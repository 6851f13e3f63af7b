"""Compares the texts that steps have read in a recording and in a replay."""

from __future__ import annotations

from protocol.page.actions.action import Action, Extract
from protocol.page.actions.values import same_value
from protocol.recording.pages.masks import mask_text


def same_extracted(action: Action, recorded: str, met: str, *, strict: bool = False) -> bool:
    """True if ``action`` read the same text as in the recording.

    An ``extract`` is compared by its type and is not masked, because its author asked for this value. Texts of other steps are
    masked before they are compared, unless ``strict``.
    """
    if isinstance(action, Extract):
        return same_value(action, recorded, met)
    return recorded == met or (not strict and mask_text(recorded) == mask_text(met))
