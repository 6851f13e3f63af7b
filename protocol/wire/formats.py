"""Every format that travels or is kept signed: the version this program writes, and the oldest that it reads.

A reader learns the version before it decodes anything else: of an envelope from its content type, of a file from its head. So a
record of another version is refused as that, and not as a damaged one. The rules: docs/protocol/versioning.md.

Who changes a record raises the version of its format here, once between two releases, and runs ``make forms``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from protocol.errors import MeshError


class Format(NamedTuple):
    """Versions of one format."""

    version: int = 1
    """The one that is written."""
    oldest: int = 1
    """The oldest that is read: what later versions added is empty in it."""


FORMATS: Final[Mapping[str, Format]] = {
    # The peer protocol: messages, frames, and every artefact that they carry.
    "protocol": Format(2, oldest=2),
    # Artefacts, by the kind of their envelope.
    "approval": Format(2),
    "approval-use": Format(),
    "assignment": Format(2),
    "audit-head": Format(),
    "capsule": Format(2),
    "capsule-consent": Format(),
    "capsule-contents": Format(),
    "capsule-revocation": Format(),
    "capsule-use": Format(),
    "clock-acceptance": Format(),
    "cookie-attestation": Format(),
    "delta": Format(2),
    "distrust-notice": Format(),
    "key-accept": Format(),
    "key-event": Format(),
    "log-opening": Format(2),
    "log-register": Format(),
    "owner-change": Format(),
    "owners": Format(),
    "replay-report": Format(2),
    "result": Format(2),
    "sealing-key": Format(),
    "search": Format(2),
    "session": Format(),
    "work-verdict": Format(),
    # Files and texts.
    "backup": Format(),
    "bundle": Format(2),
    "capsule-file": Format(),
    "invite": Format(),
    "key-log": Format(),
    "log-equivocation": Format(),
    "log-inclusion": Format(),
    "trust-key": Format(),
}

_MARKED: Final = re.compile(r"([a-z-]+)\.([1-9][0-9]{0,5})", re.ASCII)


def version_of(name: str) -> int:
    """The version of ``name`` that is written; 1 for a kind that is no format of its own, such as ``message``."""
    return FORMATS.get(name, Format()).version


def check_version(name: str, version: int) -> None:
    """Check that this program reads ``version`` of the format. Errors: ``format.newer``, ``format.older``."""
    known = FORMATS.get(name, Format())
    if version > known.version:
        code, told = "format.newer", f"this trailmesh knows versions up to {known.version}"
    elif version < known.oldest:
        code, told = "format.older", f"this trailmesh reads versions from {known.oldest}"
    else:
        return
    raise MeshError(code, f"{name} of version {version}: {told}", format=name, version=version)


def check_field(name: str, value: Any) -> None:
    """Check the field ``version`` of a decoded map, before its other fields. Errors: ``format.*``, ``message.invalid``."""
    version = value.get("version") if isinstance(value, dict) else None
    if type(version) is not int or version < 1:
        raise MeshError("message.invalid", "it does not say which version it is of")
    check_version(name, version)


def mark(kind: str) -> str:
    """How the content type of an envelope names ``kind`` and its version: version 1 has no number."""
    version = version_of(kind)
    return kind if version == 1 else f"{kind}.{version}"


def read_mark(text: str) -> tuple[str, int]:
    """Kind and version in what ``mark`` made. Any other text is a kind by itself, which nobody accepts."""
    found = _MARKED.fullmatch(text)
    if found is None or found[2] == "1":
        return text, 1
    return found[1], int(found[2])


def by_its_rules(name: str, version: int, error: MeshError) -> MeshError:
    """The error to report for ``error`` of a rule: an older version of the format may have had other rules."""
    if version >= version_of(name):
        return error
    return MeshError("format.older", f"{name} of version {version}: {error.message}", format=name, version=version)


def unless_version(error: MeshError, otherwise: MeshError) -> MeshError:
    """``error`` if it says which side is older, else ``otherwise``: who wraps errors of a reader must not hide that."""
    return error if error.code in ("format.newer", "format.older") else otherwise
