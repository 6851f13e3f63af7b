"""Verbs about the sites that this node has worked with: list, show."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_AND_AGENTS, PAGE, Params, Verb, argument, option
from protocol import limits
from protocol.recording.records.verdict import Verdict

_LIMIT: Final = option("At most this many.", ge=1, le=limits.LIST_ROWS_MAX)
_MORE: Final = shown("not counted", words=f"sessions before the newest {limits.LIST_ROWS_MAX}")

# --- parameters ------------------------------------------------------------------------------------------------------


class ListParams(Params, frozen=True, kw_only=True):
    """``site.list``"""

    limit: Annotated[int, _LIMIT] = 50


class ShowParams(Params, frozen=True, kw_only=True):
    """``site.show``"""

    site: Annotated[
        str,
        argument("An address of the site, or its host; then https.", metavar="SITE", max_length=limits.URL_CHARS_MAX),
    ]
    limit: Annotated[int, _LIMIT] = 20


# --- results ---------------------------------------------------------------------------------------------------------


class Site(msgspec.Struct, frozen=True, kw_only=True):
    """A site: an origin, and what was done there. Archived sessions count, removed ones do not."""

    origin: Annotated[str, shown("site", column=True)]
    sessions: Annotated[int, shown("sessions", column=True)]
    passed: Annotated[int, shown("passed", column=True)]
    """Sessions whose verdict is ``pass``."""
    searches: Annotated[int, shown("searches", column=True)]
    """Searches that began there."""
    done: Annotated[int, shown("reached", column=True)]
    """Searches that reached their goal."""
    first_ms: Annotated[int, shown("first", as_="time", unit="ms")]
    last_ms: Annotated[int, shown("last", as_="time", unit="ms", column=True)]
    """When the newest of them began."""


class SiteList(msgspec.Struct, frozen=True, kw_only=True):
    """Sites, the one that was worked with last first."""

    sites: Annotated[list[Site], shown("sites", empty="no sites yet: `trailmesh session record`")]
    more: Annotated[bool, _MORE] = False
    """True if there are older sessions, which are not counted."""


class SiteSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that began at the site."""

    id: Annotated[str, shown("id", column=True)]
    verdict: Annotated[Verdict, shown("verdict", column=True)]
    steps: Annotated[int, shown("steps", column=True)]
    created_ms: Annotated[int, shown("when", as_="time", unit="ms", column=True)]
    title: Annotated[str, shown("title", as_="prose", column=True)]


class SiteSearch(msgspec.Struct, frozen=True, kw_only=True):
    """A search that began at the site."""

    id: Annotated[str, shown("id", column=True)]
    status: Annotated[str, shown("status", column=True)]
    created_ms: Annotated[int, shown("when", as_="time", unit="ms", column=True)]
    goal: Annotated[str, shown("goal", as_="prose", column=True)]


class SiteShown(msgspec.Struct, frozen=True, kw_only=True):
    """A site with its newest sessions and searches."""

    site: Annotated[Site, shown("site", as_="inline")]
    more: Annotated[bool, _MORE] = False
    """As ``SiteList.more``."""
    sessions: Annotated[tuple[SiteSession, ...], shown("newest sessions")]
    searches: Annotated[tuple[SiteSearch, ...], shown("newest searches")]


# --- the verbs -------------------------------------------------------------------------------------------------------

LIST: Final = Verb(
    name="site.list",
    command="site ls",
    takes=ListParams,
    gives=SiteList,
    help="""List the sites that this node has sessions of and searches at, the last one first.

    For an agent only the sessions count that it could list itself.
    """,
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="site.show",
    command="site show",
    takes=ShowParams,
    gives=SiteShown,
    help="""Show what this node has done at a site: its newest sessions and searches, and how many there are.

    \b
    Example:
      trailmesh site show shop.example
    """,
    callers=OWNER_AND_AGENTS | PAGE,
    scope="read",
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (LIST, SHOW)
