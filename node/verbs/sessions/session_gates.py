"""Findings in the pages of a session: personal data, and text that addresses a model (``node/sessions/keeping/gated.py``)."""

from __future__ import annotations

import msgspec


class PersonalData(msgspec.Struct, frozen=True, kw_only=True):
    """Personal data of one kind in one place of a session."""

    kind: str
    """``email``, ``phone``, ``card``, ``iban`` or ``id`` (a national number)."""
    where: str
    """``text``, ``title``, ``address``, ``extracted``, ``dialog``, ``evidence`` or ``hidden`` text of pages; ``action``: written
    by the author of an action.
    """
    replaced: bool
    """True if it is replaced by tokens. Text of an author is kept, because a replay needs it."""
    count: int


class SpokenTo(msgspec.Struct, frozen=True, kw_only=True):
    """Text of a page that addresses a model. Nothing obeys it."""

    step: int
    where: str
    """``text``, ``title``, ``address``, ``extracted``, ``dialog``, ``evidence``, or ``hidden``: the page does not show it."""
    line: int
    rules: tuple[str, ...]
    """The kinds of such text that it matches: override, persona, mark, addressed, reveal, send, tool, reply, hide, decode, …"""
    quote: str
    hidden: bool
    """True if a person cannot see it: encoded, in invisible characters, or in a hidden place of the page."""
    origin: str
    """Origin of the page."""
    why: str = ""
    """For ``hidden``: the reason why it cannot be seen, such as ``not displayed``, ``in a comment``."""
