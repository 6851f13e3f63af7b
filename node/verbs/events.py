"""The verb of the feed."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_AND_AGENTS, Params, Verb, option
from protocol import limits
from protocol.feed import Change


class ListParams(Params, frozen=True, kw_only=True):
    """``events.list``"""

    since: Annotated[
        int | None,
        option("Changes after the one with this number; 0 for all.  [default: the newest]", metavar="NUMBER"),
    ] = None
    kind: Annotated[
        str, option("A kind (session.recorded) or a group of them (session).", metavar="KIND", max_length=40)
    ] = ""
    limit: Annotated[int, option("At most so many at a time.", metavar="N", ge=1, le=limits.FEED_LIST_ROWS_MAX)] = 100
    wait_s: Annotated[
        int,
        option(
            "Wait so many seconds for a change if there is none yet; with since only.",
            flag="-",
            ge=0,
            le=limits.FEED_WAIT_S_MAX,
        ),
    ] = 0


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """Result of ``events.list``."""

    changes: tuple[Change, ...]
    """In their order."""
    last: int
    """Where to go on: give it as ``since``. What was left out by kind is behind it."""
    oldest: int
    """The smallest number that is kept."""


LIST: Final = Verb(
    name="events.list",
    takes=ListParams,
    gives=Listed,
    help="""List what changed on this node, each change under a number: the numbers have no gaps and never repeat.

    A change says its kind, the ids of what it is about, when it was, and who had it done; never what stands on a page, an address,
    or what a person wrote. docs/verbs.md lists the kinds. The oldest are cut off: a --since that comes too late is refused as
    feed.gap, with the oldest number that is left.

    With --follow it goes on until Ctrl-C, also while the node restarts, and says at the end from which number to go on. With --json
    as well, each change is one line. It needs a node that serves, and waits for one.

    \b
    Examples:
      trailmesh events --kind session
      trailmesh events --follow --since 120 --json
    """,
    callers=OWNER_AND_AGENTS,
    scope="read",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (LIST,)
