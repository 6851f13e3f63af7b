"""The parameters of a verb that its audit row contains: addresses without secret parts, names of secrets, approvals."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from node.verbs.caller import current_caller
from protocol.errors import MeshError
from protocol.page.seen.web_address import require_plain


def where(url: str) -> str:
    """Scheme, host and path of an address. The query may contain tokens and the user part a password, so both are dropped."""
    try:
        require_plain(url)
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.netloc.lower()}{parts.path}"
    except (MeshError, ValueError):
        return "an address that cannot be read"


def peers(named: list[str] | None) -> str:
    """The peers that the caller of a search requests: their names, ``all`` or ``none``."""
    if named:
        return ", ".join(named)
    return "none" if named is not None or current_caller().alone else "all"


def allowed(entries: tuple[str, ...]) -> str:
    """Requests allowed for one run, each as method and address."""
    return ", ".join(
        f"{method} {where(glob.strip())}" for method, _, glob in (entry.partition(" ") for entry in entries)
    )


def driven(given: Any) -> dict[str, str]:
    """Approvals of a browser run, and the names of its secrets."""
    return {"allow": allowed(given.allow), "secrets": ", ".join(sorted(given.secrets))}


def with_login(given: Any) -> dict[str, str]:
    """The capsule that the caller names, if any. Using it writes an audit row of its own."""
    return {"capsule": given.capsule} if given.capsule else {}


def approved(given: Any) -> int:
    """The risk class approved for one run."""
    return max(0, min(7, int(given.approve_class)))
