"""Verbs for searches: run, resume, stop, remove, list, show."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from node.verbs import rows
from node.verbs.shown import shown
from node.verbs.verb import (
    ALL_WHO_WORK,
    OWNER_AND_AGENTS,
    OWNER_ONLY,
    PAGE,
    AuditedPart,
    Params,
    Verb,
    argument,
    option,
)
from protocol import limits

# --- parameters ------------------------------------------------------------------------------------------------------

SECONDS_MAX: Final = 86_400
_SEARCH: Final = argument("Id of the search.", metavar="SEARCH")


class WantedParams(Params, frozen=True, kw_only=True):
    """The goal of a search and its place: of one that begins now, and of a schedule."""

    goal: Annotated[
        str,
        option("What to reach, as a sentence: 'find the cheapest blue mug with a rating over 4'.", metavar="TEXT"),
    ]
    start: Annotated[
        str,
        option("Start address. Every peer in the search receives it, so it must not contain a token.", metavar="URL"),
    ]
    until: Annotated[
        Any,
        option(
            "Condition that the page must meet: an object with url, title, text or element; all, any and not combine conditions.",
            metavar="CONDITION",
        ),
    ]
    peers: Annotated[
        list[str] | None,
        option(
            "Explore with this peer. Repeat for more. [default: every peer that grants us branch:assign; for an agent none]",
            flag="--peer",
            metavar="NAME",
        ),
    ] = None
    seconds: Annotated[int, option("Time limit.", ge=1, le=SECONDS_MAX)] = 120
    seed: Annotated[int, option("Seed of the random choices in the rollouts.", ge=0)] = 0
    capsule: Annotated[
        str,
        option(
            "Begin with the login of this capsule, and contact only its origins. Peers explore with logins of their own, if"
            " each node grants the others `login:read`, and the peers grant `login:use` (docs/capsules.md).",
            metavar="CAPSULE",
            max_length=limits.CAPSULE_LABEL_CHARS_MAX,
        ),
    ] = ""


class RunParams(WantedParams, frozen=True, kw_only=True):
    """``explore.run``"""

    chooser: Annotated[
        str,
        option(
            "Ask this http address of this machine which action of each page to prefer (docs/choosers.md).",
            metavar="URL",
            max_length=limits.URL_CHARS_MAX,
        ),
    ] = ""


class ResumeParams(Params, frozen=True, kw_only=True):
    """``explore.resume``"""

    search: Annotated[str, _SEARCH]
    seconds: Annotated[
        int, option("Time limit from now; 0 for the time that the search had left.", ge=0, le=SECONDS_MAX)
    ] = 0


class SearchParams(Params, frozen=True, kw_only=True):
    """Verbs about one search."""

    search: Annotated[str, _SEARCH]


class ListParams(Params, frozen=True, kw_only=True):
    """``explore.list``"""

    limit: Annotated[int, option("Without SEARCH: list at most this many.", ge=1, le=limits.LIST_ROWS_MAX)] = 50


class ShowParams(Params, frozen=True, kw_only=True):
    """``explore.show``"""

    search: Annotated[str, _SEARCH]
    html: Annotated[
        str,
        option(
            "Also write an HTML report here: picture of the tree, screenshots, signers.",
            metavar="FILE",
            reads="path",
        ),
    ] = ""


# --- results ---------------------------------------------------------------------------------------------------------


class PeerSpend(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one node in a search."""

    name: Annotated[str, shown("node", column=True)]
    node: Annotated[str, shown("id", as_="node", column=True)]
    role: Annotated[str, shown("role", column=True)]
    standing: Annotated[str, shown("standing", into="role", words=" [{}]")] = ""
    """Error code that says why the peer is no longer relied on."""
    leases: Annotated[int, shown("leases", column=True)]
    visits: Annotated[int, shown("visits", column=True)]
    steps: Annotated[int, shown("steps", column=True)]
    """Actions performed in a browser, from its last message."""
    cost_ms: Annotated[int, shown("spent", as_="duration", unit="ms", column=True)]
    claims_false: Annotated[int, shown("false claims", column=True)]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A search in numbers."""

    search: Annotated[str, shown("search")]
    status: Annotated[str, shown("status")]
    reason: Annotated[str, shown("reason", into="status", words=" [{}]")] = ""
    """Error code that says why it did not reach its goal."""
    goal: Annotated[str, shown("goal")]
    start_url: Annotated[str, shown("start")]
    coordinator: Annotated[str, shown("coordinator", as_="node")]
    """Node id."""
    caller: Annotated[str, shown("for", as_="node")] = ""
    """The caller that started it here, as in ``ListedSearch.caller``."""
    seconds: Annotated[float, shown("time", as_="duration", unit="s")]
    """Time it has run."""
    nodes: Annotated[int, shown("found", unit="action")]
    """Actions found: the nodes of the search tree."""
    branches: Annotated[int, shown("branches", unit="branch/branches", into="nodes", words=", {}")]
    reassigned: Annotated[int, shown("reassigned", into="branches", words=" ({} reassigned)")]
    """Branches reassigned to another peer because the first stopped answering."""
    verified: Annotated[bool, shown("reached", empty="no")]
    """True if a claim of success was replayed here and confirmed."""
    claimed_by: Annotated[str, shown("found by", into="verified", words=", found by {}")]
    claims: Annotated[int, shown("claims", unit="claim", into="verified", words=" ({})")]
    session: Annotated[str, shown("replayed as")]
    """The recorded session of that replay."""
    path: Annotated[tuple[str, ...], shown("path", as_="steps")]
    """The actions that reached the goal, described."""
    would_send: Annotated[tuple[str, ...], shown("would have changed something, and was not sent", as_="lines")] = ()
    """Requests that presses of this node tried to send and that may change something, each with its action. None of them left."""
    proposes: Annotated[
        str,
        shown("login", as_="argument", words="a page asks for one, and this node keeps one for its site: --capsule {}"),
    ] = ""
    """A capsule for the site of a page that asked for a login; empty if no page did, or no such capsule exists."""
    html: Annotated[str, shown("report")] = ""
    """Path of the report, if one was written."""
    spend: Annotated[tuple[PeerSpend, ...], shown("work")]


class ListedSearch(msgspec.Struct, frozen=True, kw_only=True):
    """One search of a list."""

    id: Annotated[str, shown("id", column=True)]
    status: Annotated[str, shown("status", column=True)]
    coordinator: Annotated[str, shown("coordinator", as_="node", column=True)]
    """Node id."""
    caller: Annotated[str, shown("for", as_="node", column=True)] = ""
    """The caller that started it here: ``owner``, ``agent:NAME`` or the id of a peer; empty if not recorded."""
    created_ms: Annotated[int, shown("when", as_="time", unit="ms", column=True)]


class SearchList(msgspec.Struct, frozen=True, kw_only=True):
    """The searches in which this node takes or took part."""

    searches: Annotated[list[ListedSearch], shown("searches", empty="no searches yet: `trailmesh explore run`")]
    names: Annotated[dict[str, str], shown("names", as_="names")] = msgspec.field(default_factory=dict)
    """Names of the coordinators, by node id. This node is called ``this node``."""


class Freed(msgspec.Struct, frozen=True, kw_only=True):
    """Disk space of a peer that was freed."""

    name: Annotated[str, shown("node", column=True)]
    node: Annotated[str, shown("id", as_="node", column=True)]
    bytes: Annotated[int, shown("size", as_="bytes", unit="bytes", column=True)]


class RemovedSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Result of removing a search."""

    search: Annotated[str, shown("removed")]
    status: Annotated[str, shown("status", into="search", words=" ({})")]
    """Its status before it was removed."""
    freed: Annotated[list[Freed], shown("freed disk space")]


