"""Compares what the steps of a recording and of a replay have read."""

from __future__ import annotations

from protocol.page.actions.action import Action, Extract
from protocol.page.actions.values import same_value
from protocol.recording.pages.masks import mask_text


def same_extracted(action: Action, recorded: str, met: str, *, strict: bool = False) -> bool:
    """Whether ``action`` read the same as when it was recorded.

    An ``extract`` is compared by its type, and not masked: its author asked for this value. What other steps have read is compared
    but for what changes by itself; strict: without that exception.
    """
    if isinstance(action, Extract):
        return same_value(action, recorded, met)
    return recorded == met or (not strict and mask_text(recorded) == mask_text(met))
