"""Writes the audit trail: a row before a privileged action, and one after it that says how it ended.

If the first row cannot be written, the action is not performed. After a crash between the two rows, the trail shows an action
that was begun and has no end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from adapters.audit_records import AuditLine
from adapters.ports.clock import Clock
from adapters.ports.store import AuditStore
from node.signing.identity import Identity
from node.verbs import AuditedPart
from protocol import audit
from protocol.audit import NODE, OWNER, AuditDraft, AuditOutcome
from protocol.errors import MeshError
from protocol.page.actions.action import Action
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.risk.pressing.classes import Risk
from protocol.wire.envelope import key_id

log = logging.getLogger(__name__)


class Doing:
    """A privileged action in progress: ``async with trail.doing(…)``. Tasks started in the block belong to it."""

    def __init__(self, trail: Trail, what: str, who: str, subject: str, risk: int, note: Mapping[str, str]) -> None:
        self._trail = trail
        self._what, self._note, self._risk = what, note, risk
        # Only the owner can set the option that approves, so an approval here is always the owner's.
        self._approved_by = OWNER if risk else ""
        self._token: Token[Doing | None] | None = None
        self.who = who
        self.subject = subject
        """Can be set during the action, if the subject is known only then."""
        self.number = 0
        """Number of the row that began it; 0 if there is none."""
        self.over = False

    async def __aenter__(self) -> Doing:
        row = await self._trail.write(
            self._what,
            AuditOutcome.BEGUN,
            who=self.who,
            subject=self.subject,
            risk=self._risk,
            approved_by=self._approved_by,
            note=self._note,
        )
        self.number = row.number
        self._token = _doing.set(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._token is not None, "entered before it is left"
        _doing.reset(self._token)
        self.over = True
        outcome, code, note = AuditOutcome.DONE, "", dict[str, str]()
        if isinstance(error, MeshError):
            outcome, code = AuditOutcome.FAILED, error.shown.code
            if error.code == "browser.refused":
                # An action file or a page named it, so the row that began the action could not.
                note["origin"] = str(error.detail.get("origin", ""))
        elif isinstance(error, Exception):
            outcome, code = AuditOutcome.FAILED, "internal.fault"
        elif error is not None:
            outcome = AuditOutcome.INTERRUPTED
        end = self._trail.write(
            self._what,
            outcome,
            who=self.who,
            subject=self.subject,
            risk=self._risk,
            approved_by=self._approved_by,
            code=code,
            of=self.number,
            note=note,
        )
        try:
            await asyncio.shield(end)  # a second Ctrl-C must not lose the row that ends the action
        except MeshError as failed:
            # The action has been performed and its first row is stored. Raising here would report it as failed.
            log.error("no end row could be written for row %d of the audit trail: %s", self.number, failed)


_doing: ContextVar[Doing | None] = ContextVar("doing", default=None)


class Trail:
    """This node's audit trail. Rows say which witness key was current when they were written."""

    def __init__(self, identity: Identity, store: AuditStore, clock: Clock) -> None:
        self._identity, self._store, self._clock = identity, store, clock

    def doing(
        self, what: str, *, who: str, subject: str = "", risk: int = 0, note: Mapping[str, str] | None = None
    ) -> Doing:
        """Record the block as a privileged action. risk: the class that its caller has approved, 0 for none.

        Errors on entering: ``store.*``, ``node.stopped``; then nothing was done.
        """
        return Doing(self, what, who, subject, risk, note or {})

    def declared(self, what: str, row: AuditedPart, who: str, given: Any) -> Doing:
        """Record the privileged verb or route ``what``; ``row`` selects the parameters that may be stored."""
        return self.doing(what, who=who, subject=row.subject(given), risk=row.risk(given), note=row.note(given))

    @contextmanager
    def for_peer(self, node: str) -> Iterator[None]:
        """Attribute the block to a peer. This alone writes no row."""
        token = _doing.set(Doing(self, "", node, "", 0, {}))
        try:
            yield
        finally:
            _doing.reset(token)

    async def write(
        self,
        what: str,
        outcome: AuditOutcome = AuditOutcome.DONE,
        *,
        who: str = "",
        subject: str = "",
        risk: int = 0,
        approved_by: str = "",
        code: str = "",
        of: int = 0,
        note: Mapping[str, str] | None = None,
    ) -> AuditLine:
        """Add a row. who, of: by default those of the privileged action that this is part of.

        Errors: ``store.*``, ``node.stopped``.
        """
        within = _doing.get()
        draft = AuditDraft(
            at_ms=self._clock.now_ms(),
            what=what,
            who=who or self.who,
            outcome=outcome,
            key=key_id(self._identity.public_key).hex(),
            key_events=len(self._identity.log),
            subject=subject,
            of=of or (within.number if within else 0),
            risk=risk,
            approved_by=approved_by,
            code=code,
            note=dict(note or {}),
        )
        # A caller may give an address with a token. Texts are cut afterwards, because half a token is not recognised.
        return await self._store.append_audit(audit.fitting(redacted(draft, Redaction({}))))

    @property
    def who(self) -> str:
        """The caller that this task works for: ``owner``, another caller, the id of a peer, or ``node``."""
        within = _doing.get()
        return within.who if within else NODE

    def about(self, subject: str) -> None:
        """Set the subject of the privileged action, once it is known."""
        within = _doing.get()
        if within is not None:
            within.subject = subject

    async def gate(self, action: Action, risk: Risk, admitted: bool) -> None:
        """Record a decision of the gate; the ``Report`` of every ``acting.Gate``. Typed text is not recorded."""
        await self.write(
            "action",
            AuditOutcome.APPROVED if admitted else AuditOutcome.REFUSED,
            risk=risk.level,
            approved_by=OWNER if admitted else "",
            code="" if admitted else "risk.refused",
            note={"did": type(action).__name__.lower(), "reason": risk.reason},
        )

    async def paired(self, node: str, name: str, scopes: Sequence[str], before: Sequence[str] | None) -> str:
        """Write the row of a pairing that is about to be stored; return its caller. before: the scopes the peer had; None
        if it was not a peer.
        """
        granted, removed = sorted(set(scopes) - set(before or ())), sorted(set(before or ()) - set(scopes))
        note = {
            "name": name,
            "peer": "known" if before is not None else "new",
            "granted": ",".join(granted),
            "removed": ",".join(removed),
        }
        within = _doing.get()
        joining = within is not None and not within.over
        if joining:
            self.about(node)
        # The joiner usually arrives after the command that made the invite has ended; the row still refers to that command.
        row = await self.write("peer.paired", who="" if joining else node, subject=node, note=note)
        return row.who
