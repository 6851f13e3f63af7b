"""Verbs for the node as a whole: status, peers, metrics, health checks, discovery."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.nodes.distrust import ShownNotice
from node.verbs.shown import shown
from node.verbs.verb import ANY_SCOPE, OWNER_AND_AGENTS, OWNER_ONLY, PAGE, AuditedPart, Params, Verb, argument, option
from protocol import limits
from protocol.trust.grants import Grants, in_words

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

    node: Annotated[str, shown("node")]
    short: str
    public_key: Annotated[str, shown("key")]
    name: Annotated[str, shown("name")]
    version: Annotated[str, shown("version")]
    home: Annotated[str, shown("home")]
    serving: Annotated[bool, shown("serving", empty="no")]
    address: Annotated[str, shown("address", into="serving", words=", {}")]
    revoked_s: Annotated[int | None, shown("revoked", as_="time", unit="s")]
    """Time from which this node has revoked itself; None while it is active."""
    log: Annotated[str, shown("log")]
    """Origin of its witness log."""
    log_size: Annotated[int, shown("entries", unit="entry/entries", into="log", words=", {}")]
    log_rollback: Annotated[bool, shown("rolled back", words="a peer holds a later state of the log")]
    """True if a peer holds a later state of the log than this node does."""
    peers_frozen: Annotated[int, shown("frozen", into="peers", words=", {} frozen")]
    peers_silent: Annotated[int, shown("silent", into="peers", words=", {} silent")]
    """Number of peers that do not show a current head of their log."""
    peers: Annotated[int, shown("peers")]
    peers_distrusted: Annotated[int, shown("distrusted", into="peers", words=", {} distrusted")]
    notices: Annotated[int, shown("notices", into="peers", words=", {} notices")]
    sessions: Annotated[int, shown("sessions")]
    searches_running: Annotated[int, shown("searches running")]
    audit_rows: Annotated[int, shown("audit trail", unit="row")]
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

    node: Annotated[str, shown("id", as_="node", column=True)]
    name: Annotated[str, shown("name", column=True)]
    addresses: Annotated[tuple[str, ...], shown("addresses", column=True)]
    grants: Annotated[Grants, shown("may here", said=in_words, column=True)]
    """Grants of the peer at this node."""
    granted_us: Annotated[Grants, shown("we may there", said=in_words, column=True)]
    """Grants of this node at the peer, as the peer last reported them."""
    paired_ms: Annotated[int, shown("paired", as_="time", unit="ms")]
    seen_ms: Annotated[int, shown("seen", as_="time", unit="ms", column=True)]
    standing: Annotated[str, shown("standing", column=True, empty="relied on")]
    """Error code that says why it is not relied on; empty if it is."""
    distrusted_ms: Annotated[int, shown("distrusted", as_="time", unit="ms")]
    distrust_reason: Annotated[str, shown("distrusted because", below=True)]
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

    peers: Annotated[list[Peer], shown("peers", empty="no peers yet: `trailmesh node invite`")]


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

    name: Annotated[str, shown("check", column=True)]
    status: Annotated[Literal["ok", "warn", "fault"], shown("status", column=True)]
    finding: Annotated[str, shown("finding", as_="prose", column=True)]
    remedy: Annotated[str, shown("remedy", as_="prose", column=True)] = ""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """All results; healthy if none is a fault."""

    healthy: Annotated[bool, shown("healthy", empty="no")]
    checks: Annotated[tuple[CheckResult, ...], shown("checks")]


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
    callers=OWNER_AND_AGENTS | PAGE,
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
    callers=OWNER_AND_AGENTS | PAGE,
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
    callers=OWNER_ONLY | PAGE,  # it starts a browser and calls every peer
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
