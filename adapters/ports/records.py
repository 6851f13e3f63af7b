"""The records of the store: one for each kind of row."""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.kinds import AuthorText, Plain
from protocol.limits import MIB
from protocol.messages import Spend
from protocol.trust.grants import Grants


class PeerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A peer: its key, its grants, and where it listens."""

    node: Plain
    name: Plain
    public_key: bytes
    """Its current key; ``node`` is its identity."""
    addresses: tuple[Plain, ...]
    """``https://host:port``, best first; empty when it only connects to us."""
    grants: Grants
    """Its grants at this node."""
    granted_us: Grants = {}
    """Our grants at the peer, as it last reported them; the peer decides."""
    paired_ms: int
    seen_ms: int = 0
    key_log: bytes = b""
    """Its encoded key log, with the proof of a fork if there is one; empty if it never showed a key log."""
    distrusted_ms: int = 0
    """When this node's owner distrusted it, milliseconds since 1970; 0 for a peer that is trusted."""
    distrust_reason: AuthorText = ""
    """The reason that the owner gave."""
    parting: bool = False
    """True if the peer may no longer act, but the clean-up is not finished yet."""


class ArtefactRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A signed artefact that was made or received here."""

    digest: bytes
    """SHA-256 of ``envelope``."""
    kind: Plain
    subject: Plain
    """Id of its subject: a session, a search, a lease."""
    issuer: Plain
    issued_s: int
    envelope: bytes


class SearchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A search this node takes part in."""

    id: Plain
    coordinator: Plain
    status: Plain
    """``running``, ``done``, ``failed``, ``stopped``; ``declined``: the owner of this node stopped it here."""
    created_ms: int
    updated_ms: int
    spec: bytes
    """The encoded ``protocol.messages.SearchSpec``."""
    state: bytes
    """Encoded progress, written by the explorer; opaque to the store."""
    caller: Plain = ""
    """Caller that started it here, as ``str`` of a ``node.verbs.Caller``; empty if not recorded."""


class DeltaRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One signed delta as it was received or made."""

    search: Plain
    peer: Plain
    epoch: int
    seq: int
    envelope: bytes


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A lease, as seen by the coordinator or by the worker."""

    id: Plain
    search: Plain
    branch: bytes
    worker: Plain
    status: Plain
    """``live``, ``done``, ``expired``, ``revoked``."""
    expires_ms: int
    assignment: bytes
    """The signed assignment envelope; empty for the coordinator's own work."""
    result: bytes = b""
    """The signed result envelope, once there is one."""
    spend: Spend = Spend()
    """The cost that its worker last reported."""
    caller: Plain = ""
    """Caller of the work. At the coordinator: the caller of the search. At a worker: the coordinator. Never sent to peers."""


class AgentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent: a program with a token that the owner made. The token itself is not stored."""

    name: Plain
    token_hash: bytes
    """SHA-256 of the token."""
    scopes: tuple[Plain, ...]
    origins: tuple[Plain, ...]
    """Patterns of the origins that its browser runs may contact; empty for all that the configuration allows."""
    created_ms: int
    expires_ms: int
    calls_max: int
    """How many calls it may make; 0 for no limit."""
    browser_ms_max: int
    """Total browser time of all its runs; 0 for no limit."""
    calls: int = 0
    """How many calls it has made."""
    capsules: tuple[tuple[Plain, tuple[Plain, ...]], ...] = ()
    """Ids of the capsules whose login it may begin with, each with the permitted kinds of work."""
    browser_ms: int = 0
    """Browser time used. A run takes time in advance and returns the rest at its end."""


PAGE_ROWS: Final = 1_000
"""Rows per page of a list; ``node/base/paging.py`` iterates over all pages."""


PAGE_BYTES: Final = 8 * MIB
"""Bytes per page of deltas."""
