"""The room of questions and approvals: each is noted after a refusal, answered with a signature, and consulted before actions."""

from __future__ import annotations

from typing import Final

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.approvals.asker import Asker
from node.approvals.noting import Noting
from node.approvals.owner_keys import OwnerKeys
from node.approvals.showing import asked_of, shown_of, stand_of
from node.base.tasks import any_of
from node.signing import Witness
from node.verbs import Bound, Caller, current_caller
from node.verbs.nodes import approve as verbs
from node.verbs.nodes.approve import AnswerParams, AskedList, ListParams, ShownQuestion, ShowParams, Stand, StateParams
from protocol.approval.approval import (
    KIND_APPROVAL,
    open_approval,
)
from protocol.errors import MeshError
from protocol.feed import FeedKind

_SENDS_S: Final = 10.0


class Approvals(Noting):
    """The room of questions and approvals: its verbs."""

    def __init__(self, witness: Witness, store: Store, clock: Clock, keys: OwnerKeys) -> None:
        super().__init__(witness, store, clock, keys)
        self.bound: Bound = {
            verbs.LIST: lambda params, tell: self.listed(params),
            verbs.SHOW: lambda params, tell: self.show(params),
            verbs.ANSWER: lambda params, tell: self.answer(params),
            verbs.STATE: lambda params, tell: self.state(params),
            **keys.bound,
        }

    @property
    def enrolled(self) -> bool:
        """True if a key of an owner is active."""
        return bool(self.keys.owners.active)

    def asker(self, caller: Caller, search: str = "") -> Asker:
        """An ``Asker`` for ``caller``. search: its search, or empty."""
        return Asker(self, caller, search)

    async def listed(self, asked: ListParams) -> AskedList:
        """The questions that the caller may see, newest first."""
        await self._lapse()
        caller = current_caller()
        found = [
            item
            for item in self._items.values()
            if (asked.all or item.record.state == "open") and caller.owns(item.question.caller, item.question.asked_ms)
        ]
        return AskedList(questions=tuple(asked_of(item.record, item.question) for item in reversed(found)))

    async def show(self, asked: ShowParams) -> ShownQuestion:
        """One question. Errors: ``input.not_found``, ``input.invalid`` (the picture cannot be written), ``store.*``."""
        await self._lapse()
        item = self._item(asked.question)
        return await shown_of(item.record, item.question, item.held, self.keys.owners, self._store, asked.picture)

    async def standing(self, question: str) -> Stand:
        """The standing of a question now, for its caller. Errors: as ``state``."""
        return await self.state(StateParams(question=question))

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

    async def answer(self, asked: AnswerParams) -> ShownQuestion:
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
            await self._put(item, FeedKind.QUESTION_ANSWERED)
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
