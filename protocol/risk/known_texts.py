"""Places at which known applications put the title of a text into an address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from protocol.risk.address_words import word_set
from protocol.risk.letters import plain
from protocol.risk.segments import Order, is_id

_REDDIT_PARTS: Final = 4
_SPACE: Final = re.compile(r"[A-Z][A-Z0-9]+|~\w+")
"""The key of a space of Confluence."""
_SPECIAL: Final = word_set("special spezial especial speciale speciaal specjalna speciell служебная 特別 特殊")
_TOPIC_PARTS: Final = 2
_SOURCES: Final = frozenset({"py", "go", "rb"})


def is_title(segments: Sequence[str], names: Sequence[str], at: int, order: Order) -> bool:
    """Whether it is a title: ``/display/SPACE/Title`` of Confluence, ``/wiki/Special:WhatLinksHere/Title`` of MediaWiki,
    ``/r/group/comments/id/title`` of Reddit.
    """
    last = at + 1 == len(segments)
    if at in (2, 3) and last and names[at - 2] == "display" and _SPACE.fullmatch(segments[at - 1]):
        return (at == 2 or names[0] in ("wiki", "confluence")) and (not order.whole or "+" in segments[at])
    if at > 1 and last and names[at - 2] == "wiki":
        space, colon, _ = segments[at - 1].partition(":")
        return bool(colon) and plain(space) in _SPECIAL
    return at == _REDDIT_PARTS and (names[0], names[2]) == ("r", "comments")


def is_topic(segments: Sequence[str], names: Sequence[str], at: int, order: Order) -> bool:
    """Whether it is the title of a topic of Discourse, behind which its id stands: ``/t/delete-account/4242``."""
    behind = segments[at + 1 :] if at == 1 else []
    topic = names[0] == "t" and order.titled and not order.object_within and 0 < len(behind) <= _TOPIC_PARTS
    return topic and all(map(is_id, behind))


def is_source(names: Sequence[str], at: int, extension: str) -> bool:
    """Whether it is a file of a program that is shown by Bitbucket or Gitea: ``/owner/repo/src/branch/delete.py``."""
    return extension in _SOURCES and at > _REDDIT_PARTS - 1 and names[2] == "src"
