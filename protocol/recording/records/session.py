"""Records of a session (one browser run) with its steps, and of the matches of a replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec

from protocol import limits
from protocol.capsule.policy import Policy
from protocol.ids import NodeId, ReportId, SessionId
from protocol.kinds import (
    AuthorAddress,
    AuthorText,
    Done,
    Home,
    PageText,
    Plain,
    Request,
    TextKind,
    Words,
)
from protocol.page.actions.action import Action
from protocol.page.actions.dialogs import Dialog, DialogAnswer
from protocol.page.actions.downloads import Download
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.instructions.hidden_text import HiddenText
from protocol.page.secrets.redaction import is_incomplete
from protocol.recording.records.findings import Difference
from protocol.recording.records.manifest import Effect
from protocol.recording.records.time_zones import TIME_ZONES
from protocol.recording.records.verdict import Verdict
from protocol.shown import shown
from protocol.wire.line import LINE_PATTERN

LOCALE_PATTERN: Final = r"^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?\Z"
INPUT_NAME_PATTERN: Final = r"^[A-Za-z_][A-Za-z0-9_.-]*\Z"
"""A name does not begin with a digit, because a number stands for a step."""


_CUT: Final = "a part is not stored: cannot be replayed as it stands"
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]


LAUNCHED: Final = "launched"
ATTACHED: Final = "attached"
ATTACHED_WALLED: Final = "attached-walled"


class BrowserInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The browser, and the backend that controls it."""

    backend: Annotated[Plain, shown("backend")]
    """``launched``; for a browser that somebody else started, ``attached-walled`` behind the tunnel of the node, or
    ``attached``.
    """
    name: Annotated[Plain, shown("name")]
    version: Annotated[Plain, shown("version")]


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that are fixed so that a page looks the same on every machine."""

    width_px: Annotated[int, msgspec.Meta(ge=limits.VIEWPORT_PX_MIN, le=limits.VIEWPORT_PX_MAX)] = 1280
    """Width of the page's viewport."""
    height_px: Annotated[int, msgspec.Meta(ge=limits.VIEWPORT_PX_MIN, le=limits.VIEWPORT_PX_MAX)] = 800
    """Height of the page's viewport."""
    locale: Annotated[Plain, msgspec.Meta(pattern=LOCALE_PATTERN)] = "en-GB"
    """Language, script, region (BCP 47): ``de``, ``zh-Hant-TW``, ``es-419``."""
    timezone: Annotated[Plain, msgspec.Meta(max_length=64)] = "UTC"
    """A name of the IANA database, in its case (``protocol/recording/records/time_zones.py``)."""
    reduced_motion: bool = True
    """True if pages are asked to leave out animations (``prefers-reduced-motion``)."""
    color_scheme: Literal["light", "dark"] = "light"
    """The preferred colours as reported to pages (``prefers-color-scheme``)."""
    mobile: bool = False
    """True for a browser with touch that keeps to the width a page names for phones (``<meta name=viewport>``)."""

    def __post_init__(self) -> None:
        if self.timezone not in TIME_ZONES:
            raise ValueError(f"{self.timezone[:64]!r} is not a known time zone; use a name such as Europe/Berlin")


