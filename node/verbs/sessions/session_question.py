"""The questions to the owner while a replay or a recording waits, and the verb that answers them."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_ONLY, Params, Row, Verb, option


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A step that writes, after a step that did not match. Its text is redacted as in a recording; some of it was chosen by
    pages.
    """

    step: int
    action: str
    """The effect of the step, in words."""
    element: str
    """The element that was found for the step, with the text of its row; empty if there is none or it may not be shown."""
    page: str
    """Title and address of the page; empty if they may not be shown."""
    risk: int
    """The risk class of the step (docs/risk.md)."""
    reason: str
    """The step that did not match, and the difference that forbids writing."""
    differences: tuple[str, ...]
    """The differences of that step and of later ones, the most important first."""


class WriteQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a step of a recording, which waits for the answer. It contains no secret; its text was chosen by pages."""

    step: int
    action: str
    """The action of the step, in words."""
    sends: str
    """The request, in words. A yes allows all requests of this form in this recording."""
    risk: int
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

    question: str
    session: str
    """The session that is being replayed or recorded."""
    step: int
    yes: bool


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
    row=Row(note=lambda given: {"yes": "yes" if given.yes else "no"}),
)

VERBS: Final[tuple[Verb, ...]] = (ANSWER,)
