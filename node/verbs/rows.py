"""What audit rows contain of a verb's parameters: addresses without their secret parts, names of secrets, approvals."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit


def where(url: str) -> str:
    """Scheme, host and path of an address. The query may contain tokens and the user part a password, so both are dropped."""
    try:
        parts = urlsplit(url)
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return ""


def allowed(entries: tuple[str, ...]) -> str:
    """Requests allowed for one run, each as method and address."""
    return ", ".join(
        f"{method} {where(glob.strip())}" for method, _, glob in (entry.partition(" ") for entry in entries)
    )


def driven(given: Any) -> dict[str, str]:
    """Approvals of a browser run and the names of its secrets."""
    return {"allow": allowed(given.allow), "secrets": ", ".join(sorted(given.secrets))}


def approved(given: Any) -> int:
    """The risk class approved for one run."""
    return max(0, min(7, int(given.approve_class)))
