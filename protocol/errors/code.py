"""The definition of an error code."""

from __future__ import annotations

import enum
from typing import NamedTuple


class Blame(enum.StrEnum):
    """Whose move it is to change something."""

    CALLER = "caller"
    """The input of the person or program that called."""
    PEER = "peer"
    """Another node broke the protocol, or may not do what it asked."""
    ENVIRONMENT = "environment"
    """Disk, network, browser or clock."""
    OUTCOME = "outcome"
    """Everything worked and the answer is no: a check failed, a search found nothing."""


class Code(NamedTuple):
    """The definition of one error code."""

    blame: Blame
    retryable: bool
    meaning: str
    remedy: str
