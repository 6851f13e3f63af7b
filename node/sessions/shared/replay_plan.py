"""The parameters and the result of a replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from adapters.ports.records import ArtefactRecord
from node.live.acting import NO_CODES, NO_UPLOADS, Codes, Gate, LoginForms, Makes, Uploads
from node.sessions.shared.noticed import Noticed
from node.sessions.shared.writes import AskOwner, OnMismatch
from protocol.page.secrets.secrets import NO_SECRETS, Secrets
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import BrowserInfo, Level, ReplayReport, Session, Step, StepMatch
from protocol.risk.requests.sites import SiteRule

OnStep = Callable[[StepMatch, str], None]
"""Called with each step, and with the difference from the recording in words."""


class ReplaySource(msgspec.Struct, frozen=True, kw_only=True):
    """A session to replay, from the store or from a bundle."""

    session: Session
    steps: Sequence[Step]
    manifest: bytes
    """SHA-256 of the signed manifest."""


_NO_FORMS = LoginForms(known=True)


class ReplayPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of a replay."""

    browser: BrowserInfo
    gate: Gate
    secrets: Secrets = NO_SECRETS
    uploads: Uploads = NO_UPLOADS
    codes: Codes = NO_CODES
    forms: LoginForms = _NO_FORMS
    """Looks at each page for a login form."""
    base_url: str = ""
    """Another origin to replay at; empty for the recorded origin."""
    screenshots: bool = False
    """Take a screenshot of each step that diverged."""
    on_mismatch: OnMismatch = "stop"
    ask: AskOwner | None = None
    """Asks the owner before each step that writes after a mismatch, with ``on_mismatch`` ask."""
    every_screenshot: bool = False
    """Take a screenshot of each step, not only of those that diverged."""
    level: Level | None = None
    """The level at which each step must match; None for the default of the session
    (``protocol.recording.records.verdicts.default_level``).
    """
    strict: bool = False
    """True if masked text must be equal too."""
    inputs: Mapping[str, str] = {}
    """Values for inputs by name, or for texts by the number of their step (``protocol.recording.records.inputs.change``)."""
    sites: tuple[SiteRule, ...] = ()
    """As ``Recording.sites``."""
    on_note: Callable[[str], None] = lambda note: None
    """Called with notes on how a step was performed."""
    by_manifest: bool = False
    """True if each step may send the requests that the recording lists, and nothing else that changes something except
    ``allow``.
    """
    allow: tuple[str, ...] = ()
    """Further requests that the call allows (``--allow``)."""
    makes: Makes | None = None
    """Returns the values of the login as the site has renewed it; None without a capsule."""


class ReplayResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a replay."""

    report: ReplayReport
    artefact: ArtefactRecord
    """The report, signed by this node."""
    screenshots: dict[int, bytes]
    """PNG by index of the step that diverged."""
    differences: tuple[Difference, ...]
    """Differences from the recording, shown to the person who replays; not part of the report. At most
    ``DIFFERENCES_PER_REPLAY_MAX``."""
    secrets_missing: tuple[str, ...]
    """Secrets that the recording names and that were not given, sorted. If there are any, ``differences`` is empty."""
    agreed: tuple[int, ...]
    """Steps that write and were performed after a mismatch, because the owner said yes."""
    stopped: str
    """The step that was not performed because it writes after a mismatch, with the reason; empty if there was none."""
    call_log: tuple[str, ...]
    """The attempts at the last step, if it was not performed or its assertion failed (``protocol.recording.replays.call_log``);
    empty if secrets of the recording were not given.
    """
    texts: dict[int, str]
    """Texts of pages that differ from the recorded ones, by index of the step; only with ``every_screenshot``."""
    noticed: Noticed
    """Errors in the console and refused requests, by step."""
    lacking: str
    """The option that the call lacked at the first step that did not match (``protocol.recording.replays.lacking``); empty if
    none.
    """
