"""What a replay is given, and what it gives back."""

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
"""Told of each step, and what was there instead of what is recorded."""


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """A session to replay, from the store or from a bundle."""

    session: Session
    steps: Sequence[Step]
    manifest: bytes
    """SHA-256 of the signed manifest."""


_NO_FORMS = LoginForms(known=True)


class ReplayPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a session is replayed."""

    browser: BrowserInfo
    gate: Gate
    secrets: Secrets = NO_SECRETS
    uploads: Uploads = NO_UPLOADS
    codes: Codes = NO_CODES
    forms: LoginForms = _NO_FORMS
    """Is shown the pages, for forms of logins among them."""
    base_url: str = ""
    """Another origin to replay at; empty for the recorded one."""
    screenshots: bool = False
    """Take a screenshot of each step that diverged."""
    on_mismatch: OnMismatch = "stop"
    ask: AskOwner | None = None
    """Asks the owner before each step that writes after a mismatch, with ``on_mismatch`` ask."""
    every_screenshot: bool = False
    """Take a screenshot of each step, not only of those that diverged."""
    level: Level | None = None
    """What must hold of each step; None for the default of the session (``protocol.recording.records.verdicts.default_level``)."""
    strict: bool = False
    """Whether also what is masked must be the same."""
    inputs: Mapping[str, str] = {}
    """Values for inputs by name, or for texts by the number of their step (``protocol.recording.records.inputs.change``)."""
    sites: tuple[SiteRule, ...] = ()
    """As ``Recording.sites``."""
    on_note: Callable[[str], None] = lambda note: None
    """Told what there is to say of how a step was done."""
    by_manifest: bool = False
    """True if each step sends what the recording lists, and nothing else that changes something, …"""
    allow: tuple[str, ...] = ()
    """… but for what was named besides (``--allow``)."""
    makes: Makes | None = None
    """The values of the login as the site has renewed it by now; None without a capsule."""


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
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
    """Secrets that the recording names and the replay was not given, sorted. If there are any, ``differences`` is empty."""
    agreed: tuple[int, ...]
    """Steps that write and were performed after a mismatch, because the owner was asked and said yes."""
    stopped: str
    """The step that was not performed because it writes after a mismatch, with the reason; empty if there was none."""
    call_log: tuple[str, ...]
    """What was tried at the last step, if it was not performed or its assertion did not hold
    (``protocol.recording.replays.call_log``); empty if secrets of the recording were not given."""
    texts: dict[int, str]
    """The text of the page by index of the step, where it is not the recorded one; only with ``every_screenshot``."""
    noticed: Noticed
    """Errors in the console and refused requests, by step."""
    lacking: str
    """What the call lacked at the first step that did not match (``protocol.recording.replays.lacking``); empty if nothing."""