# --- the verbs -------------------------------------------------------------------------------------------------------

RUN: Final = Verb(
    name="explore.run",
    long=True,
    takes=RunParams,
    gives=Summary,
    help="""Explore a site until a page meets the condition.

    A path found by exploring is accepted only after this node has replayed it and recorded it as a session.

    Only actions of risk classes 1 to 3 are performed, and what you have said yes to (`trailmesh approve`). Of the requests of a
    page only those are sent that read (GET, HEAD, OPTIONS, and POST where its form says so), and what your policy allows. Ctrl-C
    stops the search; `--resume` continues it.

    \b
    Conditions: url (glob); title, text, element {role, name} (contained, in any case); all, any, not combine them.
      --until '{url: "*/products/*", text: "In stock"}'
      --until '{any: [{title: Checkout}, {element: {role: heading, name: Checkout}}]}'
    """,
    callers=ALL_WHO_WORK,
    scope="explore",
    owner_fields=frozenset({"chooser"}),
    row=AuditedPart(
        note=lambda given: {
            "start": rows.where(given.start),
            "peers": rows.peers(given.peers),
            **rows.with_login(given),
        }
    ),
)
RESUME: Final = Verb(
    name="explore.resume",
    long=True,
    takes=ResumeParams,
    gives=Summary,
    help="""Follow a running search, or resume one that ended without success, for --seconds from now.

    A search that a peer coordinates is joined again. On the command line it is `explore run --resume SEARCH`.
    """,
    callers=ALL_WHO_WORK,
    scope="explore",
    row=AuditedPart(subject=lambda given: given.search),
)
STOP: Final = Verb(
    name="explore.stop",
    command="explore stop",
    takes=SearchParams,
    gives=Summary,
    help="""Stop a running search; it can be resumed.

    If a peer coordinates the search, this node leaves it, and refuses to take part until `trailmesh explore run --resume SEARCH`
    is run here.
    """,
    callers=ALL_WHO_WORK,
    scope="explore",
    row=AuditedPart(subject=lambda given: given.search),
)
REMOVE: Final = Verb(
    name="explore.remove",
    command="explore rm",
    takes=SearchParams,
    gives=RemovedSearch,
    help="""Remove a search that is not running: its tree, its leases, and the data that peers sent for it.

    The freed disk space no longer counts towards the quotas of the peers. Sessions that the search found are kept (`trailmesh
    session purge` deletes them), and so are the entries in the audit trail and the witness log. A peer cannot open the same
    search here again.

    \b
    Example:
      trailmesh explore show
      trailmesh explore rm sea-P2FRIBWZAO6JCN73NHTWW --yes
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.search),
)
LIST: Final = Verb(
    name="explore.list",
    takes=ListParams,
    gives=SearchList,
    help="List searches, newest first. On the command line it is `explore show` without a search.",
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="explore.show",
    takes=ShowParams,
    gives=Summary,
    help="Show a search: its status, the work of each node, and the path that was found.",
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    owner_fields=frozenset({"html"}),
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (RUN, RESUME, LIST, SHOW, STOP, REMOVE)
