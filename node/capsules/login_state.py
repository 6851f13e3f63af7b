"""Between the state of a capsule and that of a browser context: what a browser gives is kept, and what is kept is given back."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

import msgspec

from adapters.ports import BrowserState
from node.capsules.reading import read_stored
from protocol.capsule.state import CapsuleState, Cookie

_SAME_SITE: Final = {"": "Lax", "strict": "Strict", "lax": "Lax", "none": "None"}


def from_browser(state: BrowserState) -> CapsuleState:
    """What a browser holds. Errors: ``input.invalid``, which quotes nothing of it."""
    return read_stored(state.storage)


def for_browser(state: CapsuleState) -> BrowserState:
    """Cookies and local storage of ``state``, for a fresh context. Errors: ``input.too_large``."""
    origins = [
        {"origin": each.origin, "localStorage": [{"name": item.name, "value": item.value} for item in each.local]}
        for each in state.storage
        if each.local and not each.key
    ]
    return BrowserState(storage=json.dumps({"cookies": list(map(_cookie, state.cookies)), "origins": origins}).encode())


def _cookie(cookie: Cookie) -> dict[str, Any]:
    made = {
        "name": cookie.name,
        "value": cookie.value,
        "domain": cookie.domain,
        "path": cookie.path,
        "expires": cookie.expires_s or -1,
        "httpOnly": cookie.http_only,
        "secure": cookie.secure,
        "sameSite": _SAME_SITE[cookie.same_site],
    }
    if cookie.partition:
        made |= {"partitionKey": cookie.partition, "_crHasCrossSiteAncestor": cookie.cross_site}
    return made


def digests(state: CapsuleState) -> frozenset[tuple[str, ...]]:
    """Each cookie and entry of storage by name, with a digest of its value: enough to tell what is new."""
    cookies = {("cookie", each.domain, each.path, each.name, _digest(each.value)) for each in state.cookies}
    entries = {
        (kind, each.origin, item.name, _digest(item.value))
        for each in state.storage
        for kind, items in (("local", each.local), ("session", each.session))
        for item in items
    }
    bases = {
        ("database", each.origin, base.name, _digest(msgspec.json.encode(base).decode()))
        for each in state.storage
        for base in each.databases
    }
    return frozenset(cookies | entries | bases)


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
