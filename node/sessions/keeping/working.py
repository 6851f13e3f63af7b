"""Shared by recording and replaying: the gate, the login, and the protection of a session from removal while it is in use."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.config import Config
from node.live.acting import Asks, Gate, LoginForms, Quiet, proposed
from node.live.browsers import Browsers, Wish
from node.sessions.keeping.reading import StoredSessions
from node.sessions.shared.questions import Questions
from node.signing import Witness
from node.trust import Peers
from node.verbs import CallerKind, Tell, current_caller
from protocol import limits
from protocol.audit import OWNER
from protocol.capsule.policy import Task
from protocol.errors import MeshError
from protocol.recording.records.session import Session
from protocol.risk.requests.requests import GuardPolicy


def own_start(session: Session, node: str) -> str:
    """The start address of ``session`` if the owner of ``node`` had it recorded; empty if others chose its sites and fields."""
    own = session.node == node and not session.search and session.caller in ("", OWNER)
    return session.start_url if own else ""


def named_by_owner(url: str) -> str:
    """``url`` if the owner is the current caller and so has named it; otherwise empty."""
    return url if current_caller().kind is CallerKind.OWNER else ""


class Working:
    """The parts of the node that recording and replaying use, and the rules that both obey."""

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
        self.witness, self.config, self.store, self.clock = witness, config, store, clock
        self.browsers, self.peers = browsers, peers
        self.questions = Questions(clock)
        self.reading = StoredSessions(witness, config, store, clock, peers)
        self._asks = asks
        self._used: Counter[str] = Counter()
        self._leaving: set[str] = set()
        """Sessions that are being removed. Removal takes several reads of the store, during which no replay may begin."""

    def gate(self, approve_class: int, guard: GuardPolicy, named: str = "", *, asks: bool = True) -> Gate:
        """The gate for every action. named: the address that a person named. asks: True if questions to the owner are noted."""
        risk_max = max(self._risk_max(), approve_class)
        asking = self._asks(current_caller(), "") if self._asks else None
        return Gate(
            report=self.witness.trail.gate,
            risk_max=risk_max,
            asking=asking if asks or asking is None else Quiet(asking),
            named=named,
            wall=self.browsers.wall(guard),
            scripts="none" if current_caller().kind is CallerKind.PEER else "all",
        )

    def _risk_max(self) -> int:
        """The highest class that is performed without asking. The owner's setting applies to the owner's work, not to work for
        peers.
        """
        usual = self.config.policy.risk_class_max
        return min(usual, limits.WORK_CLASS_MAX) if current_caller().kind is CallerKind.PEER else usual

    def wish(
        self, task: Task, guard: GuardPolicy, start_url: str, *, allow: tuple[str, ...], approve_class: int
    ) -> Wish:
        """The request for a capsule to be mounted."""
        return Wish(
            task=task,
            guard=guard,
            start_url=start_url,
            risk_max=self._risk_max(),
            approve_class=approve_class,
            allows=bool(allow),
        )

    async def proposed(self, forms: LoginForms, task: Task, tell: Tell) -> str:
        """A capsule for the site of the login form that the work has met; also reported in a note."""
        found = await self.browsers.mounts.proposes(forms.url, task) if forms.url else ""
        if found:
            tell({"note": proposed(found)})
        return found

    @contextlib.contextmanager
    def kept(self, session_id: str) -> Iterator[None]:
        """Protect the session from removal during the block. Errors: ``input.not_found``."""
        if session_id in self._leaving:
            raise MeshError("input.not_found", f"no session {session_id}", id=session_id)
        self._used[session_id] += 1
        try:
            yield
        finally:
            self._used[session_id] -= 1

    @contextlib.contextmanager
    def leaving(self, session_id: str) -> Iterator[None]:
        """Keep all work from using the session during the block. Errors: ``input.invalid`` if it is in use."""
        if self._used[session_id]:
            raise MeshError("input.invalid", "the session is being replayed", session=session_id)
        self._leaving.add(session_id)
        try:
            yield
        finally:
            self._leaving.discard(session_id)
