"""Addresses that may destroy data when they are only read: on a careless site a GET of ``/items/3/delete`` is sufficient."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from protocol.risk.words import matcher, words_of

_PATH_WORDS = frozenset(
    [
        "delete",
        "deletes",
        "remove",
        "destroy",
        "erase",
        "purge",
        "wipe",
        "trash",
        "logout",
        "logoff",
        "signout",
        "unsubscribe",
        "deactivate",
        "revoke",
        "terminate",
        "uninstall",
        "unpublish",
        "discard",
        "del",
        "rm",
        "drop",
    ]
)
_PATH_SEGMENTS = frozenset({"close", "reset", "cancel", "clear", "empty", "disable", "shutdown", "kill", "ban"})
_PAIRS = (
    "log out",
    "sign out",
    "log off",
    "close account",
    "account close",
    "cancel account",
    "cancel order",
    "cancel subscription",
)
_PATH_PAIRS = matcher("|".join(_PAIRS))
_VERB_KEYS = frozenset(
    [
        "action",
        "act",
        "op",
        "operation",
        "do",
        "cmd",
        "command",
        "task",
        "mode",
        "method",
        "verb",
        "event",
        "submit",
        "func",
        "function",
    ]
)
_CONFIRM_KEYS = frozenset({"confirm", "confirmed", "really", "sure"})
_YES = frozenset({"1", "yes", "y", "true", "on", "ok", ""})
DOUBTFUL_PARTS: Final = tuple(sorted(_PATH_WORDS | _PATH_SEGMENTS | _CONFIRM_KEYS | set(_PAIRS)))
"""One of these stands in every address for which ``destructive_url`` has a word, unless a capital letter or an escape does. Between
the two words of one with a blank anything can stand."""
_ASSET = re.compile(r"\.(?:js|mjs|css|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|otf|map)$")
_ASSET_TYPES = frozenset({"image", "script", "stylesheet", "font", "media", "manifest"})
_SEGMENT_WORDS_MAX = 3  # longer segments are titles of articles ("how-to-remove-stains"), not commands

_POSSESSIVES = frozenset({"my", "your", "this", "all", "account", "item", "user"})
"""After a verb these make a command of a long segment ("delete-my-account-now")."""


def destructive_url(url: str) -> str:
    """The word for which a GET of ``url`` (or of a path) may destroy something; empty if there is none."""
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return "nothing readable"
    for segment in unquote(parts.path).split("/"):
        words = words_of(
            segment.rpartition(".")[0] if segment.endswith((".php", ".html", ".aspx", ".jsp", ".do")) else segment
        )
        listed = words.split()
        if len(listed) > _SEGMENT_WORDS_MAX:
            if listed[0] in _PATH_WORDS and listed[1] in _POSSESSIVES:
                return listed[0]
            continue
        found = next((word for word in listed if word in _PATH_WORDS), "")
        if found or words in _PATH_SEGMENTS:
            return found or words
        pair = _PATH_PAIRS.search(words)
        if pair:
            return pair[0]
    for key, value in query:
        found = _query_word(words_of(key), words_of(value))
        if found:
            return found
    return ""


def _query_word(key: str, value: str) -> str:
    if key in _CONFIRM_KEYS and value in _YES:
        return key
    if set(key.split()) & _PATH_WORDS and "after" not in key:
        return key
    if set(key.split()) & _VERB_KEYS:
        return next((word for word in value.split() if word in _PATH_WORDS or word in _PATH_SEGMENTS), "")
    return ""


def is_asset(url: str, resource_type: str) -> bool:
    """Whether a page merely loads a file ("/icons/delete.svg"): named as one, asked for as one, without a query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return resource_type in _ASSET_TYPES and not parts.query and bool(_ASSET.search(parts.path.lower()))
