"""A request for a page and its answer, without sockets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

_POLICY: Final = (
    "default-src 'none'",
    "style-src 'self'",
    "script-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=(), clipboard-read=()",
    "Cache-Control": "no-store",
}
"""Headers of every answer. Nothing is cached on disk, because pictures show pages behind logins."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page."""

    path: tuple[str, ...]
    """The decoded parts of its address below the root, without empty ones."""
    query: Mapping[str, str] = {}
    root: str = "/"
    """The path under which all pages are, with a slash at its end."""


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """The answer."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
