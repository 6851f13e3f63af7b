"""Finds everything that names a session, and the nodes that may have a copy of it. Needed before the session is purged."""

from __future__ import annotations

from adapters.ports.store import Store
from node.live.sessions import LIVES
from node.trust import Peers
from node.verbs.sessions.session_upkeep import MayHold
from protocol.messages import KIND_REPLAY_REPORT
from protocol.recording.records.session import Session

_ALL = 2**31 - 1


async def named_by(store: Store, session: Session, own: str) -> tuple[str, ...]:
    """Descriptions of everything here that names ``session``: a search, its forks, a live session, reports of other nodes. own:
    this node's id.
    """
    found = []
    if session.search and await store.search(session.search) is not None:
        found.append(f"search {session.search} found it")
    forks = [other.id for other in await store.sessions(limit=_ALL) if other.parent == session.id]
    found += [f"session {fork} names it as its parent" for fork in forks]
    lives = await store.rows(LIVES).find(newest=True, ended_ms=0, limit=_ALL)
    found += [f"live session {live.id} is recorded in it" for live in lives if session.id in live.sessions]
    reports = await store.artefacts(subject=session.id, kind=KIND_REPLAY_REPORT)
    others = len([report for report in reports if report.issuer != own])
    if others:
        found.append(
            f"{others} replay report{'s' if others > 1 else ''} of other nodes {'are' if others > 1 else 'is'} about it"
        )
    return tuple(found)


async def held_by(store: Store, session: Session, peers: Peers, own: str) -> tuple[MayHold, ...]:
    """The nodes that have shown that they hold ``session``: its recorder, and nodes that replayed it."""
    reports = await store.artefacts(subject=session.id, kind=KIND_REPLAY_REPORT)
    nodes = dict.fromkeys([session.node, *(report.issuer for report in reports)])
    return tuple(MayHold(node=node, name=peers.name_of(node)) for node in nodes if node != own)
