"""Decides whether a replay may still write after a step did not match: never, always, or for each such step if the owner says
so.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

from node.live.acting import Gate, Sought
from node.verbs.sessions.session_question import StepQuestion
from protocol import limits
from protocol.approval.question import Cover
from protocol.errors import MeshError
from protocol.page.actions.action import Action
from protocol.recording.records.session import Step, StepMatch
from protocol.risk.pressing.classes import WRITE_CLASS, Risk

OnMismatch = Literal["stop", "go", "ask"]
"""The treatment of steps that write, after a step that did not match."""

AskOwner = Callable[[StepQuestion], Awaitable[bool | None]]
"""Asks the owner. Returns the answer, or None if there was none in time."""

_UNANSWERED: Final = f"; nobody answered within {limits.ANSWER_TIMEOUT_S} s"


class ReplayGate(Gate, frozen=True, kw_only=True):
    """The gate of a replay. It first checks whether the replay may still write, and then whether the class is approved."""

    check_write: Callable[[int], Awaitable[None]]

    async def admit(
        self, action: Action, risk: Risk, sought: Sought | None = None, *, free: bool = False
    ) -> tuple[Cover, ...]:
        """As ``Gate.admit``. Errors: also ``replay.diverged``."""
        # Checked before the approval: neither an approved class nor a yes of the owner lets a replay write on the wrong page.
        await self.check_write(risk.level)
        return await Gate.admit(self, action, risk, sought, free=free)


class Writes:
    """Decides about the writes of one replay. ``matches``: its steps so far; the caller appends to it."""

    def __init__(self, on_mismatch: OnMismatch, ask: AskOwner | None, risk_max: int, matches: Sequence[StepMatch]):
        """risk_max: the highest approved class. ask: None if nobody can be asked."""
        self._on_mismatch = on_mismatch
        self._ask = ask
        self._risk_max = risk_max
        self._matches = matches
        self._forbidden: tuple[int, str] | None = None
        self.agreed: list[int] = []
        """Steps that the owner allowed."""

    @property
    def open(self) -> bool:
        """True if no step has forbidden writing."""
        return self._forbidden is None

    @property
    def mismatch(self) -> str:
        """The first step that did not match, in words; empty if all matched. No listed request leaves after it."""
        first = next((match for match in self._matches if not match.matched), None)
        return "" if first is None else f"step {first.index} did not match"

    def forbid(self, index: int, said: str) -> None:
        """Step ``index`` did not match, and ``said`` is the difference that forbids writing; empty if none does."""
        if said and self._forbidden is None:
            self._forbidden = (index, said)

    def before(self, step: Step) -> None:
        """Check the recorded class of ``step`` before its element is looked for. If the owner is asked, nothing is checked here,
        because the question must name the element.

        Errors: ``replay.diverged``.
        """
        if self._on_mismatch == "stop" and (found := self._against(step, step.risk)):
            raise _stop(step, step.risk, *found)

    async def admit(self, step: Step, level: int, question: Callable[[int, str], StepQuestion]) -> None:
        """Return if ``step`` may be performed with its class ``level`` on this page.

        question: creates the question from the step that did not match and the reason why that forbids writing. Errors:
        ``replay.diverged`` for a step that writes, after one that did not match and forbids it.

        After a mismatch the action may affect another record than in the recording. A mismatch in appearance only
        (``protocol.recording.replays.caution``) does not forbid writing, if the evidence of the element agrees; so there must be
        evidence.
        """
        if self._on_mismatch == "ask":
            # ``before`` has not looked at the recorded class, and the action may look harmless on another page.
            level = max(level, step.risk)
        found = self._against(step, level)
        if not found or step.index in self.agreed:
            return
        if self._on_mismatch == "stop" or self._ask is None:
            raise _stop(step, level, *found)
        if level > self._risk_max:
            raise _stop(step, level, *found, f"; it was not asked about, because class {level} is not approved")
        answer = await self._ask(question(level, f"step {found[0]} did not match ({found[1]})"))
        if answer is None:
            raise _stop(step, level, *found, _UNANSWERED)
        if not answer:
            raise _stop(step, level, *found, "; the answer was no")
        self.agreed.append(step.index)

    def _against(self, step: Step, level: int) -> tuple[int, str] | None:
        """The step that forbids this one, and the reason; None if this one may be performed."""
        first = next((match for match in self._matches if not match.matched), None)
        if self._on_mismatch == "go" or first is None or level < WRITE_CLASS:
            return None
        if self._forbidden is not None:
            return self._forbidden
        return None if step.evidence is not None else (first.index, "nothing recorded tells the element of this step")


def _stop(step: Step, level: int, index: int, said: str, more: str = "") -> MeshError:
    reason = f"step {index} did not match ({said}), and this step writes (class {level}){more}"
    return MeshError("replay.diverged", f"step {step.index} not performed: {reason}", step=step.index, first=index)
