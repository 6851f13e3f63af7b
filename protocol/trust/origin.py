"""Web origins, and patterns that name sets of them: ``*``, ``https://shop.example``, ``https://*.shop.example:8443``.

An origin is scheme, host and port in one form: lower case, without the port that is usual, an IPv6 address compressed. A
pattern ``https://*.shop.example`` names every origin below that domain, at any depth, and not the domain itself; scheme and
port are those of the pattern. Addresses are parsed more strictly here than in a browser. An address that a browser would
correct (users, backslashes, white space, numbers as hosts) has no origin, so only ``*`` matches it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from protocol import limits
from protocol.errors import MeshError
from protocol.wire.address import NUMERIC_END

ANY: Final = "*"
"""The pattern of every origin, and of addresses that have none."""
_HEAD = re.compile(
    r"(https?)://(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?))(?::([1-9][0-9]{0,4}))?(?=[/?#]|\Z)",
    re.ASCII | re.IGNORECASE,
)
_USUAL_PORT: Final = {"http": 80, "https": 443}
_WILD: Final = "://*."


def origin_of(url: str) -> str:
    """The origin of an address; empty if it has none in the strict reading of this module."""
    match = _HEAD.match(url)
    if match is None:
        return ""
    scheme, v6, name = (part and part.lower() for part in match.group(1, 2, 3))
    port = int(match[4] or _USUAL_PORT[scheme])
    if port > 65_535 or (name and ".." in name):
        return ""
    try:
        if v6:
            name = f"[{ipaddress.IPv6Address(v6).compressed}]"
        # Browsers read hosts such as `0x7f.1` as IPv4 addresses; only the plain dotted form is accepted here.
        elif NUMERIC_END.search(name):
            ipaddress.IPv4Address(name)
    except ValueError:
        return ""
    return f"{scheme}://{name}" if port == _USUAL_PORT[scheme] else f"{scheme}://{name}:{port}"


def parse_pattern(text: str) -> str:
    """``text`` as a pattern in its one form. Errors: ``input.invalid``."""
    wild = _WILD in text
    plain = text.replace(_WILD, "://")
    origin = origin_of(plain)
    if text == ANY:
        return ANY
    host = origin.partition("://")[2].partition(":")[0]
    named = origin and len(text) <= limits.ORIGIN_CHARS_MAX and _HEAD.sub("", plain, count=1) in ("", "/")
    if not named or (wild and (host.startswith("[") or NUMERIC_END.search(host))):
        raise MeshError(
            "input.invalid",
            f"{text[:80]!r} names no origins: give https://host, https://host:port, https://*.domain or *",
        )
    return origin.replace("://", _WILD) if wild else origin


def fits(patterns: Iterable[str], origin: str) -> bool:
    """True if one of ``patterns`` names ``origin``, or, if ``origin`` is a pattern, includes it."""
    return any(_includes(pattern, origin) for pattern in patterns)


def _includes(pattern: str, origin: str) -> bool:
    if pattern in (ANY, origin):
        return bool(origin) or pattern == ANY
    scheme, wild, domain = pattern.partition(_WILD)
    return bool(wild) and origin.startswith(f"{scheme}://") and origin.endswith(f".{domain}")


def widest(patterns: Iterable[str]) -> tuple[str, ...]:
    """``patterns``, sorted, without patterns that another one includes."""
    named = set(patterns)
    return tuple(sorted(each for each in named if not fits(named - {each}, each)))


def common(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """Sorted patterns of the origins that both name; empty if there are none."""
    first, second = tuple(one), tuple(other)
    return widest([*(each for each in first if fits(second, each)), *(each for each in second if fits(first, each))])
