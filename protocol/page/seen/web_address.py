"""Checks the addresses that a browser may open."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from protocol.errors import MeshError

_CORRECTED: Final = re.compile(r"[\x00-\x1f\x7f\\]|^ | $")
"""Characters that a browser reads differently from RFC 3986: it removes some, and reads a backslash as a slash."""


def require_plain(url: str) -> None:
    """Errors: ``browser.scheme`` unless everybody reads the same host in ``url``.

    A browser opens ``http://a.example\\@b.example/`` at a.example. A recording and the audit trail would name b.example, and a
    replay would go there. A user before the host deceives people in the same way, and its password would be recorded.
    """
    try:
        parts = urlsplit(url)
        plain = not _CORRECTED.search(url) and "@" not in parts.netloc
    except ValueError:
        plain = False
    if not plain:
        raise MeshError(
            "browser.scheme",
            "the address cannot be read: no backslash, control character, outer space or user belongs in it",
        )


def require_web(url: str) -> None:
    """Errors: ``browser.scheme`` unless ``url`` is an http(s) address with a host, and plain.

    ``file:`` and ``chrome:`` pass every proxy and resolver rule, so the scheme is checked before each navigation.
    """
    require_plain(url)
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise MeshError("browser.scheme", "the address cannot be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise MeshError("browser.scheme", scheme=parts.scheme)
