"""Findings in the pages of a session: personal data, and text that addresses a model (``node/sessions/keeping/gated.py``)."""

from __future__ import annotations

from typing import Annotated

import msgspec

from node.verbs.shown import shown


class PersonalData(msgspec.Struct, frozen=True, kw_only=True):
    """Personal data of one kind in one place of a session."""

    kind: Annotated[str, shown("kind")]
    """``email``, ``phone``, ``card``, ``iban`` or ``id`` (a national number)."""
    where: Annotated[str, shown("where")]
    """``text``, ``title``, ``address``, ``extracted``, ``dialog``, ``evidence`` or ``hidden`` text of pages; ``action``: written
    by the author of an action.
    """
    replaced: Annotated[bool, shown("replaced", empty="no")]
    """True if it is replaced by tokens. Text of an author is kept, because a replay needs it."""
    count: Annotated[int, shown("count")]


class SpokenTo(msgspec.Struct, frozen=True, kw_only=True):
    """Text of a page that addresses a model. Nothing obeys it."""

    step: Annotated[int, shown("step")]
    where: Annotated[str, shown("where")]
    """``text``, ``title``, ``address``, ``extracted``, ``dialog``, ``evidence``, or ``hidden``: the page does not show it."""
    line: Annotated[int, shown("line")]
    rules: Annotated[tuple[str, ...], shown("rules")]
    """The kinds of such text that it matches: override, persona, mark, addressed, reveal, send, tool, reply, hide, decode, …"""
    quote: Annotated[str, shown("quote")]
    hidden: Annotated[bool, shown("hidden")]
    """True if a person cannot see it: encoded, in invisible characters, or in a hidden place of the page."""
    origin: Annotated[str, shown("origin")]
    """Origin of the page."""
    why: Annotated[str, shown("hidden because")] = ""
    """For ``hidden``: the reason why it cannot be seen, such as ``not displayed``, ``in a comment``."""
