"""Reads the facts in the headers of a request that matter for its judgement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

_REPLACING: Final = frozenset(
    {
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
        "x-method",
        "x-original-method",
        "x-rewrite-method",
    }
)
"""Headers that, for some sites, override the method of a request."""
_COMMANDING: Final = frozenset(
    {"x-october-request-handler", "x-winter-request-handler", "next-action", "soapaction", "x-amz-target"}
)
"""Headers that select the operation of a POST, regardless of its address and body."""


class HeaderFacts(NamedTuple):
    """The facts in the headers of a request that matter for its judgement."""

    content_type: str
    announced: str
    """The method that a CORS preflight announces; empty for any other request. Scripts cannot set that header."""
    replaced_by: str
    """The method that a header substitutes for the real one."""
    commanded: bool
    """True if a header selects the operation."""


def choosing(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The headers that select the operation of a request, each ``name: value``."""
    lower = {name.lower(): value for name, value in headers.items()}
    return tuple(f"{name}: {value}" for name, value in lower.items() if name in _COMMANDING and value.strip())


def said(method: str, headers: Mapping[str, str]) -> HeaderFacts:
    """Reads the headers of a request."""
    lower = {name.lower(): value for name, value in headers.items()}
    announced = lower.get("access-control-request-method", "") if method.upper() == "OPTIONS" else ""
    replaced = ",".join(value for name, value in lower.items() if name in _REPLACING and value.strip())
    commanded = any(name in _COMMANDING and value.strip() for name, value in lower.items())
    return HeaderFacts(lower.get("content-type", ""), announced, replaced, commanded)
