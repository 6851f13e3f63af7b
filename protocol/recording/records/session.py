"""Records of a session (one browser run) with its steps, and of the matches of a replay."""

from __future__ import annotations

import enum
from typing import Annotated, Final, Literal

import msgspec

from protocol import limits
from protocol.capsule.policy import Policy
from protocol.ids import NodeId, ReportId, SessionId
from protocol.kinds import (
    AuthorAddress,
    AuthorText,
    ConsoleText,
    Done,
    Home,
    Kind,
    PageText,
    Plain,
    Request,
)
from protocol.page.actions.action import Action
from protocol.page.actions.dialogs import Answer, Dialog
from protocol.page.actions.downloads import Download
from protocol.page.actions.evidence import Evidence
from protocol.page.instructions.hidden_text import HiddenText
from protocol.recording.records.findings import Difference
from protocol.recording.records.manifest import Effect
from protocol.recording.records.time_zones import TIME_ZONES
from protocol.wire.line import LINE_PATTERN

LOCALE_PATTERN: Final = r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?\Z"
INPUT_NAME_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_.-]*\Z"
"""A name begins with no digit: a number stands for a step."""


_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class Verdict(enum.StrEnum):
    """How a session or a replay ended."""

    OPEN = "open"
    PASS = "pass"  # noqa: S105 (a verdict)
    PARTIAL = "partial"
    FAIL = "fail"
    INTERRUPTED = "interrupted"


LAUNCHED: Final = "launched"
ATTACHED: Final = "attached"
ATTACHED_WALLED: Final = "attached-walled"


class BrowserInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which browser, through which backend."""

    backend: Plain
    """``launched``; for one that somebody else started ``attached-walled``, behind the tunnel of the node, or ``attached``."""
    name: Plain
    version: Plain


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is fixed so that a page looks the same on every machine."""

    width_px: Annotated[int, msgspec.Meta(ge=limits.VIEWPORT_PX_MIN, le=limits.VIEWPORT_PX_MAX)] = 1280
    """Width of the page's viewport."""
    height_px: Annotated[int, msgspec.Meta(ge=limits.VIEWPORT_PX_MIN, le=limits.VIEWPORT_PX_MAX)] = 800
    """Height of the page's viewport."""
    locale: Annotated[Plain, msgspec.Meta(pattern=LOCALE_PATTERN)] = "en-GB"
    """Language, script, region (BCP 47): ``de``, ``zh-Hant-TW``, ``es-419``."""
    timezone: Annotated[Plain, msgspec.Meta(max_length=64)] = "UTC"
    """A name of the IANA database, in its case (``protocol/recording/records/time_zones.py``)."""
    reduced_motion: bool = True
    """Whether pages are asked to leave out animations (``prefers-reduced-motion``)."""
    color_scheme: Literal["light", "dark"] = "light"
    """What pages are told of the preferred colours (``prefers-color-scheme``)."""

    def __post_init__(self) -> None:
        if self.timezone not in TIME_ZONES:
            raise ValueError(f"{self.timezone[:64]!r} is not a known time zone; use a name such as Europe/Berlin")


