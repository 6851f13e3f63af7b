# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``node.*`` (docs/verbs.md)."""

from __future__ import annotations

import msgspec

from trailmesh.client.record import Record


class Status(Record, frozen=True, kw_only=True):
    """Identity of this node, its state, and its current work."""

    node: str

    short: str

    public_key: str

    name: str

    version: str

    home: str

    serving: bool

    address: str

    revoked_s: int | None
    """Time from which this node has revoked itself; None while it is active."""

    log: str
    """Origin of its witness log."""

    log_size: int

    log_rollback: bool
    """True if a peer holds a later state of the log than this node does."""

    peers_frozen: int

    peers_silent: int
    """Number of peers that do not show a current head of their log."""

    peers: int

    peers_distrusted: int

    notices: int

    sessions: int

    searches_running: int

    audit_rows: int

    refusals: RefusalCounts

    peer_disk: dict[str, int]
    """Stored bytes, by node id of the peer."""

    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of these peers, by node id."""


class Myself(Record, frozen=True, kw_only=True):
    """The caller, and the verbs that it may call."""

    caller: str
    """Name in the audit trail: `owner`, or `agent:` and the name of the agent."""

    scopes: tuple[str, ...]
    """Scopes of an agent; empty for the owner, who needs none."""

    origins: tuple[str, ...]
    """Origins that its browser runs may contact; empty for all origins that the configuration allows."""

    capsules: tuple[str, ...]
    """Ids of the capsules that an agent was granted, each with the kinds of work: `cap-…=live,record`."""

    verbs: tuple[str, ...]


class PeerList(Record, frozen=True, kw_only=True):
    """The peers of this node, distrusted ones last."""

    peers: tuple[Peer, ...]


class Metrics(Record, frozen=True, kw_only=True):
    """The metrics at one moment."""

    text: str
    """The metrics in the text format of Prometheus."""

    metrics: tuple[Measured, ...]


class Health(Record, frozen=True, kw_only=True):
    """All results; healthy if none is a fault."""

    healthy: bool

    checks: tuple[CheckResult, ...]


class NearbyList(Record, frozen=True, kw_only=True):
    """The nodes that announce themselves on the local network."""

    nodes: tuple[Nearby, ...]


class Knocked(Record, frozen=True, kw_only=True):
    """The answer of the other node."""

    refused: bool
    """True if it refused because it does not trust this node or grants it no scope."""

    code: str
    """Error code of its answer; empty if it complied."""

    message: str


class MadeBackup(Record, frozen=True, kw_only=True):
    """A backup that was written."""

    out: str

    bytes: int

    blobs: int
    """Number of stored files in it: snapshots, screenshots, manifests."""

    log: str
    """Origin of the witness log."""

    log_size: int
    """Size of the witness log when the copy began. A peer that has seen a larger log notices that the copy is
    older.
    """

    made_ms: int


class ChangedKey(Record, frozen=True, kw_only=True):
    """This node after a change of its key log."""

    node: str

    short: str

    public_key: str

    events: int
    """Number of events in its key log."""

    told: tuple[str, ...]
    """Names of the peers that have received the change."""

    not_told: tuple[str, ...]


class RecoveredKey(Record, frozen=True, kw_only=True):
    """This node after its recovery."""

    node: str

    short: str

    public_key: str

    events: int
    """Number of events in its key log."""

    told: tuple[str, ...]
    """Names of the peers that have received the change."""

    not_told: tuple[str, ...]

    recovery_file: str
    """File of the new recovery key; empty if the existing one was kept."""


class RevokedKey(Record, frozen=True, kw_only=True):
    """This node after it revoked itself."""

    node: str

    short: str

    public_key: str

    events: int
    """Number of events in its key log."""

    told: tuple[str, ...]
    """Names of the peers that have received the change."""

    not_told: tuple[str, ...]

    revoked_s: int | None


class AcceptedClock(Record, frozen=True, kw_only=True):
    """The accepted time, and its consequences."""

    from_ms: int
    """The latest time that had been seen."""

    to_ms: int
    """The present time."""

    capsules: tuple[str, ...]
    """Ids of the capsules that can be used again."""

    blocked: tuple[StillBlocked, ...]
    """Capsules that still cannot be used; capture them again."""

    answers: int
    """Number of answers to questions that have ended."""


class Invited(Record, frozen=True, kw_only=True):
    """A new invite."""

    invite: str
    """The invite. Anybody who has it can pair, once."""

    expires_s: int

    unasked: tuple[str, ...]
    """Granted scopes that no part of trailmesh uses yet."""


class MetNode(Record, frozen=True, kw_only=True):
    """The other side of a pairing, and its grants here before this pairing."""

    node: str

    short: str

    fingerprint: str
    """Six words that people can compare."""

    name: str
    """The name that the other node chose for itself; not verified."""

    addresses: tuple[str, ...]

    asks: dict[str, tuple[str, ...]]

    grants: dict[str, tuple[str, ...]]
    """Grants of the other node at this node."""

    granted_us: dict[str, tuple[str, ...]]
    """Grants of this node at the other node."""

    unasked: tuple[str, ...]
    """Scopes of `grants` that no part of trailmesh uses yet."""

    had: dict[str, tuple[str, ...]] | None
    """None if it was no peer before."""


class Met(Record, frozen=True, kw_only=True):
    """A pairing in progress. The two nodes trust each other when the people at both have confirmed."""

    meeting: str
    """Id of this pairing, for `node.pair_confirm`."""

    digits: str
    """Seven digits for the two people to compare."""

    pinned: bool
    """True if a given fingerprint has already identified the other node."""

    other: MetNode


class OtherNode(Record, frozen=True, kw_only=True):
    """The other side of a pairing: its identity, its requested scopes, and the grants in both directions."""

    node: str

    short: str

    fingerprint: str
    """Six words that people can compare."""

    name: str
    """The name that the other node chose for itself; not verified."""

    addresses: tuple[str, ...]

    asks: dict[str, tuple[str, ...]]

    grants: dict[str, tuple[str, ...]]
    """Grants of the other node at this node."""

    granted_us: dict[str, tuple[str, ...]]
    """Grants of this node at the other node."""

    unasked: tuple[str, ...]
    """Scopes of `grants` that no part of trailmesh uses yet."""


class Regranted(Record, frozen=True, kw_only=True):
    """A peer whose grants were changed."""

    node: str

    name: str

    before: dict[str, tuple[str, ...]]

    after: dict[str, tuple[str, ...]]

    ended: tuple[str, ...]
    """Searches and leases that ended because the grants no longer cover them."""

    told: bool
    """True if the peer could be reached."""

    unasked: tuple[str, ...] = ()
    """Granted scopes that no part of trailmesh uses yet."""


class Distrusted(Record, frozen=True, kw_only=True):
    """Result of distrusting a peer."""

    node: str

    name: str

    since_ms: int

    reason: str

    searches: int
    """Number of searches it was removed from."""

    notify: bool
    """True if a notice was requested."""

    told: tuple[str, ...]
    """Names of the peers that accepted the notice."""

    not_told: tuple[str, ...]


class Trusted(Record, frozen=True, kw_only=True):
    """A peer that is trusted again."""

    node: str

    name: str

    grants: dict[str, tuple[str, ...]]

    notify: bool

    told: tuple[str, ...]

    not_told: tuple[str, ...]


class NoticeList(Record, frozen=True, kw_only=True):
    """The notices in force."""

    received: tuple[ShownNotice, ...]
    """Notices from peers."""

    given: tuple[ShownNotice, ...]
    """Notices from this node."""


class RefusalCounts(Record, frozen=True, kw_only=True):
    """Counts of refused requests; they are kept across restarts."""

    since_ms: int
    """Start of the counting."""

    total: int

    by_code: dict[str, int]

    by_place: dict[str, int]

    by_peer: dict[str, dict[str, int]]
    """By node id or `agent:NAME`, then by error code."""


class Peer(Record, frozen=True, kw_only=True):
    """A peer, as this node knows it."""

    node: str

    name: str

    addresses: tuple[str, ...]

    grants: dict[str, tuple[str, ...]]
    """Grants of the peer at this node."""

    granted_us: dict[str, tuple[str, ...]]
    """Grants of this node at the peer, as the peer last reported them."""

    paired_ms: int

    seen_ms: int

    standing: str
    """Error code that says why it is not relied on; empty if it is."""

    distrusted_ms: int

    distrust_reason: str

    notices: tuple[ShownNotice, ...]
    """Notices of distrust about this peer, received from other peers."""

    reach: PeerConnections

    log: PeerLog


class Measured(Record, frozen=True, kw_only=True):
    """One metric with its values; the fields are named as in Prometheus."""

    name: str

    type: str

    help: str

    samples: tuple[Sample, ...]


class CheckResult(Record, frozen=True, kw_only=True):
    """The result of one check."""

    name: str

    status: str

    finding: str

    remedy: str = ""


class Nearby(Record, frozen=True, kw_only=True):
    """A node that announces itself on the local network. The announcement is not authenticated."""

    short: str

    addresses: tuple[str, ...]

    standing: str
    """Standing of the node here: peer, unknown and so on."""

    next: str
    """The suggested next step."""


class StillBlocked(Record, frozen=True, kw_only=True):
    """A capsule that still cannot be used."""

    id: str

    why: str


class ShownNotice(Record, frozen=True, kw_only=True):
    """A notice, for display."""

    about: str
    """Id of the node that the notice is about."""

    about_name: str
    """Name of that node; empty if this node does not know it."""

    by: str

    by_name: str

    since_ms: int

    reason: str


class PeerConnections(Record, frozen=True, kw_only=True):
    """Facts about the connections between this node and a peer."""

    way: str
    """How the peer was last reached: an address, `held` (a connection that the peer keeps open), or empty."""

    holds: bool
    """True if the peer keeps a connection open to this node."""

    held: Hold | None

    error: str
    """Code of the last failure; empty after a success."""

    message: str

    clock_apart_ms: int | None
    """Milliseconds by which the peer's clock is ahead of this node's clock."""


class PeerLog(Record, frozen=True, kw_only=True):
    """The peer's standing according to its witness log."""

    number: int | None
    """Number of the stored log; None if there is none."""

    size: int

    shown: str
    """`current`, `silent`, `behind`, `unproven`, `contradicting`; empty before the first sync."""

    since_ms: int
    """Start of this standing."""

    current_ms: int
    """Time at which it last showed a current head; 0 for never."""

    renewed_ms: int
    """Time at which it last opened a new log; 0 for never."""

    restored: bool
    """True if the peer declared then that entries were lost."""

    trouble: str
    """Description of the fault; empty if there is none."""


class Sample(Record, frozen=True, kw_only=True):
    """One value of a metric."""

    name: str

    labels: dict[str, str]

    value: float


class Hold(Record, frozen=True, kw_only=True):
    """A connection to a peer that this node keeps open or tries to open."""

    state: str

    since_ms: int

    failures: int = 0
    """Consecutive failures."""

    error: str = ""
    """Code of the last failure."""

    message: str = ""

    next_try_ms: int = 0
    """Time of the next attempt, while `waiting`."""
