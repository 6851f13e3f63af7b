"""The verbs of searches."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from node.verbs import rows
from node.verbs.verb import ALL_WHO_WORK, OWNER_AND_AGENTS, OWNER_ONLY, Params, Row, Verb, argument, option
from protocol import limits

# --- what they take --------------------------------------------------------------------------------------------------

SECONDS_MAX: Final = 86_400
_SEARCH: Final = argument("Id of the search.", metavar="SEARCH")


class RunParams(Params, frozen=True, kw_only=True):
    """``explore.run``"""

    goal: Annotated[
        str,
        option("What to reach, in words: 'find the cheapest blue mug with a rating over 4'.", metavar="TEXT"),
    ]
    start: Annotated[str, option("Where to begin. Every peer of the search is told it: no tokens.", metavar="URL")]
    until: Annotated[
        Any,
        option(
            "What must hold on the page: an object of url, title, text, element; all, any, not combine them.",
            metavar="CONDITION",
        ),
    ]
    peers: Annotated[
        list[str] | None,
        option(
            "Explore with this peer. Repeat for more.  [default: every peer that lets us assign branches; for an agent none]",
            flag="--peer",
            metavar="NAME",
        ),
    ] = None
    seconds: Annotated[int, option("Time limit.", ge=1, le=SECONDS_MAX)] = 120
    seed: Annotated[int, option("Seed of the rollouts.", ge=0)] = 0


class ResumeParams(Params, frozen=True, kw_only=True):
    """``explore.resume``"""

    search: Annotated[str, _SEARCH]
    seconds: Annotated[int, option("How long from now; 0 for what the search had left.", ge=0, le=SECONDS_MAX)] = 0


class SearchParams(Params, frozen=True, kw_only=True):
    """Verbs about one search."""

    search: Annotated[str, _SEARCH]


class ListParams(Params, frozen=True, kw_only=True):
    """``explore.list``"""

    limit: Annotated[int, option("Without SEARCH: at most this many.", ge=1, le=limits.LIST_ROWS_MAX)] = 50


class ShowParams(Params, frozen=True, kw_only=True):
    """``explore.show``"""

    search: Annotated[str, _SEARCH]
    html: Annotated[
        str,
        option(
            "Also write the report: tree picture, screenshots, who signed what.",
            metavar="FILE",
            reads="path",
        ),
    ] = ""


# --- what they give --------------------------------------------------------------------------------------------------


class PeerSpend(msgspec.Struct, frozen=True, kw_only=True):
    """What one node did in a search."""

    node: str
    name: str
    role: str
    visits: int
    steps: int
    """Actions performed in a browser, as it said last."""
    cost_ms: int
    leases: int
    claims_false: int
    standing: str = ""
    """Error code of why the peer is not relied on any more."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A search in numbers."""

    search: str
    status: str
    goal: str
    start_url: str
    coordinator: str
    """Node id."""
    seconds: float
    """How long it has run."""
    nodes: int
    """Actions that were found: the nodes of the search tree."""
    branches: int
    reassigned: int
    """Branches that were given to another peer, because the first fell silent."""
    claims: int
    verified: bool
    """Whether a claim of success was replayed here and held."""
    session: str
    """The recorded session of that replay."""
    claimed_by: str
    path: tuple[str, ...]
    """The winning actions in words."""
    spend: tuple[PeerSpend, ...]
    reason: str = ""
    """Error code of why it did not reach its goal."""
    caller: str = ""
    """As ``Listed.caller``."""
    html: str = ""
    """Path of the report, if one was written."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One search of a list."""

    id: str
    status: str
    coordinator: str
    """Node id."""
    created_ms: int
    caller: str = ""
    """Who had it started here: ``owner``, ``agent:NAME``, the id of a peer; empty if that was not written down."""


class SearchList(msgspec.Struct, frozen=True, kw_only=True):
    """The searches that this node takes or took part in."""

    searches: list[Listed]


class Freed(msgspec.Struct, frozen=True, kw_only=True):
    """Disk that a peer has used here, and may use again."""

    node: str
    name: str
    bytes: int


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """The search that was removed."""

    search: str
    status: str
    """What it was."""
    freed: list[Freed]


# --- the verbs -------------------------------------------------------------------------------------------------------

RUN: Final = Verb(
    name="explore.run",
    takes=RunParams,
    gives=Summary,
    help="""Explore a site until a page meets the condition; what is found is replayed and recorded as a session before it is
    believed.

    Only actions of risk classes 1 to 3 are performed, and only GET requests are sent. Ctrl-C stops the search; `--resume` takes
    it up again.

    \b
    Conditions: url (glob), title, text (contained), element {role, name}; all, any, not combine them.
      --until '{url: "*/products/*", text: "In stock"}'
      --until '{any: [{title: Checkout}, {element: {role: heading, name: Checkout}}]}'
    """,
    callers=ALL_WHO_WORK,
    scope="explore",
    row=Row(note=lambda given: {"start": rows.where(given.start), "peers": ", ".join(given.peers or ["all"])}),
)
RESUME: Final = Verb(
    name="explore.resume",
    takes=ResumeParams,
    gives=Summary,
    help="""Follow a running search, or take up one that ended without success, for --seconds from now.

    Of a search that a peer coordinates: take part again. On the command line it is `explore run --resume SEARCH`.
    """,
    callers=ALL_WHO_WORK,
    scope="explore",
    row=Row(subject=lambda given: given.search),
)
STOP: Final = Verb(
    name="explore.stop",
    command="explore stop",
    takes=SearchParams,
    gives=Summary,
    help="""Stop a running search; it can be resumed.

    A search that a peer coordinates is left: this node takes no part in it any more, whatever the peer asks, until `trailmesh
    explore run --resume SEARCH` on this node.
    """,
    callers=ALL_WHO_WORK,
    scope="explore",
    row=Row(subject=lambda given: given.search),
)
REMOVE: Final = Verb(
    name="explore.remove",
    command="explore rm",
    takes=SearchParams,
    gives=Removed,
    help="""Remove a search that does not run: its tree, its leases, and what peers sent about it.

    Peers at their disk quota get that room back at once. Sessions that the search found stay (`trailmesh session rm`), and so does
    what the audit trail and the witness log say. A peer cannot open the same search here again.

    \b
    Example:
      trailmesh explore show
      trailmesh explore rm sea-P2FRIBWZAO6JCN73NHTWW --yes
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.search),
)
LIST: Final = Verb(
    name="explore.list",
    takes=ListParams,
    gives=SearchList,
    help="List searches, newest first. On the command line it is `explore show` without a search.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="explore.show",
    takes=ShowParams,
    gives=Summary,
    help="Show a search: how it stands, what each node did in it, and the path that was found.",
    callers=OWNER_AND_AGENTS,
    scope="read",
    owner_fields=frozenset({"html"}),
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (RUN, RESUME, LIST, SHOW, STOP, REMOVE)