class Mask(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A part of a snapshot that changes by itself and is not compared. Encoded as an array, since a page can have hundreds."""

    line: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    """Line of the snapshot, from 1."""
    start: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    """First character in the line, from 0."""
    end: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    """The character after the last."""
    form: Literal["time", "date", "ago", "uuid", "token", "counter", "number"]
    """What stands there. ``number``: a number that changed while the page rested, or between two recordings."""


class RequestFault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request for a document or for data that a step caused and that went wrong."""

    request: Annotated[Request, msgspec.Meta(max_length=limits.URL_CHARS_MAX + 64)]
    """As in ``Step.blocked``."""
    fault: Literal["refused", "status", "failed", "open"]
    """``refused`` by the network guard; ``status``: answered with 400 or more; ``failed`` without an answer; ``open``: not
    answered when the step ended."""
    status: Annotated[int, msgspec.Meta(ge=0, le=999)] = 0
    """HTTP status, if ``fault`` is ``status``."""


class Expect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a step is meant to cause: requests that go wrong, and a dialog. They are no faults; one that does not occur is."""

    status: Annotated[int, msgspec.Meta(ge=0, le=599)] = 0
    """A request is answered with this status; 0 for none."""
    refused: bool = False
    """A request is refused by the network guard."""
    failed: bool = False
    """A request fails without an answer."""
    open: bool = False
    """A request is not answered when the step ends."""
    dialog: Answer | None = None
    """The dialog that the step causes, and the answer to it. If another one comes, or none, the step fails."""
    tab: bool = False
    """The step opens a new tab or window."""

    def __post_init__(self) -> None:
        if 0 < self.status < 400:
            raise ValueError("a status that can be expected is 400 to 599")


InputKind = Literal["text", "number", "date"]
"""What the value of an input must be: any text, a decimal number, or a date such as ``2026-11-23``."""
_InputText = Annotated[AuthorText, msgspec.Meta(max_length=limits.INPUT_CHARS_MAX)]


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A value that the author of a session has named, and that a replay can change."""

    name: Annotated[Plain, msgspec.Meta(max_length=64, pattern=INPUT_NAME_PATTERN)]
    value: _InputText
    """The value of the recording."""
    kind: InputKind = "text"


class ChangedInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An input that a replay has changed."""

    name: Annotated[Plain, msgspec.Meta(min_length=1, max_length=64)]
    """Name of the input; or the number of a step that types or chooses a text."""
    recorded: _InputText
    value: _InputText


Held = Literal["", "held", "failed"]
"""Whether the assertion of a step held, or its typed extract had its type; empty if the step has neither."""


class Skipped(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step of an imported recording that could not be performed here and was left out."""

    place: Annotated[Plain, msgspec.Meta(max_length=64)]
    """Where it stands in the file: ``steps[3].target``, ``line 12``."""
    what: Annotated[Plain, msgspec.Meta(max_length=64)]
    """What it was: ``hover``."""
    reason: Annotated[AuthorText, msgspec.Meta(max_length=limits.REASON_CHARS_MAX)]
    before: _Count
    """Index of the step before which it stood; one more than the number of steps if it stood at the end."""


class UsedLogin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With which login a recording began, as its recorder states it."""

    name: Annotated[Plain, msgspec.Meta(max_length=limits.CAPSULE_LABEL_CHARS_MAX, pattern=LINE_PATTERN)]
    tenant: NodeId
    """The issuer of the capsule."""
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    policy: Policy


class Session(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The container of a recorded run: everything but its steps and files."""

    id: Plain
    """A session id. Plain texts here and below, since stored sessions are read without judging them;
    ``protocol.recording.records.bundle`` judges."""
    node: Plain
    """Node id of the recorder."""
    created_ms: _Count
    title: AuthorText
    start_url: AuthorAddress
    profile: Profile
    browser: BrowserInfo
    verdict: Verdict
    steps: _Count
    duration_ms: _Count
    parent: Plain = ""
    """Id of the session this one was forked or replayed from; of a later page of a live session, that of its first page."""
    search: Plain = ""
    """Id of the search that found it."""
    secrets: tuple[Plain, ...] = ()
    """Names of the secrets a replay needs."""
    caller: Annotated[Plain, msgspec.Meta(max_length=limits.CALLER_CHARS_MAX)] = ""
    """Caller of the recording, as the recorder states it: ``owner``, ``agent:NAME``, ``schedule:ID``, or the node id of a
    peer. Empty if it does not say."""
    reason: Annotated[Done, msgspec.Meta(max_length=limits.REASON_CHARS_MAX)] = ""
    """Why the verdict is not ``pass``: the first step that speaks against it. Empty if it passed."""
    inputs: Annotated[tuple[Input, ...], msgspec.Meta(max_length=limits.INPUTS_MAX)] = ()
    """What its steps use as ``${name}`` and a replay can change, with the values of the recording."""
    skipped: Annotated[tuple[Skipped, ...], msgspec.Meta(max_length=limits.SKIPPED_STEPS_MAX)] = ()
    """Steps of an imported recording that were left out, in its order. With any of them the verdict is not ``pass``."""
    capsule: Annotated[Plain, msgspec.Meta(max_length=32)] = ""
    """Id of the capsule whose login the recording began with; empty for none."""
    login: UsedLogin | msgspec.UnsetType = msgspec.UNSET
    """What that capsule was; not there without one, and in sessions that were recorded before this was said."""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One performed action and the page after it."""

    index: _Count
    """From 1."""
    action: Action
    ok: bool
    url: Home
    """Address after the action, with user info and secret-bearing query values redacted."""
    title: PageText
    state: bytes
    """State hash after the action, 16 bytes."""
    risk: _Count
    """Risk class, 1 to 7."""
    started_ms: _Count
    """Time since the session began."""
    duration_ms: _Count
    snapshot: bytes = b""
    """SHA-256 of the stored snapshot (docs/protocol/bundle.md), 32 bytes; empty if none was taken."""
    screenshot: bytes = b""
    """SHA-256 of the picture (lossless WebP or PNG), 32 bytes; empty if none was taken."""
    ref: Plain = ""
    """Ref of the element acted on, in the observation before."""
    extracted: PageText = ""
    """What the action read; of an assertion that failed, what it found instead."""
    error: Plain = ""
    """Error code, if not ok."""
    blocked: tuple[Request, ...] = ()
    """Requests the network guard refused: ``METHOD /path`` at the origin of the page, else ``METHOD https://host/path``."""
    evidence: Evidence | None = None
    """What told the element acted on from others; none where it was not found, or there is no target."""
    faults: Annotated[tuple[RequestFault, ...], msgspec.Meta(max_length=limits.REQUEST_FAULTS_MAX)] = ()
    """Requests for documents and data that the step caused and that went wrong, the expected ones too."""
    expect: Expect | None = None
    """Which of them are meant to, and the dialog that is."""
    held: Held = ""
    """Whether the assertion of the step held, or its typed extract had its type."""
    masks: Annotated[tuple[Mask, ...], msgspec.Meta(max_length=limits.MASKS_PER_STEP_MAX)] = ()
    """What of the snapshot changes by itself and is not compared, in the order of the text."""
    lines: _Count = 0
    """Number of lines of the snapshot."""
    dialogs: Annotated[tuple[Dialog, ...], msgspec.Meta(max_length=limits.DIALOGS_PER_STEP_MAX)] = ()
    """The dialogs that the step caused, the expected one too."""
    downloads: Annotated[tuple[Download, ...], msgspec.Meta(max_length=limits.DOWNLOADS_PER_STEP_MAX)] = ()
    """The files that the step let the browser download."""
    evidence_onto: Evidence | None = None
    """Of a drag, what told the element that it ended on from others."""
    tab: bool = False
    """The page opened a new tab or window. If ``on_tab`` is 0, its address was opened in the page instead."""
    unseen: bool = False
    """The assertion of the step says that an element is absent which no page of the recording has shown before: it may hold of
    every page."""
    console: Annotated[
        tuple[Annotated[ConsoleText, msgspec.Meta(max_length=limits.CONSOLE_ERROR_CHARS_MAX)], ...],
        msgspec.Meta(max_length=limits.CONSOLE_ERRORS_MAX),
    ] = ()
    """Errors in the console of the page that came in the step, without secrets and tokens in addresses."""
    on_tab: Annotated[int, msgspec.Meta(ge=0, le=limits.TABS_OPENED_MAX)] = 0
    """The tab that was in front after the step, by its number from 1. 0 where new tabs are opened in the page itself."""
    hidden: Annotated[tuple[HiddenText, ...], msgspec.Meta(max_length=limits.HIDDEN_PER_STEP_MAX)] = ()
    """What the page holds, does not show, and says to a model, without secrets. Nothing acts upon it, and no replay compares it."""
    hidden_more: bool = False
    """There may be more of it: the page was not read to its end, or says more than a step keeps."""
    notes: Annotated[
        tuple[Annotated[PageText, msgspec.Meta(max_length=limits.NOTE_CHARS_MAX)], ...],
        msgspec.Meta(max_length=limits.NOTES_PER_STEP_MAX),
    ] = ()
    """What a person should know of how the step was done, without secrets: a field that shows less than it was filled with, or that
    the page has emptied since. No replay compares it."""
    written: Annotated[Plain, msgspec.Meta(max_length=limits.WRITTEN_CHARS_MAX)] = ""
    """A keyed hash of what the action types or opens, if its author wrote a text that is the same as a secret, or contains one: the
    action has the secret's name in its place (docs/adr/0043). ``lost`` if a text of it cannot be written again."""
    basic: Annotated[
        tuple[Annotated[Plain, msgspec.Meta(max_length=64, min_length=1)], ...],
        msgspec.Meta(max_length=limits.SECRETS_MAX),
    ] = ()
    """Names of the secrets that answered a site which asked for HTTP basic authentication. A replay needs them."""
    effects: Annotated[tuple[Effect, ...], msgspec.Meta(max_length=limits.EFFECTS_PER_STEP_MAX), Kind.DONE] = ()
    """What the step sent that changes something, in the order in which it left (docs/protocol/replay.md#effects)."""
    effects_more: bool = False
    """It sent more than that. A replay sends nothing that is not listed."""


TextMatch = Literal["", "same", "masked", "numbers", "differs"]
"""Result of comparing a page's text with its recorded snapshot: equal, equal but for what is masked, or also numbers differ, or
more differs. Empty where there is nothing to compare."""
Level = Literal["performed", "asserted", "structure", "text"]
"""What of a step must hold; each level includes those before it."""


class StepMatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one step of a replay compares with its recording."""

    index: _Count
    performed: bool
    state: bool
    """The page after the step has the recorded state hash."""
    url: bool
    """The address is the recorded one, but for generated ids in it and for a number that an earlier step has shown to change."""
    title: bool
    """The title is the recorded one, but for what changes by itself and for a change that an earlier step has shown."""
    extracted: bool
    matched: bool
    """The step holds at the level of the report, and no request went wrong that did not in the recording."""
    duration_ms: _Count
    text: TextMatch = ""
    """How the text of the page compares with the snapshot (docs/protocol/replay.md); empty exactly if the step was not performed or
    its recording has no snapshot."""
    error: Plain = ""
    """Error code, if not performed."""
    held: bool = True
    """The assertion of the step held, and its ``extract`` read the recorded value or is not compared."""
    faults: Annotated[tuple[RequestFault, ...], msgspec.Meta(max_length=limits.REQUEST_FAULTS_MAX)] = ()
    """As ``Step.faults``, in the replay."""
    dialogs: Annotated[tuple[Dialog, ...], msgspec.Meta(max_length=limits.DIALOGS_PER_STEP_MAX)] = ()
    """As ``Step.dialogs``, in the replay."""
    downloads: Annotated[tuple[Download, ...], msgspec.Meta(max_length=limits.DOWNLOADS_PER_STEP_MAX)] = ()
    """As ``Step.downloads``, in the replay."""
    tab: bool = False
    """As ``Step.tab``, in the replay."""
    alert: Literal["", "alert", "alertdialog", "status"] = ""
    """Role of an alert on the page that the recording lacks (docs/protocol/replay.md); empty if there is none."""
    unsent: Annotated[
        tuple[Annotated[int, msgspec.Meta(ge=0, lt=limits.EFFECTS_PER_STEP_MAX)], ...],
        msgspec.Meta(max_length=limits.EFFECTS_PER_STEP_MAX),
    ] = ()
    """Places in ``Step.effects`` of those that did not leave; only of a replay that sends by the effects of the recording."""


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a replay of a session; signed by the node that replayed it."""

    id: ReportId
    session: SessionId
    manifest: bytes
    """SHA-256 of the signed manifest of the bundle that was replayed."""
    node: NodeId
    """Node id of the replayer."""
    replayed_ms: _Count
    browser: BrowserInfo
    steps: tuple[StepMatch, ...]
    matched: _Count
    verdict: Verdict
    duration_ms: _Count
    blocked: tuple[Annotated[Request, Kind.DONE], ...] = ()
    """Requests the replaying node's network guard refused, as in ``Step.blocked``."""
    origin: Plain = ""
    """Where it was replayed (``https://host:port``), if that was another origin than the recorded one."""
    level: Level = "text"
    """What had to hold."""
    strict: bool = False
    """Nothing was masked: at level ``text`` the text had to be the same to the letter."""
    reason: Annotated[Done, msgspec.Meta(max_length=limits.REASON_CHARS_MAX)] = ""
    """Why the verdict is not ``pass``: the first step that speaks against it, or the recording. Empty if it passed."""
    inputs: Annotated[tuple[ChangedInput, ...], msgspec.Meta(max_length=limits.INPUTS_MAX)] = ()
    """Inputs that had another value than in the recording, by name."""
    differences: Annotated[tuple[Difference, ...], msgspec.Meta(max_length=limits.DIFFERENCES_PER_REPLAY_MAX)] = ()
    """What differed, if inputs were changed: besides the exchanged values. Otherwise a report contains nothing of a page."""
