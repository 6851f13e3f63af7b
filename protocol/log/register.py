"""The register of a witness log: a running hash over those of its entries that have a consequence on the node that keeps it.

The tree of a log holds digests only. The register also covers the kind and the subject of an entry. It is signed at each append and
stays on the node, because only the node can tell the consequences of an entry.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec

from protocol import limits
from protocol.approval.approval import KIND_APPROVAL, KIND_APPROVAL_USE
from protocol.approval.owners import KIND_OWNERS
from protocol.capsule.artefacts import KIND_REVOCATION, KIND_USE
from protocol.kinds import Plain
from protocol.wire import cbor

KIND_REGISTER: Final = "log-register"
KEPT: Final = frozenset({KIND_OWNERS, KIND_APPROVAL, KIND_APPROVAL_USE, KIND_REVOCATION})
"""Kinds whose artefacts stay in the store."""
KINDS: Final = KEPT | {KIND_USE}
"""Kinds of which a missing entry would permit something: keys of owners, answers and their uses, uses and revocations of capsules.
"""


class Register(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The signed statement: an artefact of kind ``log-register`` that is in no log."""

    log: Annotated[Plain, msgspec.Meta(max_length=limits.NOTE_NAME_CHARS_MAX)]
    """Origin of the log."""
    size: Annotated[int, msgspec.Meta(ge=1, le=limits.LOG_SIZE_MAX)]
    head: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    """The running hash."""


def begun(log: str) -> bytes:
    """The running hash of a log without any entry."""
    return hashlib.sha256(cbor.encode([KIND_REGISTER, log])).digest()


def entered(head: bytes, index: int, digest: bytes, kind: str, subject: str) -> bytes:
    """``head`` after entry number ``index``. An entry of another kind does not change it."""
    return hashlib.sha256(head + cbor.encode([index, digest, kind, subject])).digest() if kind in KINDS else head
