"""Scans the state of a login for weak or personal items. Findings hold kinds, hosts and names, and never a value."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec

from protocol import limits
from protocol.capsule.state import CapsuleState, Cookie
from protocol.page.secrets.personal import forget, personal_data
from protocol.page.secrets.token_looks import is_key, looks_generated

SCANNER: Final = 1
"""The version of the scanner. Two scans of the same state by the same version agree."""

Kind = Literal[
    "personal-data",
    "personal-claims",
    "token-without-expiry",
    "token-unsigned",
    "wide-domain",
    "no-host-prefix",
    "no-secure",
    "no-http-only",
    "no-same-site",
]
_TOKEN: Final = re.compile(  # each piece is read once, as in ``token_looks.WEB_TOKEN``
    r"(?<![\w-])((?:(?!eyJ)[\w-])*+)(eyJ[\w-]++)\.([\w-]++)\.[\w-]*"
)
_BEGINS: Final = "eyJ"
"""The beginning of each part of a token: ``{"`` in base64."""
_PERSONAL: Final = frozenset(
    {"email", "name", "given_name", "family_name", "middle_name", "nickname", "preferred_username", "upn"}
    | {"phone_number", "address", "birthdate", "gender", "picture"}
)
"""Claims of OpenID Connect that identify a person."""


class Weak(msgspec.Struct, frozen=True, kw_only=True):
    """A finding of the scan."""

    kind: Kind
    host: str
    name: str
    """Name of the cookie or entry."""


def scan(state: CapsuleState) -> tuple[Weak, ...]:
    """The weak or personal items in ``state``, cookies first, each once."""
    found: list[Weak] = []
    for cookie in state.cookies:
        host = cookie.domain.lstrip(".")
        kinds = (*_of_flags(cookie), *_of_value(cookie.value))
        found += [Weak(kind=kind, host=host, name=cookie.name) for kind in kinds]
    for stored in state.storage:
        for item in (*stored.local, *stored.session):
            host = urlsplit(stored.origin).hostname or stored.origin
            found += [Weak(kind=kind, host=host, name=item.name) for kind in _of_value(item.value)]
    forget()
    return tuple(dict.fromkeys(found))


def counted(found: tuple[Weak, ...]) -> tuple[tuple[str, str, int], ...]:
    """The number of findings by kind and host, sorted. It leaves out names, because a name can identify a person."""
    counts = Counter((each.kind, each.host) for each in found)
    return tuple((kind, host, count) for (kind, host), count in sorted(counts.items()))[
        : limits.ATTESTATION_FINDINGS_MAX
    ]


def _of_flags(cookie: Cookie) -> Iterator[Kind]:
    if cookie.domain.startswith("."):
        yield "wide-domain"
    if not cookie.secure:
        yield "no-secure"
    if not (cookie.http_only or looks_generated(cookie.value) or is_key(cookie.value)):
        return  # its content gives no access to the login
    if not cookie.name.startswith("__Host-"):
        yield "no-host-prefix"
    if not cookie.http_only:
        yield "no-http-only"
    if cookie.same_site not in ("strict", "lax"):
        yield "no-same-site"


def _of_value(value: str) -> Iterator[Kind]:
    text = unquote(value[: limits.CAPSULE_COOKIE_CHARS_MAX])
    # Most values hold no token, and a search for these letters is a hundred times as fast as one for a token.
    for match in _TOKEN.finditer(text) if _BEGINS in text else ():
        head, body = _json(match[2]), _json(match[3])
        if str(head.get("alg", "")).lower() == "none":
            yield "token-unsigned"
        if body and "exp" not in body:
            yield "token-without-expiry"
        if not _PERSONAL.isdisjoint(body):
            yield "personal-claims"
    if personal_data(_TOKEN.sub(r"\1 ", text) if _BEGINS in text else text):
        yield "personal-data"


def _json(part: str) -> dict[str, Any]:
    """The object in a part of a web token; empty if it is no such part."""
    try:
        said = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
