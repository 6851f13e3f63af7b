"""The table of questions to the owner."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.tables import Table
from protocol.kinds import Plain


class QuestionRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the owner, and its outcome."""

    id: Plain
    asked_ms: int
    question: bytes
    """``protocol.approval.question.Question``, encoded."""
    state: Plain = "open"
    """``open``; ``yes``, while the answer holds; ``no``; ``used``, for a yes for once; ``over``, once its time has passed."""
    held: Plain = ""
    """The fate of the request that waits for the answer: a ``protocol.approval.leaving.Fate``, or ``sending`` while it is let
    go; empty if no request waits."""
    times: int = 1
    """How often it was asked."""
    picture: Plain = ""
    """Hash of the screenshot of the page, in hexadecimal; empty if none was stored."""
    approval: bytes = b""
    """The signed answer."""
    answered_ms: int = 0
    uses: int = 0
    """How many actions it has let through."""
    seen_ms: int = 0
    """The latest time at which it was checked: later than the clock, if that was set back."""


QUESTIONS: Final = Table(name="questions", record=QuestionRecord, key="id", bound="limits.QUESTIONS_KEPT_MAX")
