"""Parameters of the verbs for recorded sessions."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.verb import Params, argument, option
from protocol import limits
from protocol.page.secrets.secrets import GivenSecret, Name
from protocol.risk.requests.allowed import AllowedRequest

_SESSION: Final = argument("Id of the session.", metavar="SESSION")
SECRETS: Final = option(
    "A secret that the actions name, for the password fields of a site, and its source (docs/secrets.md). Repeat for more.",
    flag="--secret",
    metavar="NAME@ORIGIN=SOURCE",
    reads="secrets",
    max_length=limits.SECRETS_MAX,
)
ALLOW: Final = option(
    "A request other than GET that may be sent, for example 'POST https://shop.example/login'.",
    metavar="'METHOD URL'",
)
CAPSULE: Final = option(
    "Begin with the login of this capsule. Only its origins are contacted then (docs/capsules.md).",
    metavar="CAPSULE",
    max_length=limits.CAPSULE_LABEL_CHARS_MAX,
)
_WRITES_PATTERN: Final = r"^(none|as-recorded|sha256:[0-9a-f]{64})\Z"
APPROVE: Final = option("Approve risk classes up to N for this run (docs/risk.md).", metavar="N", ge=0, le=7)

INPUTS: Final = option(
    "Another value for an input of the session, or for the text that the step with this number types or chooses "
    "(`session show` lists them). Never a secret. Repeat for more.",
    flag="--input",
    metavar="NAME=VALUE",
    reads="pairs",
    max_length=limits.INPUTS_MAX,
)
_JUNIT: Final = option("Also write the result as JUnit XML: one test case a step.", metavar="FILE", reads="path")
_HTML: Final = option(
    "Also write it as one HTML file that needs no network: steps, pictures, differences, signatures. An existing file is "
    "replaced.",
    metavar="FILE",
    reads="path",
)


class RecordParams(Params, frozen=True, kw_only=True):
    """``session.record``"""

    actions: Annotated[str, argument("Content of the action file.", metavar="ACTIONS", reads="file-or-address")]
    lenient: Annotated[
        bool,
        option(
            "Of a recording of another tool, leave out the steps that cannot be performed here. They are listed and kept with the "
            "session, which is then at most partial, as is every replay of it."
        ),
    ] = False
    name: Annotated[str, option("Title of the recording if the action file has none.", flag="-")] = ""
    secrets: Annotated[dict[Name, GivenSecret], SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[AllowedRequest, ...], ALLOW] = ()
    approve_class: Annotated[int, APPROVE] = 0
    inputs: Annotated[
        dict[str, str],
        option(
            "Another value for an input of the action file. Never a secret. Repeat for more.",
            flag="--input",
            metavar="NAME=VALUE",
            reads="pairs",
            max_length=limits.INPUTS_MAX,
        ),
    ] = msgspec.field(default_factory=dict)
    junit: Annotated[str, _JUNIT] = ""
    html: Annotated[str, _HTML] = ""
    capsule: Annotated[str, CAPSULE] = ""
    ask: Annotated[
        bool,
        option(
            "Send an event with a question about each form of request that a step wants to send; the request waits, and a yes "
            "(`session.answer`) sends it and allows others like it in this recording.",
            flag="-",
        ),
    ] = False
    plan: Annotated[
        bool,
        option(
            "Send nothing that changes something, try each step all the same, and print all that the file needs: secrets, requests "
            "to allow, classes to approve. What is recorded meanwhile does not pass."
        ),
    ] = False

    def __repr__(self) -> str:
        return f"RecordParams(name={self.name!r}, secrets={sorted(self.secrets)}, inputs={sorted(self.inputs)})"


class ListParams(Params, frozen=True, kw_only=True):
    """``session.list``"""

    text: Annotated[str, argument("Only sessions with this text in title, address or id.", metavar="TEXT")] = ""
    archived: Annotated[bool, option("List archived sessions instead of the others.")] = False
    limit: Annotated[int, option("At most this many.", ge=1, le=limits.LIST_ROWS_MAX)] = 50


class SessionParams(Params, frozen=True, kw_only=True):
    """Verbs about one session."""

    session: Annotated[str, _SESSION]


class ShowParams(SessionParams, frozen=True, kw_only=True):
    """``session.show``"""

    html: Annotated[str, _HTML] = ""


class DiffParams(Params, frozen=True, kw_only=True):
    """``session.diff``"""

    first: Annotated[str, argument("Id of a session or of a replay report.", metavar="FIRST")]
    second: Annotated[
        str, argument("Id of the session or the replay report that is compared with it.", metavar="SECOND")
    ]
    html: Annotated[str, _HTML] = ""


class TargetParams(Params, frozen=True, kw_only=True):
    """``session.verify``"""

    target: Annotated[
        str,
        argument("Id of a session, or the absolute path of a bundle or report.", metavar="TARGET", reads="id-or-path"),
    ]


class ExportParams(Params, frozen=True, kw_only=True):
    """``session.export``"""

    session: Annotated[str, _SESSION]
    form: Annotated[
        Literal["bundle", "recorder", "playwright"],
        option(
            "What to write: the signed bundle; a recording of the Chrome DevTools Recorder; a Playwright test in Python.",
            flag="--as",
        ),
    ] = "bundle"
    out: Annotated[
        str,
        option("Where to write it.  [default: <session>.tmsession, .json or .py]", metavar="FILE", reads="path"),
    ] = ""
    force: Annotated[bool, option("Replace the file if it exists.")] = False


class ImportParams(Params, frozen=True, kw_only=True):
    """``session.import``"""

    path: Annotated[str, argument("Absolute path of the bundle.", metavar="BUNDLE", reads="path")]


class ReplayParams(Params, frozen=True, kw_only=True):
    """``session.replay``"""

    session: Annotated[str, _SESSION]
    base_url: Annotated[
        str, option("Replay at another origin, for example that of a staging server.", metavar="URL")
    ] = ""
    out: Annotated[
        str,
        option(
            "Write the signed replay report to this file, so that the recording node can verify it.",
            metavar="FILE",
            reads="path",
        ),
    ] = ""
    on_mismatch: Annotated[
        Literal["stop", "go", "ask"],
        option(
            "After a step that did not match: stop before the next step that writes (risk class 3 or higher); go on and perform "
            "it; or ask before each such step. Without a terminal ask is stop."
        ),
    ] = "stop"
    level: Annotated[
        Literal["", "performed", "asserted", "structure", "text"],
        option(
            "What of each step must hold: that it was performed, its assertions and extracts, the structure of the page "
            "(address, controls, headings), or its text. Each includes those before it, and what differs beyond it is told beside "
            "the verdict.  [default: asserted if the session asserts something, else text]"
        ),
    ] = ""
    strict: Annotated[
        Literal["", "text"],
        option("Require the text to be the same to the letter: compare also what changes by itself, such as times."),
    ] = ""
    secrets: Annotated[dict[Name, GivenSecret], SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[AllowedRequest, ...], ALLOW] = ()
    approve_class: Annotated[int, APPROVE] = 0
    writes: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=_WRITES_PATTERN)], ...],
        option(
            "Which listed writes of the session may be sent again, each once and in its step: none; as-recorded, for a session "
            "that you recorded on this node; or those of the list with this digest (`session show` prints it). Repeat for more.  "
            "[default: none]",
            metavar="none|as-recorded|sha256:DIGEST",
            max_length=limits.WRITES_NAMED_MAX,
        ),
    ] = ()
    junit: Annotated[str, _JUNIT] = ""
    markdown: Annotated[str, option("Also write a summary in Markdown.", metavar="FILE", reads="path")] = ""
    html: Annotated[str, _HTML] = ""
    inputs: Annotated[dict[str, str], INPUTS] = msgspec.field(default_factory=dict)
    capsule: Annotated[str, CAPSULE] = ""

    def __repr__(self) -> str:
        return f"ReplayParams(session={self.session!r}, secrets={sorted(self.secrets)}, inputs={sorted(self.inputs)})"
