"""Describes questions for people."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from adapters.ports.store import Store
from node.approvals.stored import QuestionRecord
from node.verbs.nodes.approve import Asked, GivenAnswer, HeldState, ShownQuestion, Stand, State
from protocol.approval.approval import VerifiedAnswer
from protocol.approval.forms import action_words, request_words
from protocol.approval.owners import Owners
from protocol.approval.question import Question, digest_of
from protocol.errors import MeshError
from protocol.page.seen.names import legible


def _fields(record: QuestionRecord, question: Question) -> dict[str, Any]:
    return {
        "id": record.id,
        "state": cast(State, record.state),
        "kind": question.kind,
        "does": legible(action_words(question.action)),
        "page": legible(question.page),
        "site": question.origin,
        "risk": question.level,
        "reason": legible(_reason(question)),
        "caller": question.caller,
        "search": question.search,
        "session": question.session,
        "step": question.step,
        "asked_ms": record.asked_ms,
        "times": record.times,
        "held": cast(HeldState, record.held),
    }


def _reason(question: Question) -> str:
    """The reason for the question. If requests were refused, they are the reason, because the action itself may be harmless."""
    if question.requests:
        more = f" and {len(question.requests) - 1} more" if len(question.requests) > 1 else ""
        return f"it sends {request_words(question.requests[0])}{more}"
    return question.evidence[0] if question.evidence else ""


def _requests(question: Question) -> tuple[str, ...]:
    return tuple(legible(request_words(form)) for form in question.requests)


def asked_of(record: QuestionRecord, question: Question) -> Asked:
    """One line of a list."""
    return Asked(**_fields(record, question))


def stand_of(record: QuestionRecord, question: Question) -> Stand:
    """The state of a question, without the page and the picture."""
    asked = asked_of(record, question)
    requests = _requests(question)
    return Stand(id=asked.id, state=asked.state, does=asked.does, requests=requests, risk=asked.risk, held=asked.held)


async def shown_of(
    record: QuestionRecord, question: Question, held: VerifiedAnswer | None, owners: Owners, store: Store, picture: str
) -> ShownQuestion:
    """All facts about a question. picture: the file to which the picture of the page is written; empty for none.

    Errors: ``input.invalid``, ``store.*``.
    """
    found = await _picture(question, store)
    if picture and found:
        try:
            await asyncio.to_thread(Path(picture).write_bytes, found)
        except OSError as error:
            raise MeshError("input.invalid", f"{picture} cannot be written: {error.strerror}", path=picture) from error
    return ShownQuestion(
        **_fields(record, question),
        evidence=tuple(map(legible, question.evidence)),
        requests=_requests(question),
        open_requests=question.open_requests,
        picture=picture if found else "",
        has_picture=bool(found),
        answer=_answer(record, held, owners),
        question=record.question.hex(),
        digest=digest_of(question).hex(),
    )


async def _picture(question: Question, store: Store) -> bytes:
    """The screenshot of the page before the step, else of the step; empty if neither was recorded, or it was purged."""
    if not question.session:
        return b""
    near = (question.step - 1, question.step)
    step = next((each for each in await store.steps(question.session) if each.index in near and each.screenshot), None)
    if step is None:
        return b""
    try:
        return await store.blob(step.screenshot)
    except MeshError as error:
        if error.code != "blob.missing":
            raise
        return b""


def _answer(record: QuestionRecord, held: VerifiedAnswer | None, owners: Owners) -> GivenAnswer | None:
    if held is None:
        return None
    name = next((each.name for each in owners.active if each.id == held.owner), held.owner)
    return GivenAnswer(
        yes=held.approval.yes,
        scope=held.approval.scope,
        owner=name,
        answered_ms=record.answered_ms,
        expires_ms=held.approval.expires_ms,
        uses=record.uses,
    )
