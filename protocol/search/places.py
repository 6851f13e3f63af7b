"""Identifies pages in a search, and recognises what a press opened on one."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from protocol.page.seen.observation import Observation

_QUERY_CHARS_MAX: Final = 16_384
_SHORT_NUMBER: Final = re.compile(r"[0-9]{1,6}")
"""The number of a list page or a record. A longer number is mostly a time or a checksum, which differs at each visit."""
_OPENED: Final = frozenset(
    {"alertdialog", "dialog", "listbox", "menu", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "tooltip"}
)


def place_of(page: Observation) -> bytes:
    """The identity of a page in a search (16 bytes): its state, the path of its address, and short numbers of its query.

    The state leaves numbers out, as two visits of one page may differ in them. Here they distinguish pages and records of a
    list.
    """
    try:
        parts = urlsplit(page.url)
    except ValueError:
        return page.state
    pairs = parse_qsl(parts.query[:_QUERY_CHARS_MAX], keep_blank_values=True)
    numbers = sorted(f"{key}={value}" for key, value in pairs if _SHORT_NUMBER.fullmatch(value))
    said = "\0".join((parts.path, *numbers)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(page.state + said).digest()[:16]


def has_opened(before: Observation, after: Observation) -> bool:
    """True if ``after`` shows a menu, a dialog or the like that ``before``, the same document, did not.

    Detected by a role, by an expanded control, or by controls added to the existing ones: many menus have no role.
    """
    if _open_parts(after) - _open_parts(before):
        return True
    had, has = _controls(before), _controls(after)
    return not had - has and bool(has - had)


def _open_parts(page: Observation) -> Counter[str]:
    parts = Counter(item.role for item in page.elements if item.role in _OPENED)
    parts["expanded"] = sum("expanded" in item.states for item in page.elements)
    return parts


def _controls(page: Observation) -> Counter[tuple[str, str, str]]:
    return Counter((item.role, item.name, item.frame) for item in page.elements if item.interactive)
