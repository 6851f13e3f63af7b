"""The questions of this node as they are kept: in memory, and in the store before anything has an effect.

Time never runs backwards here: the latest seen time is stored with the questions, so that a clock that is set back revives no
approval.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.approvals.owner_keys import OwnerKeys
from node.approvals.stored import QUESTIONS, QuestionRecord
from node.signing import Witness
from protocol import ids, limits
from protocol.approval.approval import (
    KIND_APPROVAL,
    KIND_APPROVAL_USE,
    VerifiedAnswer,
    reopen,
)
from protocol.approval.question import Question
from protocol.errors import MeshError
from protocol.feed import FeedKind
from protocol.wire import cbor, envelope

log = logging.getLogger(__name__)

_DAY_MS: Final = 86_400_000
Answered = Callable[[], None]
"""Called after every answer, once it is stored."""


class PendingQuestion(msgspec.Struct, kw_only=True, eq=False):
    """One question in memory."""

    record: QuestionRecord
    question: Question
    held: VerifiedAnswer | None = None
    """Its answer, verified."""


class KeptQuestions:
    """Questions with their answers, and how their time ends."""

    def __init__(self, witness: Witness, store: Store, clock: Clock, keys: OwnerKeys) -> None:
        self._witness, self._store, self._clock, self.keys = witness, store, clock, keys
        self._items: dict[str, PendingQuestion] = {}
        self._latest_ms = 0
        self._answering = asyncio.Lock()
        self.listeners: list[Answered] = []
        keys.follow(self._revoked)

    async def load(self) -> None:
        """Read the keys of the owners, then every question with its answer. Errors: ``store.*``."""
        await self.keys.load()
        for record in await self._store.rows(QUESTIONS).find():
            question = cbor.decode_as(record.question, Question)
            item = PendingQuestion(record=_after_restart(record), question=question)
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

    def _now_ms(self) -> int:
        """The present time, but never earlier than one that was returned before."""
        self._latest_ms = max(self._latest_ms, self._clock.now_ms())
        return self._latest_ms

    def _due(self) -> list[PendingQuestion]:
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

    async def _put(self, item: PendingQuestion, kind: FeedKind | None = None) -> None:
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

    def _item(self, text: str) -> PendingQuestion:
        """Errors: ``id.invalid``, ``input.not_found``."""
        item = self._items.get(ids.parse_id("que", text))
        if item is None:
            raise MeshError("input.not_found", f"no question {text}")
        return item

    def asked_by(self, question_id: str) -> tuple[str, int] | None:
        """The caller and time of a question; None if it no longer exists."""
        item = self._items.get(question_id)
        return (item.question.caller, item.question.asked_ms) if item else None

    async def _answered(self, item: PendingQuestion) -> None:
        await self._until(lambda: item.record.state != "open")

    async def _settled(self, item: PendingQuestion) -> None:
        """Return once the fate of the request that waits for ``item`` is known."""
        await self._until(lambda: item.record.held not in ("held", "sending"))

    async def _over(self, item: PendingQuestion) -> None:
        """Return once ``item`` is answered and the fate of a waiting request is known."""
        await self._answered(item)
        await self._settled(item)

    async def _until(self, done: Callable[[], bool]) -> None:
        news = asyncio.Event()
        self.listeners.append(news.set)
        try:
            while not done():
                await news.wait()
                news.clear()
        finally:
            self.listeners.remove(news.set)


def _after_restart(record: QuestionRecord) -> QuestionRecord:
    """``record`` of an earlier process. Its browsers ended with it, so a request that was still held never left."""
    ended = {"held": "withdrawn", "sending": "unknown"}
    return with_fate(record, ended.get(record.held, record.held))


def with_fate(record: QuestionRecord, fate: str) -> QuestionRecord:
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
