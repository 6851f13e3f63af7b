"""Counts sessions and searches by the site at which they began, and implements the verbs about sites."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec

from adapters.ports.records import SearchRecord
from adapters.ports.store import SearchStore
from node.base.paging import every_search
from node.verbs import Bound, Tell
from node.verbs.sites import site as verbs
from node.verbs.sites.site import ListParams, ShowParams, Site, SiteList, SiteSearch, SiteSession, SiteShown
from protocol import limits
from protocol.errors import MeshError
from protocol.messages import SearchSpec
from protocol.recording.records.session import Session
from protocol.recording.records.verdict import Verdict
from protocol.trust.origin import origin_of
from protocol.wire import cbor, envelope

_Search = tuple[SearchRecord, SearchSpec]


class Reads(Protocol):
    """Reads the sessions that the caller of a verb may see."""

    async def sessions(self, text: str, limit: int, *, archived: bool = False) -> list[Session]:
        """Newest first, those with ``text``; either the archived ones or the others."""


class Sites:
    """Lists sites, and shows one. An agent learns of no site whose sessions it may not see."""

    def __init__(self, reading: Reads, store: SearchStore) -> None:
        self._reading, self._store = reading, store
        self.bound: Bound = {verbs.LIST: self._list, verbs.SHOW: self._show}

    async def _list(self, params: ListParams, tell: Tell) -> SiteList:
        sessions, more = await self._sessions()
        sites = _counted(sessions, await self._searches())
        newest = sorted(sites, key=lambda site: (-site.last_ms, site.origin))
        return SiteList(sites=newest[: params.limit], more=more)

    async def _show(self, params: ShowParams, tell: Tell) -> SiteShown:
        origin = origin_of(params.site if "://" in params.site else f"https://{params.site}")
        if not origin:
            raise MeshError("input.invalid", f"{params.site[:80]!r} is neither an address nor a host")
        recorded, more = await self._sessions()
        sessions = [found for found in recorded if origin_of(found.start_url) == origin]
        searches = [found for found in await self._searches() if origin_of(found[1].start_url) == origin]
        sites = _counted(sessions, searches)
        if not sites:
            raise MeshError("input.not_found", f"there is no session and no search that began at {origin}")
        return SiteShown(
            site=sites[0],
            more=more,
            sessions=tuple(_session(found) for found in sessions[: params.limit]),
            searches=tuple(_search(*found) for found in searches[: params.limit]),
        )

    async def _sessions(self) -> tuple[list[Session], bool]:
        """The sessions, newest first, and if there are more than are counted."""
        most = limits.LIST_ROWS_MAX + 1
        found = [
            *await self._reading.sessions("", most),
            *await self._reading.sessions("", most, archived=True),
        ]
        found.sort(key=lambda session: -session.created_ms)
        return found[: limits.LIST_ROWS_MAX], len(found) > limits.LIST_ROWS_MAX

    async def _searches(self) -> list[_Search]:
        """The searches with what they look for, newest first."""
        return [
            (found, cbor.decode_stored(envelope.peek(found.spec).payload, SearchSpec))
            async for found in every_search(self._store)
        ]


def _counted(sessions: Iterable[Session], searches: Iterable[_Search]) -> list[Site]:
    """A site for each origin. What began at an address that has none is left out."""
    sites: dict[str, Site] = {}
    for found in sessions:
        one = _at(sites, found.start_url, found.created_ms)
        passed = one.passed + (found.verdict is Verdict.PASS)
        sites[one.origin] = msgspec.structs.replace(one, sessions=one.sessions + 1, passed=passed)
    for record, spec in searches:
        one = _at(sites, spec.start_url, record.created_ms)
        done = one.done + (record.status == "done")
        sites[one.origin] = msgspec.structs.replace(one, searches=one.searches + 1, done=done)
    return [site for site in sites.values() if site.origin]


def _at(sites: dict[str, Site], url: str, at_ms: int) -> Site:
    """The counts so far for the site of ``url``, with the times that something at ``at_ms`` gives it."""
    origin = origin_of(url)
    one = sites.get(origin) or Site(
        origin=origin, sessions=0, passed=0, searches=0, done=0, first_ms=at_ms, last_ms=at_ms
    )
    return msgspec.structs.replace(one, first_ms=min(one.first_ms, at_ms), last_ms=max(one.last_ms, at_ms))


def _session(found: Session) -> SiteSession:
    return SiteSession(
        id=found.id, verdict=found.verdict, steps=found.steps, created_ms=found.created_ms, title=found.title
    )


def _search(record: SearchRecord, spec: SearchSpec) -> SiteSearch:
    return SiteSearch(id=record.id, status=record.status, created_ms=record.created_ms, goal=spec.goal)
