"""Storage keys: under which Chromium keeps the storage of a frame apart for the site on top. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from protocol.trust.origin import origin_of

_SITE_ON_TOP = "/^0"


def site_on_top(origin: str, key: str) -> str:
    """The site for which ``key`` keeps the storage of ``origin`` apart, such as ``https://shop.example``.

    Empty if it is no key of ``origin``, or one of another form: for a frame of the same site below one of another, or for a frame
    without an origin. No document can be made that has such a key.
    """
    begins = f"{origin}{_SITE_ON_TOP}"
    site = key[len(begins) :]
    if not origin or not key.startswith(begins) or origin_of(site) != site:
        return ""
    # A site has no port.
    return site if urlsplit(site).port is None else ""
