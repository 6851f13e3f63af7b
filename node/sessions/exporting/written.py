"""The result of an export, and what both formats need to know of a step."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from protocol.page.actions.action import describe
from protocol.page.secrets.redaction import is_incomplete
from protocol.recording.records.session import Session, Step


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A file, and what it does not say."""

    text: str
    lost: tuple[str, ...]
    """What the format cannot say, each with its step."""


class Unsaid(Exception):
    """A step that a format cannot say, for the reason given. Caught by the writer of the format, which makes a comment of it."""


def not_replayed(session: Session, steps: Sequence[Step]) -> list[str]:
    """What no replay performs either: steps that failed, and those that an import left out."""
    failed = [f"step {step.index}, {describe(step.action)}: failed with {step.error}" for step in steps if not step.ok]
    return failed + [f"{one.place} ({one.what}): skipped when it was imported, {one.reason}" for one in session.skipped]


def whole_address(url: str) -> str:
    """``url``, if all of it was recorded.

    Errors: ``Unsaid``, also for what is no page of the web. A recording of somebody else could make a test read files.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise Unsaid("its address does not begin with http:// or https://")
    if is_incomplete(url):
        raise Unsaid("a part of the address was not stored")
    return url


def one_line(text: str) -> str:
    """``text`` for a comment: what cannot be seen could end it, or show it in another order."""
    folded = " ".join(text.split())
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in folded)