class Mask(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A part of a snapshot that changes by itself and is not compared. Encoded as an array, because a page can have hundreds."""

    line: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    """Line of the snapshot, from 1."""
    start: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    """First character in the line, from 0."""
    end: Annotated[int, msgspec.Meta(ge=1, le=2**31)]
    """The position after its last character."""
    form: Literal["time", "date", "ago", "uuid", "token", "counter", "number"]
    """The form of the masked text. ``number``: a number that changed while the page was idle, or between two recordings."""


class RequestFault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request for a document or for data that a step caused and that failed."""

    request: Annotated[Request, msgspec.Meta(max_length=limits.URL_CHARS_MAX + 64)]
    """As in ``Step.blocked``."""
    fault: Literal["refused", "status", "failed", "open"]
    """``refused``: by the network guard; ``status``: answered with 400 or more; ``failed``: without an answer; ``open``: not
    answered when the step ended.
    """
    status: Annotated[int, msgspec.Meta(ge=0, le=999)] = 0
    """HTTP status, if ``fault`` is ``status``."""


class Expect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The expected effects of a step: failing requests, a dialog, a new tab. They are no faults; an expected effect that is
    missing is one.
    """

    status: Annotated[int, msgspec.Meta(ge=0, le=599)] = 0
    """A request is answered with this status; 0 if none is expected."""
    refused: bool = False
    """A request is refused by the network guard."""
    failed: bool = False
    """A request fails without an answer."""
    open: bool = False
    """A request is still unanswered when the step ends."""
    dialog: DialogAnswer | None = None
    """The dialog that the step causes, and the answer to it. With another dialog, or none, the step fails."""
    tab: bool = False
    """The step opens a new tab or window."""

    def __post_init__(self) -> None:
        if 0 < self.status < 400:
            raise ValueError("a status that can be expected is 400 to 599")


InputKind = Literal["text", "number", "date"]
"""The type of an input's value: any text, a decimal number, or a date such as ``2026-11-23``."""
_InputText = Annotated[AuthorText, msgspec.Meta(max_length=limits.INPUT_CHARS_MAX)]


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A value that the author of a session has named, and that a replay can change."""

    name: Annotated[Plain, msgspec.Meta(max_length=64, pattern=INPUT_NAME_PATTERN), shown("name")]
    value: Annotated[_InputText, shown("value")]
    """The value of the recording."""
    kind: InputKind = "text"


class ChangedInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An input that a replay has changed."""

    name: Annotated[Plain, msgspec.Meta(min_length=1, max_length=64), shown("input")]
    """Name of the input; or the number of a step that types or chooses a text."""
    recorded: Annotated[_InputText, shown("recorded")]
    value: Annotated[_InputText, shown("now")]


Held = Literal["", "held", "failed"]
"""The result of a step's assertion, or of the type check of its typed extract; empty if the step has neither."""


class Skipped(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step of an imported recording that could not be performed here and was left out."""

    place: Annotated[Plain, msgspec.Meta(max_length=64), shown("place")]
    """Its position in the file: ``steps[3].target``, ``line 12``."""
    what: Annotated[Plain, msgspec.Meta(max_length=64), shown("what")]
    """The kind of step, such as ``hover``."""
    reason: Annotated[AuthorText, msgspec.Meta(max_length=limits.REASON_CHARS_MAX), shown("reason")]
    before: _Count
    """Index of the step that followed it; one more than the number of steps if it was the last."""


class UsedLogin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The login with which a recording began, as stated by its recorder."""

    name: Annotated[Plain, msgspec.Meta(max_length=limits.CAPSULE_LABEL_CHARS_MAX, pattern=LINE_PATTERN), shown("name")]
    tenant: Annotated[NodeId, shown("issuer", as_="node")]
    """The issuer of the capsule."""
    generation: Annotated[int, msgspec.Meta(ge=1, le=2**31), shown("generation")]
    policy: Policy


def start_in_words(url: str) -> str:
    """The address at which a session begins, and that it cannot be opened as it stands if a part of it is not stored."""
    return f"{url}  ({_CUT})" if is_incomplete(url) else url


def cut_in_words(action: Mapping[str, Any]) -> str:
    """Says of an action that opens an address that a part of this is not stored; empty for any other. action: as plain values."""
    return _CUT if action.get("type") == "goto" and is_incomplete(action["url"]) else ""


class Session(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The container of a recorded run: everything but its steps and files."""

    id: Annotated[Plain, shown("session")]
    """A session id. It and the following fields are plain texts, because stored sessions are read without validation;
    ``protocol.recording.records.bundle`` validates them.
    """
    node: Annotated[Plain, shown("recorded by", as_="node")]
    """Node id of the recorder."""
    created_ms: Annotated[_Count, shown("recorded", as_="time", unit="ms")]
    title: Annotated[AuthorText, shown("title")]
    start_url: Annotated[AuthorAddress, shown("start", said=start_in_words)]
    profile: Annotated[Profile, shown("profile", as_="hidden")]
    browser: Annotated[BrowserInfo, shown("browser", brief="{name} {version} ({backend})")]
    verdict: Annotated[Verdict, shown("verdict")]
    steps: Annotated[_Count, shown("length", unit="step")]
    duration_ms: Annotated[_Count, shown("took", as_="duration", unit="ms", into="steps", words=" in {}")]
    parent: Annotated[Plain, shown("parent")] = ""
    """Id of the session from which this one was forked or replayed; for a later page of a live session, the session of its first
    page.
    """
    search: Annotated[Plain, shown("search")] = ""
    """Id of the search that found it."""
    secrets: Annotated[tuple[Plain, ...], shown("needs secrets")] = ()
    """Names of the secrets that a replay needs."""
    caller: Annotated[Plain, msgspec.Meta(max_length=limits.CALLER_CHARS_MAX), shown("for", as_="node")] = ""
    """Caller of the recording, as stated by the recorder: ``owner``, ``agent:NAME``, ``schedule:ID``, or the node id of a peer.
    Empty if it is not stated.
    """
    reason: Annotated[
        Done, msgspec.Meta(max_length=limits.REASON_CHARS_MAX), shown("reason", into="verdict", words=" ({})")
    ] = ""
    """The reason why the verdict is not ``pass``: the first step that prevents it. Empty if the session passed."""
    inputs: Annotated[
        tuple[Input, ...], msgspec.Meta(max_length=limits.INPUTS_MAX), shown("inputs", brief="{name} = {value}")
    ] = ()
    """Values that its steps use as ``${name}`` and that a replay can change, as recorded."""
    skipped: Annotated[
        tuple[Skipped, ...],
        msgspec.Meta(max_length=limits.SKIPPED_STEPS_MAX),
        shown("skipped", brief="{place} ({what}): {reason}"),
    ] = ()
    """Steps of an imported recording that were left out, in order. If there are any, the verdict is not ``pass``."""
    capsule: Annotated[Plain, msgspec.Meta(max_length=32), shown("login", words="{} (`trailmesh capsule show`)")] = ""
    """Id of the capsule whose login the recording began with; empty for none."""
    login: Annotated[
        UsedLogin | msgspec.UnsetType,
        shown("login", into="capsule", words=": {}", brief="“{name}” of {tenant}, generation {generation}"),
    ] = msgspec.UNSET
    """Facts about that capsule; missing without a capsule, and in sessions that were recorded before this field existed."""
    program: Annotated[Plain, msgspec.Meta(max_length=64), shown("recorded with")] = ""
    """Name and version of the program that recorded the session; empty in sessions that were recorded before this field existed."""


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One performed action and the page after it."""

    index: Annotated[_Count, shown("step", column=True)]
    """From 1."""
    action: Annotated[Action, shown("action", below=True, said=cut_in_words)]
    ok: Annotated[bool, shown("ok", column=True)]
    url: Annotated[Home, shown("address after", column=True)]
    """Address after the action, with user info and secret query values redacted."""
    title: PageText
    state: bytes
    """State hash after the action, 16 bytes."""
    risk: Annotated[_Count, shown("risk", column=True)]
    """Risk class, 1 to 7."""
    started_ms: _Count
    """Time since the session began."""
    duration_ms: Annotated[_Count, shown("took", as_="duration", unit="ms", column=True)]
    snapshot: bytes = b""
    """SHA-256 of the stored snapshot (docs/protocol/bundle.md), 32 bytes; empty if none was taken."""
    screenshot: bytes = b""
    """SHA-256 of the picture (lossless WebP or PNG), 32 bytes; empty if none was taken."""
    ref: Plain = ""
    """Ref of the target element, in the observation before the action."""
    extracted: Annotated[PageText, shown("read", below=True)] = ""
    """The text that the action read; for a failed assertion, what it found instead."""
    error: Annotated[Plain, shown("error", into="ok", words=" [{}]")] = ""
    """Error code, if the action failed."""
    blocked: Annotated[tuple[Request, ...], shown("the guard refused", below=True)] = ()
    """Requests that the network guard refused: ``METHOD /path`` at the origin of the page, otherwise ``METHOD
    https://host/path``.
    """
    evidence: ElementEvidence | None = None
    """The evidence that distinguishes the target element from others; none if it was not found, or the action has no target."""
    faults: Annotated[tuple[RequestFault, ...], msgspec.Meta(max_length=limits.REQUEST_FAULTS_MAX)] = ()
    """Failed requests for documents and data that the step caused, including the expected ones."""
    expect: Expect | None = None
    """The expected effects of the step."""
    held: Held = ""
    """The result of the step's assertion, or of the type check of its typed extract."""
    masks: Annotated[tuple[Mask, ...], msgspec.Meta(max_length=limits.MASKS_PER_STEP_MAX)] = ()
    """Parts of the snapshot that change by themselves and are not compared, in the order of the text."""
    lines: _Count = 0
    """Number of lines of the snapshot."""
    dialogs: Annotated[
        tuple[Dialog, ...],
        msgspec.Meta(max_length=limits.DIALOGS_PER_STEP_MAX),
        shown("dialog", brief="{kind}{message}, {accepted}", below=True),
    ] = ()
    """The dialogs that the step caused, including the expected one."""
    downloads: Annotated[
        tuple[Download, ...],
        msgspec.Meta(max_length=limits.DOWNLOADS_PER_STEP_MAX),
        shown("download", brief="“{name}”{fault}{size_bytes}{sha256}", below=True),
    ] = ()
    """The files that the browser downloaded in the step."""
    evidence_onto: ElementEvidence | None = None
    """The evidence of the element that a drag ended on."""
    tab: Annotated[bool, shown("opened", words="a new tab", below=True)] = False
    """True if the page opened a new tab or window. If ``on_tab`` is 0, its address was opened in the page instead."""
    unseen: Annotated[
        bool,
        shown("weak", words="what it says is absent was on no page before, so it may hold of every page", below=True),
    ] = False
    """True if the step asserts the absence of an element that no page of the recording has shown before, so the assertion may hold
    on every page.
    """
    console: Annotated[
        tuple[Annotated[Words, msgspec.Meta(max_length=limits.CONSOLE_ERROR_CHARS_MAX)], ...],
        msgspec.Meta(max_length=limits.CONSOLE_ERRORS_MAX),
        shown("error in the console", below=True),
    ] = ()
    """Errors that appeared in the page's console during the step, without secrets, and without tokens in addresses."""
    on_tab: Annotated[
        int, msgspec.Meta(ge=0, le=limits.TABS_OPENED_MAX), shown("tab", into="tab", words=", number {}")
    ] = 0
    """Number of the tab in front after the step, from 1; 0 if new tabs are opened in the page itself."""
    hidden: Annotated[tuple[HiddenText, ...], msgspec.Meta(max_length=limits.HIDDEN_PER_STEP_MAX)] = ()
    """Hidden texts of the page that address a model, without secrets. Nothing obeys them, and no replay compares them."""
    hidden_more: bool = False
    """True if there may be more hidden texts: the page was not read to its end, or has more than a step keeps."""
    notes: Annotated[
        tuple[Annotated[PageText, msgspec.Meta(max_length=limits.NOTE_CHARS_MAX)], ...],
        msgspec.Meta(max_length=limits.NOTES_PER_STEP_MAX),
        shown("note", below=True),
    ] = ()
    """Notes for a person on how the step was performed, without secrets, such as a field that shows less than was typed or was
    emptied by the page. No replay compares them.
    """
    written: Annotated[Plain, msgspec.Meta(max_length=limits.WRITTEN_CHARS_MAX)] = ""
    """A keyed hash of the text that the action types or opens, if its author wrote a text that equals or contains a secret. The
    action has the secret's name in its place (docs/adr/0043). ``lost`` if the text cannot be restored.
    """
    basic: Annotated[
        tuple[Annotated[Plain, msgspec.Meta(max_length=64, min_length=1)], ...],
        msgspec.Meta(max_length=limits.SECRETS_MAX),
        shown("the site asked for basic authentication, and got the secret", below=True),
    ] = ()
    """Names of the secrets that answered a site's HTTP basic authentication. A replay needs them."""
    effects: Annotated[tuple[Effect, ...], msgspec.Meta(max_length=limits.EFFECTS_PER_STEP_MAX), TextKind.DONE] = ()
    """Requests of the step that change something, in the order in which they left (docs/protocol/replay.md#effects)."""
    effects_more: bool = False
    """True if the step sent more such requests. A replay sends only those that are listed."""


TextMatch = Literal["", "same", "masked", "numbers", "differs"]
"""Result of comparing a page's text with its recorded snapshot: equal, equal except for masks, equal except for numbers, or
different. Empty without a comparison.
"""
Level = Literal["performed", "asserted", "structure", "text"]
"""The demands on a step; each level includes those before it."""


class StepMatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The comparison of one replayed step with its recording."""

    index: _Count
    performed: bool
    state: bool
    """True if the page after the step has the recorded state hash."""
    url: bool
    """True if the address equals the recorded one, except for generated ids and for numbers that changed in the same way in an
    earlier step.
    """
    title: bool
    """True if the title equals the recorded one, except for parts that change by themselves and for changes that an earlier step
    has shown.
    """
    extracted: bool
    matched: bool
    """True if the step holds at the level of the report, and no request failed that succeeded in the recording."""
    duration_ms: _Count
    text: TextMatch = ""
    """The comparison of the page's text with the snapshot (docs/protocol/replay.md); empty exactly if the step was not performed
    or its recording has no snapshot.
    """
    error: Plain = ""
    """Error code, if the step was not performed."""
    held: bool = True
    """True if the assertion of the step held, and its ``extract`` read the recorded value or is not compared."""
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
    """Positions in ``Step.effects`` of requests that did not leave; only for a replay that sends the effects of the recording."""


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a replay of a session, signed by the node that replayed it."""

    id: ReportId
    session: SessionId
    manifest: bytes
    """SHA-256 of the signed manifest of the replayed bundle."""
    node: NodeId
    """Node id of the replayer."""
    replayed_ms: _Count
    browser: BrowserInfo
    steps: tuple[StepMatch, ...]
    matched: _Count
    verdict: Verdict
    duration_ms: _Count
    blocked: tuple[Request, ...] = ()
    """Requests that the network guard of the replaying node refused, as in ``Step.blocked``."""
    origin: Plain = ""
    """The origin of the replay (``https://host:port``), if it differs from the recorded one."""
    level: Level = "text"
    """The level at which each step had to match."""
    strict: bool = False
    """True if nothing was masked: at level ``text``, the text had to be exactly equal."""
    reason: Annotated[PageText, msgspec.Meta(max_length=limits.REASON_CHARS_MAX)] = ""
    """The reason why the verdict is not ``pass``: the first step that prevents it, or the recording. Empty if the replay
    passed.
    """
    inputs: Annotated[tuple[ChangedInput, ...], msgspec.Meta(max_length=limits.INPUTS_MAX)] = ()
    """Inputs that had other values than in the recording, by name."""
    differences: Annotated[tuple[Difference, ...], msgspec.Meta(max_length=limits.DIFFERENCES_PER_REPLAY_MAX)] = ()
    """If inputs were changed: the differences besides the changed values. Otherwise a report contains no text of a page."""
