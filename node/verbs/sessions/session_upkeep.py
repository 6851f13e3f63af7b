"""Verbs that keep recorded sessions in order: fork, learn, archive, unarchive, purge."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs import rows
from node.verbs.sessions.session_params import ALLOW, APPROVE, CAPSULE, INPUTS, SECRETS, SessionParams
from node.verbs.sessions.session_results import RecordedSession
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Verb, option
from protocol import limits
from protocol.page.secrets.secrets import GivenSecret, Name
from protocol.risk.requests.allowed import AllowedRequest


class ForkParams(SessionParams, frozen=True, kw_only=True):
    """``session.fork``"""

    until: Annotated[
        int,
        option("Perform the steps up to this one.  [default: all]", metavar="STEP", ge=0, le=limits.SESSION_STEPS_MAX),
    ] = 0
    actions: Annotated[
        str,
        option(
            "Then perform the actions of this file: an action file without `start`.",
            flag="--then",
            metavar="FILE",
            reads="file",
        ),
    ] = ""
    secrets: Annotated[dict[Name, GivenSecret], SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[AllowedRequest, ...], ALLOW] = ()
    approve_class: Annotated[int, APPROVE] = 0
    capsule: Annotated[str, CAPSULE] = ""
    inputs: Annotated[dict[str, str], INPUTS] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"ForkParams(session={self.session!r}, until={self.until}, secrets={sorted(self.secrets)})"


class LearnParams(SessionParams, frozen=True, kw_only=True):
    """``session.learn``"""

    secrets: Annotated[dict[Name, GivenSecret], SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[AllowedRequest, ...], ALLOW] = ()
    approve_class: Annotated[int, APPROVE] = 0
    capsule: Annotated[str, CAPSULE] = ""

    def __repr__(self) -> str:
        return f"LearnParams(session={self.session!r}, secrets={sorted(self.secrets)})"


class LearnedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a page in which a number is masked from now on."""

    step: Annotated[int, shown("step")]
    recorded: Annotated[str, shown("recorded")]
    met: Annotated[str, shown("now")]
    """The text of the line this time."""


class LearnedSession(RecordedSession, frozen=True, kw_only=True):
    """The new session. All its masks are signed in its steps; ``learned`` lists the new ones."""

    learned: Annotated[tuple[LearnedLine, ...], shown("learned", brief="step {step}: “{met}” for “{recorded}”")]


class PurgeParams(SessionParams, frozen=True, kw_only=True):
    """``session.purge``"""

    referenced: Annotated[
        bool,
        option("Purge it also if a search, a fork, a live session or a replay report of another node names it."),
    ] = False


class MayHold(msgspec.Struct, frozen=True, kw_only=True):
    """A node that has shown that it holds the session."""

    node: Annotated[str, shown("node", as_="node")]
    """Node id."""
    name: Annotated[str, shown("name", empty="unnamed")]
    """Its name on this node; empty if it has none."""


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """Result of purging a session."""

    session: Annotated[str, shown("purged")]
    title: Annotated[str, shown("title")]
    steps: Annotated[int, shown("length", unit="step")]
    may_hold: Annotated[
        tuple[MayHold, ...], shown("may still hold it, and so may whoever has a bundle", brief="{name} ({node})")
    ]
    """Nodes that may still hold it. Anybody who has an exported bundle holds it too."""


class Archived(msgspec.Struct, frozen=True, kw_only=True):
    """Result of archiving a session, or of undoing that."""

    session: Annotated[str, shown("session")]
    title: Annotated[str, shown("title")]
    archived: Annotated[bool, shown("archived", empty="no")]
    changed: Annotated[bool, shown("changed", empty="no, it was so before")]
    """True if this call changed it."""


FORK: Final = Verb(
    name="session.fork",
    long=True,
    command="session fork",
    takes=ForkParams,
    gives=RecordedSession,
    help="""Perform the steps of a session anew up to one of them, go on from there, and record all of it as a new session.

    For a variant of a recording, or to correct its later steps: --until says how far it is followed, --then gives what comes after.
    Steps are performed, and not copied: a node signs what it has seen itself. Each step must find the recorded element, as in a
    replay. The new session names the one that it was forked from (`parent`), and that is signed. It keeps the inputs, with other
    values if --input gives them. Exit codes as of `session record`.

    \b
    Example:
      trailmesh session fork ses-… --until 4 --then other-ending.yaml
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.session, risk=rows.approved, note=rows.driven),
)
LEARN: Final = Verb(
    name="session.learn",
    long=True,
    command="session learn",
    takes=LearnParams,
    gives=LearnedSession,
    help="""Perform the steps of a session again on unchanged data, to learn which numbers change by themselves.

    A number that differs between the recording and this run (a count of visits, the number of a new record) is masked: it is not
    compared any more. The steps are recorded as a new session that names the first one (`parent`). All of its masks, those of the
    first one too, are signed, and `session show` lists them; the first session stays as it is. Learn again from the new session if
    more changes.

    Nothing else is learned. The run ends with `session.unlike`, before the next step, if a page says something else: an amount of
    money or another number with two decimals, the name of a control, a number that is all that a line says, a line more or less,
    another title or address. What was seen until then is kept and not signed. Exit codes as of `session record`.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.session, risk=rows.approved, note=rows.driven),
)
ARCHIVE: Final = Verb(
    name="session.archive",
    command="session archive",
    takes=SessionParams,
    gives=Archived,
    help="""Keep a session, and leave it out of `session ls`.

    Nothing of it changes: it can be shown, verified, replayed and exported. `session ls --archived` lists it, `session unarchive`
    brings it back.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.session),
)
UNARCHIVE: Final = Verb(
    name="session.unarchive",
    command="session unarchive",
    takes=SessionParams,
    gives=Archived,
    help="List an archived session again in `session ls`.",
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.session),
)
PURGE: Final = Verb(
    name="session.purge",
    command="session purge",
    takes=PurgeParams,
    gives=Purged,
    help="""Delete a session with its steps, screenshots, signatures and replay reports, and each file that no other session names.

    It is refused while a search, a fork, an open live session or a replay report of another node names the session, unless
    --referenced is given. Exported bundles and copies of other nodes are not affected; the output says which nodes have shown that
    they hold one. The node keeps a redacted manifest (`session show`): time, recorder, number of steps, verdict and hash, but
    nothing of the pages or actions. The witness log still shows that the session was signed, and the audit trail that it was
    purged.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.session),
)

VERBS: Final[tuple[Verb, ...]] = (FORK, LEARN, ARCHIVE, UNARCHIVE, PURGE)
