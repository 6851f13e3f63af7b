# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``explore.*`` (docs/verbs.md)."""

from __future__ import annotations

import msgspec

from trailmesh.client.record import Record


class Summary(Record, frozen=True, kw_only=True):
    """A search in numbers."""

    search: str

    status: str

    reason: str = ""
    """Error code that says why it did not reach its goal."""

    goal: str

    start_url: str

    coordinator: str
    """Node id."""

    caller: str = ""
    """The caller that started it here, as in `ListedSearch.caller`."""

    seconds: float
    """Time it has run."""

    nodes: int
    """Actions found: the nodes of the search tree."""

    branches: int

    reassigned: int
    """Branches reassigned to another peer because the first stopped answering."""

    verified: bool
    """True if a claim of success was replayed here and confirmed."""

    claimed_by: str

    claims: int

    session: str
    """The recorded session of that replay."""

    path: tuple[str, ...]
    """The actions that reached the goal, described."""

    would_send: tuple[str, ...] = ()
    """Requests that presses of this node tried to send and that may change something, each with its action. None of
    them left.
    """

    proposes: str = ""
    """A capsule for the site of a page that asked for a login; empty if no page did, or no such capsule exists."""

    html: str = ""
    """Path of the report, if one was written."""

    spend: tuple[PeerSpend, ...]


class SearchList(Record, frozen=True, kw_only=True):
    """The searches in which this node takes or took part."""

    searches: tuple[ListedSearch, ...]

    names: dict[str, str] = msgspec.field(default_factory=dict)
    """Names of the coordinators, by node id. This node is called `this node`."""


class RemovedSearch(Record, frozen=True, kw_only=True):
    """Result of removing a search."""

    search: str

    status: str
    """Its status before it was removed."""

    freed: tuple[Freed, ...]


class PeerSpend(Record, frozen=True, kw_only=True):
    """The work of one node in a search."""

    name: str

    node: str

    role: str

    standing: str = ""
    """Error code that says why the peer is no longer relied on."""

    leases: int

    visits: int

    steps: int
    """Actions performed in a browser, from its last message."""

    cost_ms: int

    claims_false: int


class ListedSearch(Record, frozen=True, kw_only=True):
    """One search of a list."""

    id: str

    status: str

    coordinator: str
    """Node id."""

    caller: str = ""
    """The caller that started it here: `owner`, `agent:NAME` or the id of a peer; empty if not recorded."""

    created_ms: int


class Freed(Record, frozen=True, kw_only=True):
    """Disk space of a peer that was freed."""

    name: str

    node: str

    bytes: int
