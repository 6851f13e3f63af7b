"""The verbs about the node as a whole: who it is, how it is, and who is around."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.distrust import ShownNotice
from node.verbs.verb import ANY_SCOPE, OWNER_AND_AGENTS, OWNER_ONLY, Params, Row, Verb, argument, option
from protocol import limits
from protocol.trust.grants import Grants

# --- what they take --------------------------------------------------------------------------------------------------


class KnockParams(Params, frozen=True, kw_only=True):
    """``node.knock``"""

    address: Annotated[str, argument("Where the other node is reached.", metavar="https://HOST:PORT")]
    public_key: Annotated[
        str, option("The other node's public key (`node status --json` there).", flag="--key", metavar="HEX")
    ]
    node: Annotated[str, option("Its node id (as there); needed once it has changed its key.", metavar="ID")] = ""


class DoctorParams(Params, frozen=True, kw_only=True):
    """``node.doctor``"""

    browser: Annotated[bool, option("Do not start a browser for the check.", flag="--no-browser")] = True


class DiscoverParams(Params, frozen=True, kw_only=True):
    """``node.discover``"""

    seconds: Annotated[int, option("How long to listen.", metavar="N", ge=1, le=limits.DISCOVERY_SECONDS_MAX)] = 3


# --- what they give --------------------------------------------------------------------------------------------------


class RefusalCounts(msgspec.Struct, frozen=True, kw_only=True):
    """How often something was refused; the counts go on over restarts."""

    since_ms: int
    """Since when it is counted."""
    total: int
    by_code: dict[str, int]
    by_place: dict[str, int]
    by_peer: dict[str, dict[str, int]]
    """By node id, then by code."""


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Who this node is, whether it runs, and what it is doing."""

    node: str
    short: str
    public_key: str
    name: str
    version: str
    home: str
    serving: bool
    address: str
    revoked_s: int | None
    """Since when this node is revoked by its own word; None while it is active."""
    log: str
    """Origin of its witness log."""
    log_size: int
    log_rollback: bool
    """Whether a peer holds a later state of the log than this node does."""
    peers_frozen: int
    peers_silent: int
    """How many peers do not show a current head of their log."""
    peers: int
    peers_distrusted: int
    notices: int
    sessions: int
    searches_running: int
    audit_rows: int
    refusals: RefusalCounts
    peer_disk: dict[str, int]
    """Bytes by node id."""


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """A connection this node keeps open, or tries to."""

    state: Literal["connecting", "open", "waiting"]
    since_ms: int
    failures: int = 0
    """In a row."""
    error: str = ""
    """Code of the last failure."""
    message: str = ""
    next_try_ms: int = 0
    """When it will be tried again, while ``waiting``."""


