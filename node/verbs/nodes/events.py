"""Verbs for the change feed."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_AND_AGENTS, PAGE, Params, Verb, option
from protocol import limits
from protocol.feed import FeedChange


class ListParams(Params, frozen=True, kw_only=True):
    """``events.list``"""

    since: Annotated[
        int | None,
        option(
            "Changes after the one with this number; 0 for all. Without it: the newest ones, at most --limit; with --follow "
            "also each new one from then on.",
            metavar="NUMBER",
        ),
    ] = None
    kind: Annotated[
        str, option("A kind of change (session.recorded) or a group of kinds (session).", metavar="KIND", max_length=40)
    ] = ""
    limit: Annotated[int, option("At most this many per call.", metavar="N", ge=1, le=limits.FEED_LIST_ROWS_MAX)] = 100
    wait_s: Annotated[
        int,
        option(
            "If there is no change yet, wait up to this many seconds for one; only together with since.",
            flag="-",
            ge=0,
            le=limits.FEED_WAIT_S_MAX,
        ),
    ] = 0


class EventListing(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``events.list``."""

    changes: tuple[FeedChange, ...]
    """In ascending order of their numbers."""
    last: int
    """The number to pass as ``since`` in the next call. It also covers changes that the kind filter left out."""
    oldest: int
    """The smallest number still stored."""


LIST: Final = Verb(
    name="events.list",
    takes=ListParams,
    gives=EventListing,
    help="""List the changes on this node in order.

    Changes are numbered without gaps, and no number repeats. A change has a kind, ids, a time and a caller. It never contains page
    content, an address, or text that a person entered. docs/verbs.md lists the kinds. The oldest changes are deleted; if --since
    is older than what is left, the error is feed.gap and names the oldest number left.

    An agent sees what happens to what it may list: to capsules that it was granted, to sessions that it could show, and to its
    own live sessions and questions. Numbers that it does not get are of other changes.

    With --follow the command prints changes until Ctrl-C, also across restarts of the node. At the end it prints the number to
    continue from. With --json each change is one line. --follow needs a running node, and waits until there is one.

    \b
    Examples:
      trailmesh events --kind session
      trailmesh events --follow --since 120 --json
    """,
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (LIST,)
