"""The results that a session or a replay can have."""

from __future__ import annotations

import enum


class Verdict(enum.StrEnum):
    """The result of a session or a replay."""

    OPEN = "open"
    PASS = "pass"  # noqa: S105 (a verdict)
    PARTIAL = "partial"
    FAIL = "fail"
    INTERRUPTED = "interrupted"
