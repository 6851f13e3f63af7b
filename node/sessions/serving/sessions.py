"""The recorded sessions of this node: the objects that record, replay, read and verify them. Also compares, archives and removes
sessions.
"""

from __future__ import annotations

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.config import Config
from node.live.acting import Asks
from node.live.browsers import Browsers
from node.sessions.keeping.references import held_by, named_by
from node.sessions.keeping.remains import remains_of
from node.sessions.keeping.verifying import Verifying
from node.sessions.keeping.working import Working
from node.sessions.recording.recordings import Recordings
from node.sessions.replaying.comparing import compare_runs, compare_sessions, is_report
from node.sessions.replaying.replays import Replays
from node.sessions.showing.files import write_comparison
from node.signing import Witness
from node.trust import Peers
from node.verbs.sessions.session_results import RunDiff, SessionDiff, TrustKey
from node.verbs.sessions.session_upkeep import Archived, Purged
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.recording.records.session import Session
from protocol.recording.records.verdict import Verdict
from protocol.trust.trust_key import write_trust_key
from protocol.wire import cbor


class Sessions:
    """The room of recorded sessions."""

    def __init__(
        self,
        witness: Witness,
        config: Config,
        store: Store,
        clock: Clock,
        browsers: Browsers,
        peers: Peers,
        asks: Asks | None = None,
    ) -> None:
        """asks: asks the owner about refused requests; None if nobody is asked."""
        self._work = work = Working(witness, config, store, clock, browsers, peers, asks)
        self.reading = work.reading
        self.recordings, self.replays = Recordings(work), Replays(work)
        self.verifying = Verifying(work.witness, work.store, work.peers, work.reading)

    async def archive(self, session_id: str, *, archived: bool) -> Archived:
        """Leave a session out of the usual list, or undo that. Errors: ``input.not_found``, ``id.invalid``, ``store.*``."""
        session = await self._work.reading.session(session_id)
        changed = await self._work.reading.archive.put(session.id, archived=archived)
        if changed:
            kind = FeedKind.SESSION_ARCHIVED if archived else FeedKind.SESSION_UNARCHIVED
            await self._work.witness.feed.tell(kind, session.id)
        return Archived(session=session.id, title=session.title, archived=archived, changed=changed)

    async def purge(self, session_id: str, *, referenced: bool) -> Purged:
        """Delete a session with its steps, screenshots, signatures and replay reports. Only its ``Remains`` are kept.

        referenced: delete it even if something else names it. Errors: ``input.not_found``, ``id.invalid``, ``session.referenced``,
        ``input.invalid`` (it is being recorded or replayed).
        """
        session = await self._work.reading.session(session_id)
        if session.verdict is Verdict.OPEN:
            raise MeshError("input.invalid", "the session is being recorded", session=session.id)
        with self._work.leaving(session.id):
            return await self._remove(session, referenced=referenced)

    async def _remove(self, session: Session, *, referenced: bool) -> Purged:
        own = self._work.witness.node
        names = () if referenced else await named_by(self._work.store, session, own)
        if names:
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            raise MeshError("session.referenced", f"{names[0]}{more}", session=session.id, names=list(names))
        may_hold = await held_by(self._work.store, session, self._work.peers, own)
        remains = await remains_of(self._work.store, session, self._work.clock.now_ms())
        removed = await self._work.witness.feed.along(
            lambda news: self._work.store.remove_session(session.id, cbor.encode(remains), news=news),
            FeedKind.SESSION_REMOVED,
            session.id,
        )
        if not removed:
            raise MeshError("input.not_found", f"no session {session.id}", id=session.id)
        # Last, because a crash before this line leaves only an id that names nothing.
        await self._work.reading.archive.put(session.id, archived=False)
        return Purged(session=session.id, title=session.title, steps=session.steps, may_hold=may_hold)

    async def diff(self, first_id: str, second_id: str, *, html: str = "") -> SessionDiff | RunDiff:
        """Compare two sessions that the caller may see, or two runs of one. html: the path to write the comparison to as a file
        too.

        Errors: ``input.not_found``, ``id.invalid``, ``input.invalid`` (reports of different sessions; the file), ``store.*``.
        """
        if is_report(first_id) or is_report(second_id):
            compared: SessionDiff | RunDiff = await compare_runs(self._work.reading, first_id, second_id)
        else:
            first, second = await self._work.reading.session(first_id), await self._work.reading.session(second_id)
            compared = await compare_sessions(self._work.store, first, second)
        if not html:
            return compared
        await write_comparison(html, compared, self._work.store, made_ms=self._work.clock.now_ms())
        return msgspec.structs.replace(compared, html=html)

    def trust_key(self) -> TrustKey:
        """The key of this node as text. Errors: ``keylog.*``, ``node.not_initialised`` if no key can sign."""
        own = self._work.witness.identity
        own.check_active()
        return TrustKey(node=own.node, name=self._work.config.name, key=write_trust_key(own.log))
