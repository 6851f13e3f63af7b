"""The questions to the owner while a replay or a recording waits, and the verb that answers them."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Params, Verb, option


class StepQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A step that writes, after a step that did not match. Its text is redacted as in a recording; some of it was chosen by
    pages.
    """

    step: Annotated[int, shown("step")]
    action: Annotated[str, shown("action")]
    """The effect of the step, in words."""
    element: Annotated[str, shown("element")]
    """The element that was found for the step, with the text of its row; empty if there is none or it may not be shown."""
    page: Annotated[str, shown("page")]
    """Title and address of the page; empty if they may not be shown."""
    risk: Annotated[int, shown("class")]
    """The risk class of the step (docs/risk.md)."""
    reason: Annotated[str, shown("reason")]
    """The step that did not match, and the difference that forbids writing."""
    differences: Annotated[tuple[str, ...], shown("differences", as_="lines")]
    """The differences of that step and of later ones, the most important first."""


class WriteQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a step of a recording, which waits for the answer. It contains no secret; its text was chosen by pages."""

    step: Annotated[int, shown("step")]
    action: Annotated[str, shown("action")]
    """The action of the step, in words."""
    sends: Annotated[str, shown("sends")]
    """The request, in words. A yes allows all requests of this form in this recording."""
    risk: Annotated[int, shown("class")]
    """Its risk class (docs/risk.md)."""


class AnswerParams(Params, frozen=True, kw_only=True):
    """``session.answer``"""

    question: Annotated[
        str,
        option(
            "Id of the question, from the event of `session.replay` or `session.record` that asks it.", max_length=64
        ),
    ]
    yes: Annotated[bool, option("Whether this one step shall be performed, or requests of this form be sent.")] = False


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The answer as it was accepted."""

    question: Annotated[str, shown("question")]
    session: Annotated[str, shown("session")]
    """The session that is being replayed or recorded."""
    step: Annotated[int, shown("step")]
    yes: Annotated[bool, shown("yes", empty="no")]


ANSWER: Final = Verb(
    name="session.answer",
    takes=AnswerParams,
    gives=Answered,
    help="""Answer the question of a replay or a recording that waits.

    `session.record` with `ask` sends an event with `question` (its `id`, `step`, `action`, `sends`, `risk`) about each form of
    request that a step wants to send. The request waits for the answer, one minute at most. Yes sends it, and allows others like it
    in this recording.

    `session.replay` with `on_mismatch: ask` sends an event with `question` (its `id`, and the fields of a step) before each such
    step. Yes performs this one step. No, or no answer within two minutes, ends the replay before it. An answer counts once.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"yes": "yes" if given.yes else "no"}),
)

VERBS: Final[tuple[Verb, ...]] = (ANSWER,)
