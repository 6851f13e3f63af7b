"""Checks which addresses a browser may be sent to."""

from __future__ import annotations

from urllib.parse import urlsplit

from protocol.errors import MeshError


def require_web(url: str) -> None:
    """Errors: ``browser.scheme`` unless ``url`` is an http(s) address with a host.

    ``file:`` and ``chrome:`` pass every proxy and resolver rule, so the scheme is checked before each navigation.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        raise MeshError("browser.scheme", "the address cannot be read") from None
    if parts.scheme not in ("http", "https") or not host:
        raise MeshError("browser.scheme", scheme=parts.scheme)
