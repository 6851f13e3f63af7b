"""Records and replays for a peer, in a browser that begins with a login of this node. A peer gives no secrets, files or
approvals.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

import msgspec

from adapters.ports.store import Store
from node.config import Config
from node.sessions.actions.action_files import parse_actions
from node.sessions.keeping.handover import export_session, import_bundle
from node.sessions.serving.sessions import Sessions
from node.sessions.shared.writes import OnMismatch
from node.signing import Witness, signed_manifest
from node.trust import Peers
from node.verbs import Tell, current_caller
from protocol import ids
from protocol.errors import MeshError
from protocol.messages import WorkAsk
from protocol.page.actions.action import Action, Evaluate, Upload
from protocol.recording.records.session import Session
from protocol.trust.origin import origin_of

_ON_MISMATCH: OnMismatch = "stop"


class Performed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a recording or a replay."""

    session: str
    manifest: bytes
    verdict: str
    steps: int
    good: int


class ForPeers:
    """The services of the room of sessions for peers."""

    def __init__(self, sessions: Sessions, store: Store, config: Config, peers: Peers, witness: Witness) -> None:
        self._sessions, self._store, self._config = sessions, store, config
        self._peers, self._witness = peers, witness

    async def start_of(self, ask: WorkAsk) -> str:
        """The address at which the work begins.

        Checks, in order: the action file is valid, or the session is committed and belongs to the caller; it uploads no files of
        this node.
        Errors: ``input.*``, ``id.invalid``, ``session.not_committed``, ``envelope.*``, ``caller.refused``.
        """
        if ask.task == "record":
            file = parse_actions(ask.actions.encode(), "", self._config.browser.profile)
            _check(file.actions)
            if file.capsule:
                raise MeshError("caller.refused", "work for a peer names no capsule: this node chooses")
            return file.start_url
        session_id = ids.parse_id("ses", ask.session)
        found = await self._store.session(session_id)
        if found is None or not _is_callers(found):
            raise MeshError("input.not_found", f"no session {session_id} of this peer")
        recorded = await self._sessions.reading.recorded(session_id)
        _check(step.action for step in recorded.steps)
        return recorded.session.start_url

    async def carry_out(self, ask: WorkAsk, capsule: str, tell: Tell) -> Performed:
        """Record or replay with ``capsule``. Errors: those of ``Recordings.record`` and ``Replays.replay``."""
        if ask.task == "record":
            done = await self._sessions.recordings.record(
                ask.actions, name="", secrets={}, allow=(), approve_class=0, capsule=capsule, tell=tell
            )
            return await self.recorded(done.id)
        replayed = await self._sessions.replays.replay(
            ids.parse_id("ses", ask.session),
            base_url="",
            secrets={},
            allow=(),
            approve_class=0,
            on_mismatch=_ON_MISMATCH,
            out="",
            tell=tell,
            capsule=capsule,
        )
        _, manifest = await signed_manifest(self._store, replayed.report.session)
        return Performed(
            session=replayed.report.session,
            manifest=manifest,
            verdict=replayed.report.verdict,
            steps=replayed.replayable,
            good=sum(step.matched for step in replayed.report.steps),
        )

    async def recorded(self, session_id: str) -> Performed:
        """The result of a recording. Errors: ``input.not_found``, ``session.not_committed``."""
        session = await self._sessions.reading.session(session_id)
        steps = await self._store.steps(session_id)
        _, manifest = await signed_manifest(self._store, session_id)
        return Performed(
            session=session_id,
            manifest=manifest,
            verdict=session.verdict,
            steps=len(steps),
            good=sum(step.ok for step in steps),
        )

    async def shown_by(self, session_id: str) -> frozenset[str]:
        """The origins of the pages in a session, including pages on which a step failed."""
        steps = await self._store.steps(session_id)
        return frozenset(filter(None, (origin_of(step.url) for step in steps)))

    async def write(self, session_id: str, out: BinaryIO) -> None:
        """Write the bundle of a session. Errors: those of ``export_session``."""
        await export_session(self._store, session_id, out)

    async def take_in(self, file: BinaryIO) -> None:
        """Store the session of a bundle. Errors: those of ``import_bundle``."""
        await import_bundle(self._store, file, self._peers.find_key, self._witness.feed)


def _check(actions: Iterable[Action]) -> None:
    """Return if no action uploads a file or runs a script. Errors: ``caller.refused``."""
    if any(isinstance(action, Upload | Evaluate) for action in actions):
        raise MeshError("caller.refused", "work for a peer uploads no files of this node, and runs no scripts")


def _is_callers(session: Session) -> bool:
    """True if the calling peer recorded the session, or had it recorded here."""
    caller = str(current_caller())
    return caller in (session.node, session.caller)
