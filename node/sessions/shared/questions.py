"""The questions that running replays and recordings have asked the owner, and for whose answers they wait."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from adapters.ports.clock import Clock
from node.live.acting import Driver
from node.verbs import Tell
from node.verbs.sessions.session_question import Answered, StepQuestion, WriteQuestion
from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import PageAddress, PageText
from protocol.page.actions.action import describe
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.recording.records.findings import Difference, in_words, merged
from protocol.recording.records.session import Step
from protocol.recording.replays.call_log import as_line, found_element

_ID_BYTES: Final = 16


class Questions:
    """The open questions of this node."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[str, tuple[asyncio.Future[bool], str, int]] = {}

    async def ask(self, session: str, question: StepQuestion | WriteQuestion, tell: Tell) -> bool | None:
        """Report ``question`` to the caller and wait for the answer; None if none came in time."""
        # A held request: its page does not wait forever.
        timeout_s = limits.HELD_TERMINAL_S if isinstance(question, WriteQuestion) else limits.ANSWER_TIMEOUT_S
        # Random, so that an answer fits only the question that its sender has read.
        id = self._clock.random(_ID_BYTES).hex()
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        over = asyncio.ensure_future(self._clock.sleep(timeout_s))
        self._open[id] = (answer, session, question.step)
        either: set[asyncio.Future[Any]] = {answer, over}
        try:
            tell({"question": {"id": id, "timeout_s": timeout_s, **msgspec.structs.asdict(question)}})
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return answer.result() if answer.done() else None
        finally:
            del self._open[id]
            over.cancel()

    def answer(self, id: str, *, yes: bool) -> Answered:
        """Accept the answer to question ``id``. Errors: ``input.not_found`` (it was answered, or its time is over)."""
        answer, session, step = self._open.get(id, (None, "", 0))
        if answer is None or answer.done():
            raise MeshError("input.not_found", "nothing waits for this answer", id=id)
        answer.set_result(yes)
        return Answered(question=id, session=session, step=step, yes=yes)


class _Page(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a page that a question shows."""

    title: PageText
    url: PageAddress
    element: PageText


def question_about(
    step: Step,
    risk: int,
    reason: str,
    driver: Driver | None,
    differences: Sequence[Difference],
    secrets: Mapping[str, str],
) -> StepQuestion:
    """The question about ``step``, whose element ``driver`` has found.

    driver: None if secrets of the recording were not given; the question then shows no text of the page.
    """
    page, prepared = (driver.observation, driver.prepared) if driver else (None, None)
    element = found_element(prepared.aim or prepared.element, prepared.evidence) if prepared else ""
    raw = _Page(title=page.title if page else "", url=page.url if page else "", element=element)
    seen = redacted(raw, Redaction(secrets))
    return StepQuestion(
        step=step.index,
        action=describe(step.action),
        element=as_line(seen.element),
        page=f"“{seen.title}” at {seen.url}" if page else "",
        risk=risk,
        reason=reason,
        differences=tuple(map(in_words, merged(differences)[: limits.DIFFERENCES_PER_STEP_MAX])),
    )
