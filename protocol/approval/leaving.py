"""The fates of a request that waits for a yes, and the digest that tells it from every other one."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final, Literal

from protocol.approval.forms import fields_of, media_type
from protocol.wire import cbor

Fate = Literal["held", "sent", "refused", "withdrawn", "unknown"]
"""``held``: it waits. ``sent``: once, after a yes. ``refused``: it never left. ``withdrawn``: the page gave it up. ``unknown``: it
was let go, and nobody knows if it arrived."""

CHOOSING_HEADERS: Final = frozenset(
    {
        "content-type",
        "next-action",
        "soapaction",
        "x-amz-target",
        "x-http-method",
        "x-http-method-override",
        "x-method",
        "x-method-override",
        "x-october-request-handler",
        "x-original-method",
        "x-rewrite-method",
        "x-winter-request-handler",
    }
)
"""Headers that choose what a site does."""
_NONCES: Final = frozenset(
    {
        "__requestverificationtoken",
        "_csrf",
        "_csrf_token",
        "_csrftoken",
        "_token",
        "_wpnonce",
        "anticsrf",
        "authenticity_token",
        "csrf",
        "csrf-token",
        "csrf_token",
        "csrfmiddlewaretoken",
        "csrftoken",
        "form_build_id",
        "form_token",
        "nonce",
        "sectok",
        "xsrf",
        "xsrf-token",
        "xsrf_token",
    }
)
"""Names of fields that hold a token against forgery: another one at each load, and none of them says what is done."""
_TOKEN: Final = re.compile(r"(?=.*\d)[\w+/=.:~-]{8,}", re.ASCII)
"""Such a token. Anything else in a field of that name may be an order."""
_DOMAIN: Final = b"trailmesh-request-v1\x00"


def request_exact(method: str, url: str, headers: Mapping[str, str], body: str) -> bytes:
    """SHA-256 over one request: method, whole address, headers that choose, and the body without tokens against forgery."""
    lower = {name.lower(): value for name, value in headers.items()}
    kind = media_type(lower.get("content-type", ""))
    chosen = sorted((name, kind if name == "content-type" else lower[name]) for name in CHOOSING_HEADERS & lower.keys())
    facts = [
        method.upper(),
        url.partition("#")[0],
        [list(each) for each in chosen],
        _without_nonces(lower.get("content-type", ""), body),
    ]
    return hashlib.sha256(_DOMAIN + cbor.encode(facts)).digest()


def _without_nonces(content_type: str, body: str) -> list[str]:
    """The content of a body, as digests. Only a form is read: whoever writes another kind may mean something by any byte of it."""
    try:
        pairs = fields_of(content_type, body)
    except ValueError:
        pairs = None
    if not body or pairs is None:
        return [_digest(body)]
    known = [(name, "" if name.lower() in _NONCES and _TOKEN.fullmatch(value) else value) for name, value in pairs]
    return [_digest(repr(known)), "fields"]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
