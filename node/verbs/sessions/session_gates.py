"""Records of what the gates found in a session (``node/sessions/keeping/gated.py``)."""

from __future__ import annotations

import msgspec


class PersonalData(msgspec.Struct, frozen=True, kw_only=True):
    """Personal data of one kind in one place of a session."""

    kind: str
    """``email``, ``phone``, ``card``, ``iban`` or ``id`` (a national number)."""
    where: str
    """``text``, ``title``, ``address``, ``extracted``, ``dialog``, ``evidence`` or ``hidden`` text of pages; ``action``: as an
    author wrote it."""
    replaced: bool
    """Whether tokens stand in its place. What an author wrote is kept, since a replay needs it."""
    count: int


class SpokenTo(msgspec.Struct, frozen=True, kw_only=True):
    """Text of a page that speaks to a model. Nothing acts upon it."""

    step: int
    where: str
    """``text``, ``title``, ``address``, ``extracted``, ``dialog``, ``evidence``, or ``hidden``: the page does not show it."""
    line: int
    rules: tuple[str, ...]
    """Which kinds of such text it fits: override, persona, mark, addressed, reveal, send, tool, reply, hide, decode, …"""
    quote: str
    hidden: bool
    """Whether it was encoded, in characters that nobody sees, or on the page where nobody sees it."""
    origin: str
    """Of the page."""
    why: str = ""
    """Of what is ``hidden``: what keeps it from being seen, such as ``not displayed``, ``in a comment``."""
