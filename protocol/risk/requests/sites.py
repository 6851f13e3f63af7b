"""The owner's rules for single sites: what may be read, sent and connected to there, each with its reason (``policy.sites``).

If several rules name an origin, only the most specific one counts: the exact origin, otherwise the longest domain. A rule narrows
reads to the listed paths, and allows requests that are not GET. It does not affect other requests.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec

from protocol import limits
from protocol.kinds import Plain
from protocol.trust.origin import ANY, fits, origin_of

PATH_PATTERN: Final = r"^/[!-~]*\Z"
SENT_PATTERN: Final = r"^(?!(?:GET|HEAD|OPTIONS|CONNECT|TRACE) )[A-Z]{3,20} /[!-~]*\Z"
_FILES: Final = frozenset({"image", "script", "stylesheet", "font", "media", "manifest"})
REFUSED: Final = "site"
"""Rule of ``judge_request``: a site's rule does not list the path to read."""

PathPattern = Annotated[Plain, msgspec.Meta(max_length=limits.FORM_TEXT_CHARS_MAX, pattern=PATH_PATTERN)]
"""A path in which ``*`` stands for any text within a segment, and ``**`` for any text."""
SentPattern = Annotated[Plain, msgspec.Meta(max_length=limits.FORM_TEXT_CHARS_MAX, pattern=SENT_PATTERN)]
"""``METHOD path-pattern``."""
_Reads = Annotated[tuple[PathPattern, ...], msgspec.Meta(max_length=limits.SITE_ENTRIES_MAX)]
_Sends = Annotated[tuple[SentPattern, ...], msgspec.Meta(max_length=limits.SITE_ENTRIES_MAX)]


class SiteRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rule for one site."""

    site: Annotated[Plain, msgspec.Meta(max_length=limits.ORIGIN_CHARS_MAX)]
    """An origin, or ``https://*.domain``."""
    why: Annotated[Plain, msgspec.Meta(min_length=1, max_length=limits.REASON_CHARS_MAX)]
    """The reason, which `trailmesh policy explain` shows."""
    read: _Reads = ()
    """Paths of pages and data that may be read, as ``/products/**``: ``*`` stands for text without ``/``, ``**`` for any text.
    Empty allows every path. Pictures, styles and scripts are not narrowed."""
    post: _Sends = ()
    """Requests that may be sent although they are not GET, each ``METHOD path``, as ``POST /search``."""
    connect: _Reads = ()
    """Paths of WebSockets that may be opened. Their messages are counted but not judged."""
    personal_data: Literal["replace", "cover", "keep"] = "replace"
    """How a node stores e-mail addresses, telephone, card, account and national numbers on pages of the site: ``replace`` stores
    tokens in their place, ``cover`` also covers them in pictures, ``keep`` stores them unchanged.
    """
    probe: bool = True
    """True if searches may press controls that they do not understand, while only reads can leave; False for a site with a login
    that must not be risked.
    """
    scripts: bool = False
    """True if an `evaluate` may run on pages of the site after a secret was typed, or with a capsule of this node. Its script can
    read what the login stores there. Without a login scripts need no rule.
    """


def rule_at(rules: Sequence[SiteRule], url: str) -> int | None:
    """The index of the rule that decides about ``url``; None if no rule names its origin."""
    origin = origin_of(url)
    named = [index for index, rule in enumerate(rules) if origin and fits((rule.site,), origin)]
    return max(named, key=lambda index: _specific(rules[index].site, origin), default=None)


def _specific(pattern: str, origin: str) -> tuple[bool, int]:
    return pattern == origin, 0 if pattern == ANY else len(pattern)


def judge_site(rules: Sequence[SiteRule], method: str, url: str, resource_type: str) -> str | None:
    """The answer of a site's rule to a request: empty if it allows it, ``REFUSED``, or None if it does not cover it.

    method: in upper case. resource_type: as for ``judge_request``.
    """
    index = rule_at(rules, url)
    if index is None:
        return None
    rule, path = rules[index], urlsplit(url).path or "/"
    if method in ("GET", "HEAD"):
        listed = not rule.read or resource_type in _FILES or any(path_fits(each, path) for each in rule.read)
        return None if listed else REFUSED
    return "" if any(_sends(each, method, path) for each in rule.post) else None


def _sends(entry: str, method: str, path: str) -> bool:
    verb, _, pattern = entry.partition(" ")
    return verb == method and path_fits(pattern, path)


def path_fits(pattern: str, path: str) -> bool:
    """True if ``pattern`` names ``path``. No pattern names a path with an escaped slash or dot, because sites read such a path
    differently.
    """
    if re.search(r"%2[ef]|%5c|\\|/\.{1,2}(/|\Z)", path, re.IGNORECASE):
        return False
    return fnmatch_within(pattern, path)


def fnmatch_within(pattern: str, text: str) -> bool:
    """True if ``pattern`` matches all of ``text``: ``*`` is any text without ``/``, ``**`` any text, other characters are literal.

    It goes back to the last ``**`` and the last ``*`` only, so the time is bounded by the product of the lengths.
    """
    parts = re.findall(r"\*\*+|\*|[^*]", pattern)
    at = index = 0
    wide: tuple[int, int] | None = None
    narrow: tuple[int, int] | None = None
    while True:
        part = parts[index] if index < len(parts) else ""
        if part.startswith("**"):
            index, wide, narrow = index + 1, (index + 1, at), None
        elif part == "*":
            index, narrow = index + 1, (index + 1, at)
        elif at < len(text) and part == text[at]:
            index, at = index + 1, at + 1
        elif at == len(text) and not part:
            return True
        elif narrow is not None and narrow[1] < len(text) and text[narrow[1]] != "/":
            index, at = narrow[0], narrow[1] + 1
            narrow = (index, at)
        elif wide is not None and wide[1] < len(text):
            index, at = wide[0], wide[1] + 1
            wide, narrow = (index, at), None
        else:
            return False
