# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``site.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class SiteList(Record, frozen=True, kw_only=True):
    """Sites, the one that was worked with last first."""

    sites: tuple[Site, ...]

    more: bool = False
    """True if there are older sessions, which are not counted."""


class SiteShown(Record, frozen=True, kw_only=True):
    """A site with its newest sessions and searches."""

    site: Site

    more: bool = False
    """As `SiteList.more`."""

    sessions: tuple[SiteSession, ...]

    searches: tuple[SiteSearch, ...]


class Site(Record, frozen=True, kw_only=True):
    """A site: an origin, and what was done there. Archived sessions count, removed ones do not."""

    origin: str

    sessions: int

    passed: int
    """Sessions whose verdict is `pass`."""

    searches: int
    """Searches that began there."""

    done: int
    """Searches that reached their goal."""

    first_ms: int

    last_ms: int
    """When the newest of them began."""


class SiteSession(Record, frozen=True, kw_only=True):
    """A session that began at the site."""

    id: str

    verdict: str

    steps: int

    created_ms: int

    title: str


class SiteSearch(Record, frozen=True, kw_only=True):
    """A search that began at the site."""

    id: str

    status: str

    created_ms: int

    goal: str
