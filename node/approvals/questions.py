"""The questions of this node: each is noted after a refusal, answered with a signature, and consulted before actions.

Everything is in memory, and in the store before it has an effect. Time never runs backwards here: the latest seen time is stored
with the questions, so that a clock that is set back revives no approval.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from adapters.ports.browser import Leaving
from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.approvals.owner_keys import OwnerKeys
from node.approvals.showing import asked_of, shown_of, stand_of
from node.approvals.stored import QUESTIONS, QuestionRecord
from node.base.tasks import any_of
from node.live.acting import Sought
from node.signing import Witness
from node.verbs import Bound, Caller, CallerKind, current_caller
from node.verbs.nodes import approve as verbs
from node.verbs.nodes.approve import AnswerParams, AskedList, ListParams, Shown, ShowParams, Stand, StateParams
from protocol import ids, limits
from protocol.approval.approval import (
    KIND_APPROVAL,
    KIND_APPROVAL_USE,
    ApprovalUse,
    VerifiedAnswer,
    holds,
    open_approval,
    reopen,
)
from protocol.approval.forms import RequestForm
from protocol.approval.leaving import Fate
from protocol.approval.question import Cover, Question, cover_of, level_of
from protocol.audit import OWNER, Outcome
from protocol.errors import MeshError
from protocol.feed import Kind
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

_DAY_MS: Final = 86_400_000
_SENDS_S: Final = 10.0
_SETTLED: Final = frozenset({"no", "used", "over"})
Answered = Callable[[], None]
"""Called after every answer, once it is stored."""


class Waits(NamedTuple):
    """A request that waits for an answer."""

    address: str
    size: int


class Item(msgspec.Struct, kw_only=True, eq=False):
    """One question in memory."""

    record: QuestionRecord
    question: Question
    held: VerifiedAnswer | None = None
    """Its answer, verified."""


class Approvals:
    """The room of questions and approvals."""

    def __init__(self, witness: Witness, store: Store, clock: Clock, keys: OwnerKeys) -> None:
        self._witness, self._store, self._clock, self.keys = witness, store, clock, keys
        self._items: dict[str, Item] = {}
        self._latest_ms = 0
        self._answering = asyncio.Lock()
        self.listeners: list[Answered] = []
        keys.follow(self._revoked)
        self.bound: Bound = {
            verbs.LIST: lambda params, tell: self.listed(params),
            verbs.SHOW: lambda params, tell: self.show(params),
            verbs.ANSWER: lambda params, tell: self.answer(params),
            verbs.STATE: lambda params, tell: self.state(params),
            **keys.bound,
        }

    async def load(self) -> None:
        """Read the keys of the owners, then every question with its answer. Errors: ``store.*``."""
        await self.keys.load()
        for record in await self._store.rows(QUESTIONS).find():
            question = cbor.decode_as(record.question, Question)
            item = Item(record=_after_restart(record), question=question)
            self._latest_ms = max(self._latest_ms, record.seen_ms)
            if record.approval:
                try:
                    await self._check_logged(record)
                    item.held = reopen(record.approval, question, self.keys.owners)
                except MeshError as error:
                    log.warning("the answer to %s does not hold any more: %s", record.id, error)
                    item.record = msgspec.structs.replace(record, state="over")
                else:
                    item.record = self._as_logged(item.record, item.held)
            self._items[record.id] = item

    async def _check_logged(self, record: QuestionRecord) -> None:
        """Check that the answer is the last one in the witness log, so that a later no is not forgotten.

        Errors: ``approval.invalid``, ``envelope.*``, ``store.*``.
        """
        leaves = self._witness.entries(KIND_APPROVAL, record.id)
        last = await self._store.artefact(leaves[-1].digest) if leaves else None
        if last is None or envelope.peek(last.envelope).payload != record.approval:
            raise MeshError("approval.invalid", "it is not the last answer in the witness log")

    def _as_logged(self, record: QuestionRecord, held: VerifiedAnswer) -> QuestionRecord:
        """``record`` in the state from the witness log, in case the store says otherwise: answered with no, or used up."""
        if record.state == "yes" and not held.approval.yes:
            return msgspec.structs.replace(record, state="no")
        once = held.approval.scope == "once" and self._witness.entries(KIND_APPROVAL_USE, record.id)
        return msgspec.structs.replace(record, state="used") if once else record

    def asker(self, caller: Caller, search: str = "") -> Asker:
        """An ``Asker`` for ``caller``. search: its search, or empty."""
        return Asker(self, caller, search)

    # --- time --------------------------------------------------------------------------------------------------------

    def _now_ms(self) -> int:
        """The present time, but never earlier than one that was returned before."""
        self._latest_ms = max(self._latest_ms, self._clock.now_ms())
        return self._latest_ms

    def _due(self) -> list[Item]:
        """End the questions and approvals whose time is over. Returns those that ended now."""
        now_ms, due = self._now_ms(), []
        for item in self._items.values():
            waited = item.record.state == "open" and now_ms >= item.record.asked_ms + limits.QUESTION_DAYS * _DAY_MS
            expired = item.record.state in ("yes", "no") and item.held and now_ms >= item.held.approval.expires_ms
            if waited or expired:
                item.record = msgspec.structs.replace(item.record, state="over")
                due.append(item)
        return due

    async def _lapse(self) -> int:
        """End the questions and approvals whose time is over, and store that, so that a clock that is set back does not revive
        them. Returns the present time. Errors: ``store.*``.
        """
        for item in self._due():
            await self._put(item)
        return self._now_ms()

    async def _put(self, item: Item, kind: Kind | None = None) -> None:
        item.record = record = msgspec.structs.replace(item.record, seen_ms=self._now_ms())
        if kind is None:
            await self._store.rows(QUESTIONS).put(record)
        else:
            await self._witness.feed.along(
                lambda news: self._store.rows(QUESTIONS).put(record, news=news), kind, record.id
            )

    @property
    def latest_ms(self) -> int:
        """The latest seen time. It is the time of answers while the clock is behind it."""
        return self._latest_ms

    async def accept_clock(self, now_ms: int) -> int:
        """Accept ``now_ms`` although a later time was seen. Every yes ends, so that none is revived. Returns their number. Errors:
        ``store.*``.
        """
        ended = [item for item in self._items.values() if item.record.state == "yes"]
        ahead = [item for item in self._items.values() if item.record.state == "open" and item.record.asked_ms > now_ms]
        for item in (*ended, *ahead):
            item.record = msgspec.structs.replace(item.record, state="over")
        self._latest_ms = now_ms
        for item in self._items.values():
            await self._put(item)
        return len(ended)

    async def _revoked(self) -> int:
        """End the answers by keys that are no longer active."""
        active = {each.id for each in self.keys.owners.active}
        ended = [
            item
            for item in self._items.values()
            if item.record.state in ("yes", "no") and item.held and item.held.owner not in active
        ]
        for item in ended:
            item.record = msgspec.structs.replace(item.record, state="over")
        for item in ended:
            await self._put(item)
        return len(ended)

    # --- verbs -------------------------------------------------------------------------------------------------------

    async def listed(self, asked: ListParams) -> AskedList:
        """Questions, newest first."""
        await self._lapse()
        found = [item for item in self._items.values() if asked.all or item.record.state == "open"]
        return AskedList(questions=tuple(asked_of(item.record, item.question) for item in reversed(found)))

    async def show(self, asked: ShowParams) -> Shown:
        """One question. Errors: ``input.not_found``, ``input.invalid`` (the picture cannot be written), ``store.*``."""
        await self._lapse()
        item = self._item(asked.question)
        return await shown_of(item.record, item.question, item.held, self.keys.owners, self._store, asked.picture)

    async def state(self, asked: StateParams) -> Stand:
        """The state of a question of the caller, after it is answered or ``wait`` is over.

        Errors: ``input.not_found``, ``store.*``.
        """
        item, caller = self._item(asked.question), current_caller()
        if not caller.owns(item.question.caller, item.question.asked_ms):
            raise MeshError(
                "input.not_found", f"no question {asked.question}"
            )  # as for an unknown id, so that nobody can probe ids
        await self._lapse()
        if asked.wait:
            await any_of(self._over(item), self._clock.sleep(asked.wait))
            await self._lapse()
        return stand_of(item.record, item.question)

    async def _answered(self, item: Item) -> None:
        await self._until(lambda: item.record.state != "open")

    async def _until(self, done: Callable[[], bool]) -> None:
        news = asyncio.Event()
        self.listeners.append(news.set)
        try:
            while not done():
                await news.wait()
                news.clear()
        finally:
            self.listeners.remove(news.set)

    async def answer(self, asked: AnswerParams) -> Shown:
        """Accept a signed answer. Errors: ``input.*``, ``approval.*``, ``owner.refused``, ``envelope.*``, ``store.*``."""
        self._witness.check_untampered()
        try:
            sealed = bytes.fromhex(asked.signed)
        except ValueError:
            raise MeshError("input.invalid", "a signed approval is given in hexadecimal digits") from None
        async with self._answering:
            now_ms = await self._lapse()
            item = self._item(asked.question)
            if item.record.state not in ("open", "yes"):
                raise MeshError("approval.closed", f"{item.record.id} is {item.record.state}", state=item.record.state)
            held = open_approval(sealed, item.question, self.keys.owners, now_ms=now_ms)
            if item.record.state == "yes" and held.approval.yes:
                raise MeshError("approval.closed", f"{item.record.id} is yes; only a no can end that", state="yes")
            await self._store.put_artefact(await self._witness.artefact(KIND_APPROVAL, item.record.id, sealed))
            item.held = held
            item.record = msgspec.structs.replace(
                item.record,
                state="yes" if held.approval.yes else "no",
                approval=sealed,
                answered_ms=now_ms,
            )
            await self._put(item, Kind.QUESTION_ANSWERED)
        owner = self.keys.owners.require(held.owner, 0)
        note = {"owner": owner.name, "yes": "yes" if held.approval.yes else "no", "scope": held.approval.scope}
        by = f"owner:{owner.name}" if held.approval.yes else ""
        await self._witness.trail.write(
            "approval", subject=item.record.id, risk=item.question.level, approved_by=by, note=note
        )
        for tell in self.listeners:
            tell()
        if item.record.held in ("held", "sending"):  # the owner wants to read the fate of the request
            await any_of(self._settled(item), self._clock.sleep(_SENDS_S))
        return await shown_of(item.record, item.question, item.held, self.keys.owners, self._store, "")

    async def _over(self, item: Item) -> None:
        """Return once ``item`` is answered and the fate of a waiting request is known."""
        await self._answered(item)
        await self._settled(item)

    def _item(self, text: str) -> Item:
        """Errors: ``id.invalid``, ``input.not_found``."""
        item = self._items.get(ids.parse_id("que", text))
        if item is None:
            raise MeshError("input.not_found", f"no question {text}")
        return item

    # --- asking and using ---------------------------------------------------------------------------------------------

    def asked_by(self, question_id: str) -> tuple[str, int] | None:
        """The caller and time of a question; None if it no longer exists."""
        item = self._items.get(question_id)
        return (item.question.caller, item.question.asked_ms) if item else None

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
        item = self._items[question.id] = Item(record=record, question=question)
        await self._put(item, Kind.QUESTION_ASKED)
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
    ) -> Item | None:
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

    async def _count(self, item: Item) -> None:
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

    async def _spend(self, found: list[Item]) -> None:
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
                Outcome.APPROVED,
                subject=item.record.id,
                risk=item.question.level,
                approved_by=f"owner:{owner.name}",
            )

    # --- what waits ---------------------------------------------------------------------------------------------------

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
        item.record = _with_fate(item.record, fate)
        await self._put(item, Kind.QUESTION_ANSWERED if fate != "refused" else None)
        for tell in self.listeners:
            tell()

    async def _settled(self, item: Item) -> None:
        """Return once the fate of the request that waits for ``item`` is known."""
        await self._until(lambda: item.record.held not in ("held", "sending"))

    def _fits(self, item: Item, sought: Sought, kind: str, caller: Caller, search: str, now_ms: int) -> bool:
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


def _after_restart(record: QuestionRecord) -> QuestionRecord:
    """``record`` of an earlier process. Its browsers ended with it, so a request that was still held never left."""
    ended = {"held": "withdrawn", "sending": "unknown"}
    return _with_fate(record, ended.get(record.held, record.held))


def _with_fate(record: QuestionRecord, fate: str) -> QuestionRecord:
    """``record`` with the fate of its request. If the fate is unknown, a lasting yes ends, as it might send the request again."""
    ends = fate == "unknown" and record.state == "yes"
    return msgspec.structs.replace(record, held=fate, state="over" if ends else record.state)


async def end_answers(store: Store) -> int:
    """End every yes in a store that is a copy, because some may have been used since the copy was made. Returns their number.
    Errors: ``store.*``.
    """
    held = [record for record in await store.rows(QUESTIONS).find() if record.state == "yes"]
    for record in held:
        await store.rows(QUESTIONS).put(msgspec.structs.replace(record, state="over"))
    return len(held)


class Asker:
    """Implements ``node.live.Asking`` for one caller."""

    def __init__(self, approvals: Approvals, caller: Caller, search: str) -> None:
        self._approvals, self._caller, self._search = approvals, caller, search

    async def granted(self, sought: Sought) -> Cover | None:
        """Implements ``Asking.granted``."""
        return next(iter(await self._approvals.use(sought, "action", self._caller, self._search)), None)

    async def covers(self, sought: Sought) -> tuple[Cover, ...]:
        """Implements ``Asking.covers``."""
        return await self._approvals.use(sought, "request", self._caller, self._search)

    async def stands(self, sought: Sought) -> bool:
        """Implements ``Asking.stands``."""
        return bool(self._approvals.answered(sought, self._caller, self._search))

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), exacts: tuple[bytes, ...] = ()) -> str:
        """Implements ``Asking.ask``."""
        try:
            return await self._approvals.note(sought, requests, str(self._caller), self._search, exacts)
        except MeshError as error:
            log.warning("a question could not be noted: %s", error)
            return ""

    async def hold(self, sought: Sought, leaving: Leaving, address: str) -> str:
        """Implements ``HoldAsking.hold``."""
        try:
            waits = Waits(address=address[: limits.URL_CHARS_MAX], size=leaving.size)
            exacts, caller = (leaving.exact,), str(self._caller)
            return await self._approvals.note(sought, (leaving.form,), caller, self._search, exacts, waits)
        except MeshError as error:
            log.warning("a question could not be noted: %s", error)
            return ""

    async def answered(self, question: str) -> None:
        """Implements ``HoldAsking.answered``."""
        await self._approvals.until_answered(question)

    async def spend(self, question: str) -> bool:
        """Implements ``HoldAsking.spend``."""
        try:
            return await self._approvals.spend_held(question)
        except MeshError as error:
            log.warning("a yes could not be used: %s", error)
            return False

    async def became(self, question: str, fate: Fate) -> None:
        """Implements ``HoldAsking.became``."""
        try:
            await self._approvals.became(question, fate)
        except MeshError as error:
            log.warning("it could not be noted what became of a request: %s", error)
