"""Storage keys, by which Chromium partitions the storage of a frame by the top site. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from protocol.trust.origin import origin_of

_SITE_ON_TOP = "/^0"


def site_on_top(origin: str, key: str) -> str:
    """The top site in ``key``, a storage key of ``origin``, such as ``https://shop.example``.

    It is empty for a key of another origin or of another form: a frame of the same site below one of another, or a frame without an
    origin. No document with such a key can be made here.
    """
    begins = f"{origin}{_SITE_ON_TOP}"
    site = key[len(begins) :]
    if not origin or not key.startswith(begins) or origin_of(site) != site:
        return ""
    # A site has no port.
    return site if urlsplit(site).port is None else ""
