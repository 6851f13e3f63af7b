"""Verbs for questions to the owner, and their answers."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.verb import ANY_SCOPE, OWNER_AND_AGENTS, OWNER_ONLY, Params, Row, Verb, argument, option
from protocol import limits

_HEX_MAX: Final = 2 * limits.APPROVAL_BYTES_MAX
State = Literal["open", "yes", "no", "used", "over"]

# --- parameters ------------------------------------------------------------------------------------------------------


class ListParams(Params, frozen=True, kw_only=True):
    """``approve.list``"""

    all: Annotated[bool, option("List answered questions too, and those whose time is over.")] = False


class ShowParams(Params, frozen=True, kw_only=True):
    """``approve.show``"""

    question: Annotated[str, argument("Id of the question.", metavar="QUESTION", max_length=64)]
    picture: Annotated[
        str,
        option(
            "Write the picture of the page to this file, if one was stored.",
            metavar="FILE",
            reads="path",
            max_length=4_096,
        ),
    ] = ""


class AnswerParams(Params, frozen=True, kw_only=True):
    """``approve.answer``"""

    question: Annotated[str, option("Id of the question.", max_length=64)]
    signed: Annotated[str, option("The signed approval: an envelope, in hexadecimal.", max_length=_HEX_MAX)]


class StateParams(Params, frozen=True, kw_only=True):
    """``approve.state``"""

    question: Annotated[str, argument("Id of the question.", metavar="QUESTION", max_length=64)]
    wait: Annotated[
        int, option("Wait so many seconds for an answer.", metavar="SECONDS", ge=0, le=limits.QUESTION_WAIT_S_MAX)
    ] = 0


# --- results ---------------------------------------------------------------------------------------------------------


HeldState = Literal["", "held", "sending", "sent", "refused", "withdrawn", "unknown"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question. Pages have chosen some of its texts."""

    id: str
    state: State
    kind: Literal["action", "request"]
    does: str
    """What would be done, in words: the form that an approval for a search or a site holds for."""
    page: str
    site: str
    risk: int
    """The class (docs/risk.md)."""
    reason: str
    caller: str
    search: str
    session: str
    step: int
    asked_ms: int
    times: int
    """How often it was asked."""
    held: HeldState
    """The fate of the request that waits for the answer: ``held``, a yes sends it; ``sent``, it left once; ``refused``, it
    never left; ``withdrawn``, the page gave it up; ``unknown``, it was let go and nobody knows if it arrived; empty, none waits."""


class AskedList(msgspec.Struct, frozen=True, kw_only=True):
    """Questions, newest first."""

    questions: tuple[Asked, ...]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """How a question was answered."""

    yes: bool
    scope: Literal["once", "search", "site"]
    owner: str
    """Name of the owner; its id if it is revoked."""
    answered_ms: int
    expires_ms: int
    uses: int
    """How many actions it has let through."""


class Shown(Asked, frozen=True, kw_only=True):
    """A question with all that is known about it."""

    evidence: tuple[str, ...]
    """Why it has this class."""
    requests: tuple[str, ...]
    """The requests that a yes lets through while the action is performed, in words."""
    open_requests: bool
    """Whether that is anything the page sends to its own origin, because its requests are not known yet."""
    picture: str
    """The file to which the picture of the page was written; empty if none is stored, or none was asked for."""
    has_picture: bool
    answer: Answer | None
    question: str
    """The question, encoded, in hexadecimal: what the digest is made of."""
    digest: str
    """What an approval signs, in hexadecimal."""


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """How a question stands, for who asked it. Pages have chosen some of its texts."""

    id: str
    state: State
    """``yes``: do the action again, and it is let through, unless ``held`` says that it was sent. ``used``: a yes for once has let
    it through."""
    does: str
    requests: tuple[str, ...]
    """The requests that the guard refused, and that a yes lets through while the action is done again."""
    risk: int
    held: HeldState
    """The fate of the request that waits for the answer (docs/approvals.md); empty if none waits."""


# --- the verbs -------------------------------------------------------------------------------------------------------

LIST: Final = Verb(
    name="approve.list",
    command="approve ls",
    takes=ListParams,
    gives=AskedList,
    help="List what was not done because it needs an approval, newest first (docs/approvals.md).",
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="approve.show",
    takes=ShowParams,
    gives=Shown,
    help="Show a question: what would be done and sent, why it needs an approval, and who asked.",
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)
ANSWER: Final = Verb(
    name="approve.answer",
    takes=AnswerParams,
    gives=Shown,
    help="""Answer a question with a signed approval: `trailmesh approve yes` and `approve no` sign one and call this.

    The node checks that an active owner has signed an answer to exactly this question, and enters it in its witness log.
    """,
    callers=OWNER_ONLY,
    row=Row(subject=lambda given: given.question),
)

STATE: Final = Verb(
    name="approve.state",
    command="approve state",
    tool="question_state",
    takes=StateParams,
    gives=Stand,
    help="""Show how a question stands, or wait for its answer.

    Who asked may see it, and nobody but the owner answers it. A yes sends what is held. Where nothing is held, do the action again.
    """,
    callers=OWNER_AND_AGENTS,
    scope=ANY_SCOPE,
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (LIST, SHOW, ANSWER, STATE)
