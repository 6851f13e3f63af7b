"""Verbs for the node as a whole: status, peers, metrics, health checks, discovery."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.nodes.distrust import ShownNotice
from node.verbs.verb import ANY_SCOPE, OWNER_AND_AGENTS, OWNER_ONLY, AuditedPart, Params, Verb, argument, option
from protocol import limits
from protocol.trust.grants import Grants

# --- parameters ------------------------------------------------------------------------------------------------------


class KnockParams(Params, frozen=True, kw_only=True):
    """``node.knock``"""

    address: Annotated[str, argument("Address of the other node.", metavar="https://HOST:PORT")]
    public_key: Annotated[
        str, option("Public key of the other node (`node status --json` there shows it).", flag="--key", metavar="HEX")
    ]
    node: Annotated[
        str, option("Its node id (shown by the same command); required if it has changed its key.", metavar="ID")
    ] = ""


class DoctorParams(Params, frozen=True, kw_only=True):
    """``node.doctor``"""

    browser: Annotated[bool, option("Do not start a browser for the check.", flag="--no-browser")] = True


class DiscoverParams(Params, frozen=True, kw_only=True):
    """``node.discover``"""

    seconds: Annotated[int, option("How long to listen.", metavar="N", ge=1, le=limits.DISCOVERY_SECONDS_MAX)] = 3


# --- results ---------------------------------------------------------------------------------------------------------


class RefusalCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of refused requests; they are kept across restarts."""

    since_ms: int
    """Start of the counting."""
    total: int
    by_code: dict[str, int]
    by_place: dict[str, int]
    by_peer: dict[str, dict[str, int]]
    """By node id or ``agent:NAME``, then by error code."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
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


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """A connection to a peer that this node keeps open or tries to open."""

    state: Literal["connecting", "open", "waiting"]
    since_ms: int
    failures: int = 0
    """Consecutive failures."""
    error: str = ""
    """Code of the last failure."""
    message: str = ""
    next_try_ms: int = 0
    """Time of the next attempt, while ``waiting``."""


class PeerConnections(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about the connections between this node and a peer."""

    way: str
    """How the peer was last reached: an address, ``held`` (a connection that the peer keeps open), or empty."""
    holds: bool
    """True if the peer keeps a connection open to this node."""
    held: Hold | None
    error: str
    """Code of the last failure; empty after a success."""
    message: str
    clock_apart_ms: int | None
    """Milliseconds by which the peer's clock is ahead of this node's clock."""


class PeerLog(msgspec.Struct, frozen=True, kw_only=True):
    """The peer's standing according to its witness log."""

    number: int | None
    """Number of the stored log; None if there is none."""
    size: int
    shown: str
    """``current``, ``silent``, ``behind``, ``unproven``, ``contradicting``; empty before the first sync."""
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


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A peer, as this node knows it."""

    node: str
    name: str
    addresses: tuple[str, ...]
    grants: Grants
    """Grants of the peer at this node."""
    granted_us: Grants
    """Grants of this node at the peer, as the peer last reported them."""
    paired_ms: int
    seen_ms: int
    standing: str
    """Error code that says why it is not relied on; empty if it is."""
    distrusted_ms: int
    distrust_reason: str
    notices: list[ShownNotice]
    """Notices of distrust about this peer, received from other peers."""
    reach: PeerConnections
    log: PeerLog


class Myself(msgspec.Struct, frozen=True, kw_only=True):
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


class PeerList(msgspec.Struct, frozen=True, kw_only=True):
    """The peers of this node, distrusted ones last."""

    peers: list[Peer]


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a metric."""

    name: str
    labels: dict[str, str]
    value: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One metric with its values; the fields are named as in Prometheus."""

    name: str
    type: str
    help: str
    samples: list[Sample]


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics at one moment."""

    text: str
    """The metrics in the text format of Prometheus."""
    metrics: list[Measured]


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check."""

    name: str
    status: Literal["ok", "warn", "fault"]
    finding: str
    remedy: str = ""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """All results; healthy if none is a fault."""

    healthy: bool
    checks: tuple[CheckResult, ...]


class Nearby(msgspec.Struct, frozen=True, kw_only=True):
    """A node that announces itself on the local network. The announcement is not authenticated."""

    short: str
    addresses: tuple[str, ...]
    standing: str
    """Standing of the node here: peer, unknown and so on."""
    next: str
    """The suggested next step."""


class NearbyList(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes that announce themselves on the local network."""

    nodes: list[Nearby]


class Knocked(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of the other node."""

    refused: bool
    """True if it refused because it does not trust this node or grants it no scope."""
    code: str
    """Error code of its answer; empty if it complied."""
    message: str


# --- the verbs -------------------------------------------------------------------------------------------------------

STATUS: Final = Verb(
    name="node.status",
    command="node status",
    gives=Status,
    help="Show who this node is, whether it runs, and what it is doing.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
WHOAMI: Final = Verb(
    name="node.whoami",
    command="node whoami",
    gives=Myself,
    help="Show which caller this command acts as, and which verbs that caller may call.",
    callers=OWNER_AND_AGENTS,
    scope=ANY_SCOPE,
    read_only=True,
    row=None,
)
PEERS: Final = Verb(
    name="node.peers",
    command="node peers",
    gives=PeerList,
    help="List the peers of this node and their grants; distrusted peers come last.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
METRICS: Final = Verb(
    name="node.metrics",
    command="node metrics",
    gives=Metrics,
    help="""Print the node's metrics in the text format of Prometheus, or with --json as values.

    Metrics cover refusals by place, code and peer; peers, searches, queues, disk use of each peer, and the longest block of
    the event loop. With `metrics: {port: 9464}` in the configuration, a running node serves the same text at
    http://127.0.0.1:9464/metrics.
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
DOCTOR: Final = Verb(
    name="node.doctor",
    long=True,
    command="node doctor",
    takes=DoctorParams,
    gives=Health,
    help="""Check everything this node needs, and give a remedy for each fault.

    A witness key or store that cannot be opened counts as one fault; the checks that need neither are still made.
    """,
    callers=OWNER_ONLY,  # it starts a browser and calls every peer
    read_only=True,
    row=None,
)
DISCOVER: Final = Verb(
    name="node.discover",
    command="node discover",
    takes=DiscoverParams,
    gives=NearbyList,
    help="""List the nodes that announce themselves on the local network.

    An announcement is not authenticated, and being listed gives a node no trust: a node becomes a peer only by pairing. A
    node announces itself if its configuration has `discovery: {announce: true}`.
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
KNOCK: Final = Verb(
    name="node.knock",
    command="node knock",
    takes=KnockParams,
    gives=Knocked,
    help="""Send a signed delta to a node that is not a peer, and show how it refuses.

    This tests that a node rejects strangers. Exit code 0 if it refused because it does not trust this node or grants it no scope;
    exit code 1 if it accepted the message. Any other outcome proves neither and is an error with its own exit code (3 or
    4): nothing listens there, another program answers, or the node has another key than `--key`.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.public_key),
)

VERBS: Final[tuple[Verb, ...]] = (STATUS, WHOAMI, PEERS, METRICS, DOCTOR, DISCOVER, KNOCK)