class Ways(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the ways between this node and a peer."""

    way: str
    """How it was last reached: an address, ``held``, or empty."""
    holds: bool
    """Whether the peer keeps a connection open to this node."""
    held: Hold | None
    error: str
    """Code of the last failure; empty after a success."""
    message: str
    clock_apart_ms: int | None
    """How far its clock is ahead of this node's."""


class PeerLog(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer showed of its witness log."""

    number: int | None
    """Of the log that is held; None when none is."""
    size: int
    shown: str
    """``current``, ``silent``, ``behind``, ``unproven``, ``contradicting``; empty before the first sync."""
    since_ms: int
    """Since when it has been so."""
    current_ms: int
    """When it last showed a current head; 0 for never."""
    renewed_ms: int
    """When it last opened another log; 0 for never."""
    restored: bool
    """Whether it said then that it had lost entries."""
    trouble: str
    """What is wrong, in words; empty when nothing is."""


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """A peer, as this node knows it."""

    node: str
    name: str
    addresses: tuple[str, ...]
    grants: Grants
    """What it may do here."""
    granted_us: Grants
    """What this node may do there, as the peer said last."""
    paired_ms: int
    seen_ms: int
    standing: str
    """Why it is not relied on; empty when it is."""
    distrusted_ms: int
    distrust_reason: str
    notices: list[ShownNotice]
    """What it says about nodes that it distrusts."""
    reach: Ways
    log: PeerLog


class Myself(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls, and what it may call."""

    caller: str
    """As the audit trail names it: `owner`, or `agent:` and the name of the agent."""
    scopes: tuple[str, ...]
    """What an agent was granted; empty for the owner, who needs none."""
    origins: tuple[str, ...]
    """The only origins that its browser runs may contact; empty for all that the configuration allows."""
    verbs: tuple[str, ...]


class PeerList(msgspec.Struct, frozen=True, kw_only=True):
    """The peers of this node; those that are distrusted come last."""

    peers: list[Peer]


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One value of a metric."""

    name: str
    labels: dict[str, str]
    value: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One metric with its values, named as Prometheus names them."""

    name: str
    type: str
    help: str
    samples: list[Sample]


class Metrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of a moment."""

    text: str
    """In the text format of Prometheus."""
    metrics: list[Measured]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One finding."""

    name: str
    status: Literal["ok", "warn", "fault"]
    finding: str
    remedy: str = ""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """All findings; healthy when none is a fault."""

    healthy: bool
    checks: tuple[Check, ...]


class Nearby(msgspec.Struct, frozen=True, kw_only=True):
    """A node that announces itself on the local network. Anybody can announce anything."""

    short: str
    addresses: tuple[str, ...]
    standing: str
    """What it is to this node, in words."""
    next: str
    """What to do next, in words."""


class NearbyList(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes that announce themselves on the local network."""

    nodes: list[Nearby]


class Knocked(msgspec.Struct, frozen=True, kw_only=True):
    """How the other node answered."""

    refused: bool
    """Whether it refused for want of trust or of a scope."""
    code: str
    """Of its answer; empty when it did what was asked."""
    message: str


# --- the verbs -------------------------------------------------------------------------------------------------------

STATUS: Final = Verb(
    name="node.status",
    command="node status",
    gives=Status,
    help="Say who this node is, whether it runs, and what it is doing.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
WHOAMI: Final = Verb(
    name="node.whoami",
    command="node whoami",
    gives=Myself,
    help="Say as whom this command calls the node, and which verbs that caller may call.",
    callers=OWNER_AND_AGENTS,
    scope=ANY_SCOPE,
    read_only=True,
    row=None,
)
PEERS: Final = Verb(
    name="node.peers",
    command="node peers",
    gives=PeerList,
    help="List the peers of this node and what each may do here; those that are distrusted come last.",
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

    What was refused by place, code and peer; peers, searches, queues, disk used for each peer, the longest block of the loop. With
    `metrics: {port: 9464}` in the configuration a serving node gives the same at http://127.0.0.1:9464/metrics.
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
DOCTOR: Final = Verb(
    name="node.doctor",
    command="node doctor",
    takes=DoctorParams,
    gives=Health,
    help="""Check everything this node needs; each fault comes with a remedy.

    Where the witness key or the store does not open, that is one fault, and what needs neither is checked all the same.
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
    help="""List the nodes that announce themselves on the local network: known, not trusted.

    Anybody on the network can announce anything. A node becomes a peer by an invite only, whoever is listed here. A node announces
    itself when its configuration says `discovery: {announce: true}`.
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
    help="""Try to send a signed delta to a node that is not a peer, and show its refusal.

    For those who must check that a node lets no stranger in. Exit code 0 when it refused for want of trust or of a scope, and 1
    when it heard this node out. Whatever else happens shows neither: it is an error with its own exit code (3 or 4), so with
    nobody there, another program, or a node that holds another key than `--key`.
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.public_key),
)

VERBS: Final[tuple[Verb, ...]] = (STATUS, WHOAMI, PEERS, METRICS, DOCTOR, DISCOVER, KNOCK)
