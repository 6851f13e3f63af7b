"""Notes questions about what was refused, and uses their answers."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

import msgspec

from node.approvals.keeping import KeptQuestions, PendingQuestion, with_fate
from node.approvals.stored import QUESTIONS, QuestionRecord
from node.live.acting import Sought
from node.verbs import Caller, CallerKind
from protocol import ids, limits
from protocol.approval.approval import (
    KIND_APPROVAL_USE,
    ApprovalUse,
    holds,
)
from protocol.approval.forms import RequestForm
from protocol.approval.leaving import Fate
from protocol.approval.question import Cover, Question, cover_of, level_of
from protocol.audit import OWNER, AuditOutcome
from protocol.feed import FeedKind
from protocol.wire import cbor

_SETTLED: Final = frozenset({"no", "used", "over"})


class Waits(NamedTuple):
    """A request that waits for an answer."""

    address: str
    size: int


class Noting(KeptQuestions):
    """Kept questions that actions add to, and whose answers they use."""

    def answered(self, sought: Sought, caller: Caller, search: str = "") -> str:
        """The id of a question whose answer allows this action now; empty if there is none. No answer is used up."""
        now_ms = self._now_ms()
        fits = (id for id, item in self._items.items() if self._fits(item, sought, "action", caller, search, now_ms))
        return next(fits, "")

    async def note(
        self,
        sought: Sought,
        requests: tuple[RequestForm, ...],
        caller: str,
        search: str,
        exacts: tuple[bytes, ...] = (),
        waits: Waits | None = None,
    ) -> str:
        """Note a question, and return its id; empty if too many are open. exacts: the digests of those ``requests`` that are known
        completely. waits: the request that waits for the answer. Errors: ``store.*``.
        """
        now_ms, requests = await self._lapse(), requests[: limits.QUESTION_REQUESTS_MAX]
        exacts = tuple(sorted(exacts))[: limits.QUESTION_REQUESTS_MAX]
        alike = self._alike(sought, requests, caller, search, exacts, waits=waits is not None)
        if alike is not None:
            if waits and alike.record.held != "held":
                alike.record = msgspec.structs.replace(alike.record, held="held")
                await self._put(alike)
            await self._count(alike)
            return alike.record.id
        await self._replace(sought, requests, caller, search)
        origin = sought.form.origin
        if not origin or (self._full(caller, origin) and not await self._retire(caller, origin, search)):
            return ""
        question = Question(
            id=ids.make_id("que", self._clock.random(ids.ID_RANDOM_BYTES)),
            node=self._witness.node,
            kind="request" if requests else "action",
            exact=sought.exact,
            action=sought.form,
            requests=requests,
            open_requests=not requests,
            level=max(sought.level, *map(level_of, requests)) if requests else sought.level,
            evidence=sought.evidence,
            page=sought.page,
            caller=caller,
            search=search,
            session=sought.session,
            step=sought.step,
            asked_ms=now_ms,
            exacts=exacts,
            address=waits.address if waits else "",
            size=waits.size if waits else 0,
        )
        held = "held" if waits else ""
        record = QuestionRecord(id=question.id, asked_ms=now_ms, question=cbor.encode(question), held=held)
        item = self._items[question.id] = PendingQuestion(record=record, question=question)
        await self._put(item, FeedKind.QUESTION_ASKED)
        await self._make_room()
        return question.id

    def _alike(
        self,
        sought: Sought,
        requests: tuple[RequestForm, ...],
        caller: str,
        search: str,
        exacts: tuple[bytes, ...] = (),
        *,
        waits: bool = False,
    ) -> PendingQuestion | None:
        """An equal question that is open or was answered with no. A search asks about a control on every page of a site only once
        at a time, although the answer will hold for one page only.
        """
        kind = "request" if requests else "action"
        for item in self._items.values():
            asked = item.question
            if item.record.state not in ("open", "no") or (asked.caller, asked.search) != (caller, search):
                continue
            # A question about completely known requests is equal only with the same page, control and row; one about a waiting
            # request, only in the same session.
            same = (not exacts or asked.exact == sought.exact) and (not waits or asked.session == sought.session)
            if same and (asked.kind, asked.action, asked.requests, asked.exacts) == (
                kind,
                sought.form,
                requests,
                exacts,
            ):
                return item
            elsewhere = msgspec.structs.replace(asked.action, path=sought.form.path)
            if search and item.record.state == "open" and asked.kind == kind == "action" and elsewhere == sought.form:
                return item
        return None

    async def _count(self, item: PendingQuestion) -> None:
        """Count that the question of ``item`` was asked again."""
        item.record = msgspec.structs.replace(item.record, times=item.record.times + 1)
        # Not stored every time, because a page could keep the disk busy.
        if item.record.times & (item.record.times - 1) == 0:
            await self._put(item)

    def _full(self, caller: str, origin: str) -> bool:
        """True if no more questions may be open, so that the owner can read them all."""
        every = [item.question for item in self._items.values() if item.record.state == "open"]
        own = [question for question in every if question.caller == caller]
        here = sum(question.origin == origin for question in own)
        # Agents and peers must not crowd out questions of the owner's own searches.
        crowded = len(every) >= limits.QUESTIONS_OPEN_MAX and caller != OWNER
        return crowded or len(own) >= limits.QUESTIONS_PER_CALLER_MAX or here >= limits.QUESTIONS_PER_SITE_MAX

    async def _retire(self, caller: str, origin: str, search: str) -> bool:
        """End the oldest open question of the same caller about the same site from another search.

        True if there was one. Otherwise questions of an ended search would block the next one.
        """
        for item in self._items.values():
            asked = item.question
            same = item.record.state == "open" and (asked.caller, asked.origin) == (caller, origin)
            if same and asked.search not in ("", search):
                item.record = msgspec.structs.replace(item.record, state="over")
                await self._put(item)
                return True
        return False

    async def _replace(self, sought: Sought, requests: tuple[RequestForm, ...], caller: str, search: str) -> None:
        """End open questions about earlier requests of the same control with other content, which it would not send again."""
        for item in self._items.values():
            asked, now = item.question, (sought.exact, requests, caller, search)
            same = (asked.exact, asked.requests, asked.caller, asked.search) == now
            if asked.exacts and same and (item.record.state, item.record.held) == ("open", ""):
                item.record = msgspec.structs.replace(item.record, state="over")
                await self._put(item)

    async def _make_room(self) -> None:
        old = [id for id, item in self._items.items() if item.record.state in _SETTLED]
        for id in old[: max(0, len(self._items) - limits.QUESTIONS_KEPT_MAX)]:
            del self._items[id]
            await self._store.rows(QUESTIONS).remove(id)

    async def use(self, sought: Sought, kind: str, caller: Caller, search: str) -> tuple[Cover, ...]:
        """The requests that answers to questions of ``kind`` allow for this action.

        Answers with scope ``once`` are used up when this returns. The witness log records that, so that an edit of the store does
        not revive them.

        Errors: ``store.*``, ``log.rollback``, ``keylog.*``.
        """
        if self._witness.tampered:
            return ()
        now_ms = await self._lapse()
        found = [item for item in self._items.values() if self._fits(item, sought, kind, caller, search, now_ms)]
        await self._spend(found)
        return tuple(cover_of(item.question, once=item.record.state == "used") for item in found)

    async def _spend(self, found: list[PendingQuestion]) -> None:
        """Use the answers of ``found`` once. Errors: as ``use``."""
        for item in found:  # before the first await, so that two actions cannot both use an answer for once
            assert item.held is not None, "it holds"
            once = item.held.approval.scope == "once"
            item.record = msgspec.structs.replace(
                item.record, uses=item.record.uses + 1, state="used" if once else item.record.state
            )
        for item in found:
            assert item.held is not None, "it holds"
            if item.record.state == "used":
                said = ApprovalUse(question=item.record.id, approval=hashlib.sha256(item.record.approval).digest())
                await self._witness.artefact(KIND_APPROVAL_USE, item.record.id, said)
            await self._put(item)
            owner = self.keys.owners.require(item.held.owner, 0)
            await self._witness.trail.write(
                "approval.used",
                AuditOutcome.APPROVED,
                subject=item.record.id,
                risk=item.question.level,
                approved_by=f"owner:{owner.name}",
            )

    async def until_answered(self, question_id: str) -> None:
        """Return once the question is answered, or its time is over."""
        if item := self._items.get(question_id):
            await self._answered(item)

    async def spend_held(self, question_id: str) -> bool:
        """Use a yes for the request that waits for it. False if there is no valid one. Errors: ``store.*``, ``log.rollback``."""
        item = self._items.get(question_id)
        await self._lapse()
        if item is None or item.record.state != "yes" or item.record.held != "held" or self._witness.tampered:
            return False
        item.record = msgspec.structs.replace(item.record, held="sending")
        await self._spend([item])
        return True

    async def became(self, question_id: str, fate: Fate) -> None:
        """Note the fate of the waiting request. Errors: ``store.*``."""
        item = self._items.get(question_id)
        if item is None or item.record.held not in ("held", "sending"):
            return
        item.record = with_fate(item.record, fate)
        await self._put(item, FeedKind.QUESTION_ANSWERED if fate != "refused" else None)
        for tell in self.listeners:
            tell()

    def _fits(self, item: PendingQuestion, sought: Sought, kind: str, caller: Caller, search: str, now_ms: int) -> bool:
        question = item.question
        if item.record.state != "yes" or item.held is None or question.kind != kind:
            return False
        if caller.kind is CallerKind.AGENT and question.asked_ms < caller.since_ms:
            return False  # a removed agent had the name then
        return holds(
            item.held,
            question,
            exact=sought.exact,
            form=sought.form,
            level=sought.level,
            caller=str(caller),
            search=search,
            now_ms=now_ms,
        )
