"""Which addresses a browser may be sent to."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from protocol.errors import MeshError

_CORRECTED: Final = re.compile(r"[\x00-\x1f\x7f\\]|^ | $")
"""What a browser reads differently than RFC 3986 does: it leaves characters out, and takes a backslash for a slash."""


def require_plain(url: str) -> None:
    """Errors: ``browser.scheme`` unless everybody reads the same host in ``url``.

    A browser opens ``http://a.example\\@b.example/`` at a.example. A recording and the audit trail would name b.example, and a
    replay would go there. Users before the host serve the same deception of people, and their passwords would be recorded.
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
