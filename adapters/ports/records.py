"""What the store keeps: one record for each kind of row."""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.limits import MIB
from protocol.messages import Spend
from protocol.trust.grants import Grants


class PeerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A peer: whom we trust, for what, and where it listens."""

    node: str
    name: str
    public_key: bytes
    """The current one; the identity is ``node``."""
    addresses: tuple[str, ...]
    """``https://host:port``, best first; empty when it only connects to us."""
    grants: Grants
    """What it may do here."""
    granted_us: Grants = {}
    """What it said last that we may do there; it decides."""
    paired_ms: int
    seen_ms: int = 0
    key_log: bytes = b""
    """Its key log, encoded, with the proof of a contradiction if there is one; empty if it never showed one."""
    distrusted_ms: int = 0
    """When this node's owner distrusted it, milliseconds since 1970; 0 for a peer that is trusted."""
    distrust_reason: str = ""
    """In the owner's words."""
    parting: bool = False
    """It may act no longer, and what this node had to do with it is still being ended."""


class InviteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An open invite. The token itself is not stored."""

    token_hash: bytes
    expires_s: int
    grants: Grants
    failures: int = 0


class ArtefactRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A signed artefact that was made or received here."""

    digest: bytes
    """SHA-256 of ``envelope``."""
    kind: str
    subject: str
    """Id of what it is about: a session, a search, a lease."""
    issuer: str
    issued_s: int
    envelope: bytes


class SearchRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A search this node takes part in."""

    id: str
    coordinator: str
    status: str
    """``running``, ``done``, ``failed``, ``stopped``; ``declined``: the owner of this node takes no part in it any more."""
    created_ms: int
    updated_ms: int
    spec: bytes
    """The encoded ``protocol.messages.SearchSpec``."""
    state: bytes
    """What its owner keeps about it, encoded; opaque to the store."""
    caller: str = ""
    """Who had it started here, ``str`` of a ``node.verbs.Caller``; empty if that was not written down."""


class DeltaRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One signed delta as it was received or made."""

    search: str
    peer: str
    epoch: int
    seq: int
    envelope: bytes


class LeaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A lease, as seen by the coordinator or by the worker."""

    id: str
    search: str
    branch: bytes
    worker: str
    status: str
    """``live``, ``done``, ``expired``, ``revoked``."""
    expires_ms: int
    assignment: bytes
    """The signed assignment envelope; empty for the coordinator's own work."""
    result: bytes = b""
    """The signed result envelope, once there is one."""
    spend: Spend = Spend()
    """What its worker last said that it has cost."""
    caller: str = ""
    """Who asked for the work: at the coordinator, who runs the search; at a worker, the coordinator. Never sent to anybody."""


class AgentRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An agent: a program that the owner made a token for. The token itself is not stored."""

    name: str
    token_hash: bytes
    """SHA-256 of the token."""
    scopes: tuple[str, ...]
    origins: tuple[str, ...]
    """Patterns of the only origins its browser runs may contact; empty for all that the configuration allows."""
    created_ms: int
    expires_ms: int
    calls_max: int
    """How many calls it may make; 0 for any number."""
    browser_ms_max: int
    """How long it may use a browser, all runs together; 0 for any time."""
    calls: int = 0
    """How many it has made."""
    browser_ms: int = 0
    """How long it has used a browser. What a run has not used of the time it took in advance is given back at its end."""


PAGE_ROWS: Final = 1_000
"""Rows of a page of a list; whoever wants all of a list walks it (``node/base/paging.py``)."""


PAGE_BYTES: Final = 8 * MIB
"""Bytes of a page of deltas."""


class LiveRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A live session: whose it is, how long it may go on, and how it ended. Nothing of what was seen or done in it."""

    id: str
    caller: str
    """Who opened it: ``owner``, ``agent:NAME``."""
    opened_ms: int
    ttl_s: int
    idle_s: int
    actions_max: int
    pages_max: int
    sessions: tuple[str, ...] = ()
    """Ids of the sessions that are recorded of it, one for each page that was used."""
    actions: int = 0
    """How many were tried; counted when it ends."""
    ended_ms: int = 0
    """0 while it is open."""
    reason: str = ""
    """Why it ended."""
