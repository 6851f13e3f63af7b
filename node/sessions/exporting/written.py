"""The result of an export, and the checks that both formats share."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from protocol.page.actions.action import describe
from protocol.page.secrets.redaction import is_incomplete
from protocol.recording.records.session import Session, Step


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A written file, and the parts of the session that it lacks."""

    text: str
    lost: tuple[str, ...]
    """The parts that the format cannot express, each with its step."""


class Unsaid(Exception):
    """A step that a format cannot express, with the reason. The writer of the format catches it and writes a comment."""


def not_replayed(session: Session, steps: Sequence[Step]) -> list[str]:
    """Steps that no replay performs: those that failed, and those that an import left out."""
    failed = [f"step {step.index}, {describe(step.action)}: failed with {step.error}" for step in steps if not step.ok]
    return failed + [f"{one.place} ({one.what}): skipped when it was imported, {one.reason}" for one in session.skipped]


def whole_address(url: str) -> str:
    """``url``, if all of it was recorded.

    Errors: ``Unsaid``, also for an address outside of the web: a test from somebody else's recording could otherwise read files.
    """
    if not url.lower().startswith(("http://", "https://")):
        raise Unsaid("its address does not begin with http:// or https://")
    if is_incomplete(url):
        raise Unsaid("a part of the address was not stored")
    return url


def one_line(text: str) -> str:
    """``text`` for a comment, without invisible characters, which could end the comment or reorder its text."""
    folded = " ".join(text.split())
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in folded)
