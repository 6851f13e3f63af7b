"""Verbs for questions to the owner and their answers."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import ANY_SCOPE, OWNER_AND_AGENTS, OWNER_ONLY, PAGE, AuditedPart, Params, Verb, argument, option
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
HELD_WORDS: Final = {
    "held": "held: it waits for the answer, and a yes sends it",
    "sending": "let go: the site has not answered yet",
    "sent": "sent, once",
    "refused": "refused: it never left",
    "withdrawn": "withdrawn: the page gave it up, and nothing left",
    "unknown": "let go, and nobody knows if it arrived: look at the site before it is done again",
}


def held_in_words(state: str) -> str:
    """The fate of a request that waits for an answer; empty if none waits."""
    return HELD_WORDS.get(state, "")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A question to the owner. Some of its text was chosen by a page."""

    id: Annotated[str, shown("question", column=True)]
    state: Annotated[State, shown("state", column=True)]
    kind: Annotated[Literal["action", "request"], shown("kind", as_="hidden")]
    does: Annotated[str, shown("what", as_="prose", column=True)]
    """The action or request, in words. An approval for a search or a site covers everything of this form."""
    page: Annotated[str, shown("page")]
    site: Annotated[str, shown("site")]
    risk: Annotated[int, shown("class", column=True)]
    """The risk class (docs/risk.md)."""
    reason: Annotated[str, shown("why", as_="prose", column=True)]
    caller: Annotated[str, shown("asked by", as_="node", column=True)]
    search: Annotated[str, shown("search")]
    session: Annotated[str, shown("session")]
    step: Annotated[int, shown("step")]
    asked_ms: Annotated[int, shown("since", as_="time", unit="ms", column=True)]
    times: Annotated[int, shown("times", column=True)]
    """Number of times it was asked."""
    held: Annotated[HeldState, shown("request", into="state", words=", {}")]
    """The fate of the request that waits for the answer. ``held``: a yes sends it. ``sent``: it left once. ``refused``: it never
    left. ``withdrawn``: the page gave it up. ``unknown``: it was released, but its arrival is not known. Empty: no request
    waits.
    """


class AskedList(msgspec.Struct, frozen=True, kw_only=True):
    """Questions, newest first."""

    questions: Annotated[tuple[Asked, ...], shown("questions", empty="no questions are open")]


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a question."""

    yes: Annotated[bool, shown("yes", empty="no")]
    scope: Annotated[Literal["once", "search", "site"], shown("holds for")]
    owner: Annotated[str, shown("by")]
    """Name of the owner; the id if the owner's key is revoked."""
    answered_ms: Annotated[int, shown("answered", as_="time", unit="ms")]
    expires_ms: Annotated[int, shown("until", as_="time", unit="ms")]
    uses: Annotated[int, shown("used", unit="time")]
    """Number of actions that it has let through."""


class ShownQuestion(Asked, frozen=True, kw_only=True):
    """A question with everything that is known about it."""

    evidence: Annotated[tuple[str, ...], shown("because", as_="lines")]
    """The evidence for its risk class."""
    requests: Annotated[tuple[str, ...], shown("sends", as_="lines")]
    """The requests that a yes lets through during the action, in words."""
    open_requests: Annotated[bool, shown("sends more", words="it is not known yet what it sends to its own origin")]
    """True if a yes covers every request of the page to its own origin, because its requests are not known yet."""
    picture: Annotated[str, shown("picture")]
    """The file with the picture of the page; empty if no picture is stored or none was requested."""
    has_picture: Annotated[bool, shown("picture stored")]
    answer: Annotated[GivenAnswer | None, shown("answer")]
    question: Annotated[str, shown("signed form", as_="hidden")]
    """The encoded question, in hexadecimal. The digest is computed from it."""
    digest: Annotated[str, shown("digest", as_="hidden")]
    """The digest that an approval signs, in hexadecimal."""


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """The standing of a question, for its caller. Some of its text was chosen by a page."""

    id: Annotated[str, shown("question")]
    state: Annotated[State, shown("state")]
    """``yes``: repeat the action, and it is let through, unless ``held`` says that it was sent. ``used``: a yes for one time has
    let it through.
    """
    does: Annotated[str, shown("what")]
    requests: Annotated[tuple[str, ...], shown("would send", as_="lines")]
    """The requests that the guard refused. A yes lets them through when the action is repeated."""
    risk: Annotated[int, shown("class")]
    held: Annotated[HeldState, shown("request", said=held_in_words)]
    """The fate of the request that waits for the answer (docs/approvals.md); empty if no request waits."""


# --- the verbs -------------------------------------------------------------------------------------------------------

LIST: Final = Verb(
    name="approve.list",
    command="approve ls",
    takes=ListParams,
    gives=AskedList,
    tool="question_list",
    help="""List the actions and requests that wait for an approval, newest first (docs/approvals.md).

    An agent sees those that it caused. Only the owner can answer them.
    """,
    callers=OWNER_AND_AGENTS | PAGE,
    scope=ANY_SCOPE,
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="approve.show",
    takes=ShowParams,
    gives=ShownQuestion,
    help="Show a question: what would be done and sent, why it needs an approval, and who asked.",
    callers=OWNER_ONLY | PAGE,
    owner_fields=frozenset({"picture"}),
    read_only=True,
    row=None,
)
ANSWER: Final = Verb(
    name="approve.answer",
    takes=AnswerParams,
    gives=ShownQuestion,
    help="""Answer a question with a signed approval: `trailmesh approve yes` and `approve no` sign one and call this.

    The node checks that an active owner has signed an answer to exactly this question, and enters it in its witness log.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.question),
)

STATE: Final = Verb(
    name="approve.state",
    command="approve state",
    tool="question_state",
    takes=StateParams,
    gives=Stand,
    help="""Show the standing of a question, or wait for its answer.

    The caller that asked may see it; only the owner can answer it. A yes sends a held request. If no request is held, repeat the
    action.
    """,
    callers=OWNER_AND_AGENTS,
    scope=ANY_SCOPE,
    read_only=True,
    row=None,
)

VERBS: Final[tuple[Verb, ...]] = (LIST, SHOW, ANSWER, STATE)
