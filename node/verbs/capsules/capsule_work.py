"""The verb that sends work to the node that has the login."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Params, Verb, argument, option
from protocol import limits


class WorkParams(Params, frozen=True, kw_only=True):
    """``capsule.work``"""

    peer: Annotated[str, argument("Name or id of the node that has the login.", metavar="PEER", max_length=80)]
    actions: Annotated[
        str, option("Action file that it records, without secrets.", flag="--record", metavar="FILE", reads="file")
    ] = ""
    session: Annotated[
        str,
        option(
            "Session that it replays: one that it recorded for this node, or that this node signed and it has imported.",
            flag="--replay",
            metavar="SESSION",
            max_length=64,
        ),
    ] = ""
    fetch: Annotated[
        bool, option("Fetch the session too, with its text and pictures; the other node must grant `login:read`.")
    ] = False
    seconds: Annotated[int, option("How long to wait for the verdict.", ge=1, le=limits.WORK_S_MAX)] = 300


class WorkDone(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict about work that another node did with its own login."""

    work: Annotated[str, shown("number")]
    """Number of the work, in hexadecimal."""
    node: Annotated[str, shown("node", into="name", as_="node", words=" ({})")]
    name: Annotated[str, shown("done by")]
    """The node that did the work and signed the verdict."""
    task: Annotated[str, shown("task")]
    session: Annotated[str, shown("session")]
    """Id of the session on that node, and here once it is fetched; empty if none was recorded."""
    verdict: Annotated[str, shown("verdict", empty="not done")]
    """Verdict of the recording or replay; empty if there is none."""
    steps: Annotated[int, shown("steps", unit="step", into="good", words=" of {}")]
    good: Annotated[int, shown("good")]
    """Number of steps that succeeded in the recording, or matched in the replay."""
    code: Annotated[str, shown("error", into="verdict", words=" ({})")]
    """Code of the error that ended it; empty if it was completed."""
    question: Annotated[bool, shown("approval", words="its owner is asked for one: ask for the work again after a yes")]
    """True if the owner of the other node was asked for an approval; request the work again after a yes."""
    fetched: Annotated[bool, shown("fetched", into="session", words=", fetched")]
    signed: Annotated[str, shown("signed verdict (SHA-256)")]
    """SHA-256 of the signed verdict, which this node keeps."""


WORK: Final = Verb(
    name="capsule.work",
    command="capsule work",
    takes=WorkParams,
    gives=WorkDone,
    help="""Have a peer do work with a login of its own: the login stays there.

    The peer records an action file, or replays a session, in a browser that begins with its newest capsule for the address. It must
    grant `login:use` for that address. Nothing but reads leaves there; for more, its owner is asked. What comes back is a signed
    verdict without any text of a page; with --fetch, and if the peer grants `login:read`, the signed session.

    \b
    Examples:
      trailmesh capsule work bruno --record orders.yaml
      trailmesh capsule work bruno --replay SESSION --fetch
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"to": given.peer, "task": "record" if given.actions else "replay"}),
)
VERBS: Final[tuple[Verb, ...]] = (WORK,)
