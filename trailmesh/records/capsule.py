# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``capsule.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class CapturedCapsule(Record, frozen=True, kw_only=True):
    """A newly captured capsule."""

    id: str

    name: str

    generation: int

    tenant: str
    """The node that captured it."""

    tenant_name: str

    owner: str
    """Id of the owner's key that consented; empty if none did."""

    origins: tuple[StateOf, ...]

    state_bytes: int

    policy: Rules

    captured_ms: int

    sealed_ms: int

    uses: int
    """Number of uses by all holders that this node knows of."""

    heard_ms: int
    """The time at which its tenant last confirmed it; 0 for a capsule of this node."""

    key_ends_ms: int
    """The end of this node's sealing key that opens it. A capsule of this node is sealed to the next key before."""

    exported: tuple[str, ...]
    """Nodes to which it was exported."""

    offered: tuple[str, ...] = ()
    """Nodes that may request its cookies."""

    ended: str = ""
    """The reason why it can no longer be used; empty while it can."""

    page: str = ""
    """Page that `check` and `refresh` open; empty if none was given."""

    slice_version: str = ""
    """The only version of the browser that can mount it; empty for any version."""

    left_out: int
    """Number of cookies and storages in the file that belong to other origins."""

    proven: str
    """The site's answer to a fresh browser with this state: logged in or not."""

    proof: tuple[str, ...]
    """The evidence for or against it, without text of a page."""

    not_needed: int
    """Number of cookies, entries and databases that were left out because the page was the same without them."""


class CapsuleList(Record, frozen=True, kw_only=True):
    """The capsules on this node, oldest first."""

    capsules: tuple[KeptCapsule, ...]


class GrantedList(Record, frozen=True, kw_only=True):
    """The logins with which the caller may begin its work, oldest first."""

    capsules: tuple[GrantedCapsule, ...]


class ShownCapsule(Record, frozen=True, kw_only=True):
    """A capsule, with a list of its state if that was requested."""

    id: str

    name: str

    generation: int

    tenant: str
    """The node that captured it."""

    tenant_name: str

    owner: str
    """Id of the owner's key that consented; empty if none did."""

    origins: tuple[StateOf, ...]

    state_bytes: int

    policy: Rules

    captured_ms: int

    sealed_ms: int

    uses: int
    """Number of uses by all holders that this node knows of."""

    heard_ms: int
    """The time at which its tenant last confirmed it; 0 for a capsule of this node."""

    key_ends_ms: int
    """The end of this node's sealing key that opens it. A capsule of this node is sealed to the next key before."""

    exported: tuple[str, ...]
    """Nodes to which it was exported."""

    offered: tuple[str, ...] = ()
    """Nodes that may request its cookies."""

    ended: str = ""
    """The reason why it can no longer be used; empty while it can."""

    page: str = ""
    """Page that `check` and `refresh` open; empty if none was given."""

    slice_version: str = ""
    """The only version of the browser that can mount it; empty for any version."""

    holds: tuple[StateItem, ...] = ()

    weak: tuple[str, ...] = ()
    """Findings of this node's scan, such as a session cookie without `Secure`."""

    lost: tuple[str, ...] = ()
    """The state that the capture could not take."""


class CapsuleTerms(Record, frozen=True, kw_only=True):
    """The terms that a person signs to consent."""

    capsule: str

    name: str

    terms: str
    """SHA-256 of the terms, in hexadecimal."""

    expires_ms: int

    recipients: tuple[str, ...]
    """Names of the nodes that will be able to open it."""

    policy: Rules

    slice: bool = False
    """True if files of the browser's profile are included, with keys that no script can read."""

    basic: tuple[str, ...] = ()
    """Origins for which it holds a user name and a password for HTTP basic authentication."""


class KeptCapsule(Record, frozen=True, kw_only=True):
    """A capsule on this node, without secrets."""

    id: str

    name: str

    generation: int

    tenant: str
    """The node that captured it."""

    tenant_name: str

    owner: str
    """Id of the owner's key that consented; empty if none did."""

    origins: tuple[StateOf, ...]

    state_bytes: int

    policy: Rules

    captured_ms: int

    sealed_ms: int

    uses: int
    """Number of uses by all holders that this node knows of."""

    heard_ms: int
    """The time at which its tenant last confirmed it; 0 for a capsule of this node."""

    key_ends_ms: int
    """The end of this node's sealing key that opens it. A capsule of this node is sealed to the next key before."""

    exported: tuple[str, ...]
    """Nodes to which it was exported."""

    offered: tuple[str, ...] = ()
    """Nodes that may request its cookies."""

    ended: str = ""
    """The reason why it can no longer be used; empty while it can."""

    page: str = ""
    """Page that `check` and `refresh` open; empty if none was given."""

    slice_version: str = ""
    """The only version of the browser that can mount it; empty for any version."""


class ExportedCapsule(Record, frozen=True, kw_only=True):
    """A capsule that was exported for a peer."""

    id: str

    name: str

    generation: int

    to: str

    out: str

    bytes: int

    key_ends_ms: int
    """The time until which the peer can open it."""

    slice_version: str = ""
    """The only version of the browser that can mount it; empty for any version."""


class RemovedCapsule(Record, frozen=True, kw_only=True):
    """A capsule that was removed."""

    id: str


class ChangedPolicy(Record, frozen=True, kw_only=True):
    """The capsule under its new policy, and the grants that ended with the old policy."""

    capsule: KeptCapsule

    widened: tuple[str, ...]
    """The fields in which it allows more than before; empty if it only allows less."""

    consents: int
    """Number of consents that have ended because they were given for other terms."""

    to_give_anew: tuple[str, ...]
    """Names of the peers whose copies can no longer be used; export it to them again."""


class LoggedIn(Record, frozen=True, kw_only=True):
    """A capsule of a login that was just performed."""

    id: str

    name: str

    generation: int

    tenant: str
    """The node that captured it."""

    tenant_name: str

    owner: str
    """Id of the owner's key that consented; empty if none did."""

    origins: tuple[StateOf, ...]

    state_bytes: int

    policy: Rules

    captured_ms: int

    sealed_ms: int

    uses: int
    """Number of uses by all holders that this node knows of."""

    heard_ms: int
    """The time at which its tenant last confirmed it; 0 for a capsule of this node."""

    key_ends_ms: int
    """The end of this node's sealing key that opens it. A capsule of this node is sealed to the next key before."""

    exported: tuple[str, ...]
    """Nodes to which it was exported."""

    offered: tuple[str, ...] = ()
    """Nodes that may request its cookies."""

    ended: str = ""
    """The reason why it can no longer be used; empty while it can."""

    page: str = ""
    """Page that `check` and `refresh` open; empty if none was given."""

    slice_version: str = ""
    """The only version of the browser that can mount it; empty for any version."""

    left_out: int
    """Number of cookies and storages in the file that belong to other origins."""

    proven: str
    """The site's answer to a fresh browser with this state: logged in or not."""

    proof: tuple[str, ...]
    """The evidence for or against it, without text of a page."""

    not_needed: int
    """Number of cookies, entries and databases that were left out because the page was the same without them."""

    session: str
    """The recorded session of the login; empty if a person logged in in a window."""

    registered: int = 0
    """Number of passkeys that the site registered for this node during the login."""


class WorkDone(Record, frozen=True, kw_only=True):
    """The verdict about work that another node did with its own login."""

    work: str
    """Number of the work, in hexadecimal."""

    node: str

    name: str
    """The node that did the work and signed the verdict."""

    task: str

    session: str
    """Id of the session on that node, and here once it is fetched; empty if none was recorded."""

    verdict: str
    """Verdict of the recording or replay; empty if there is none."""

    steps: int

    good: int
    """Number of steps that succeeded in the recording, or matched in the replay."""

    code: str
    """Code of the error that ended it; empty if it was completed."""

    question: bool
    """True if the owner of the other node was asked for an approval; request the work again after a yes."""

    fetched: bool

    signed: str
    """SHA-256 of the signed verdict, which this node keeps."""


class OfferedCapsule(Record, frozen=True, kw_only=True):
    """The peers that may request the cookies of a capsule."""

    id: str

    name: str

    to: str
    """The peer for which this changed."""

    offered: tuple[str, ...]
    """Names of all peers that may request them now."""


class RequestedCapsule(Record, frozen=True, kw_only=True):
    """A capsule of cookies that was requested from a peer."""

    id: str

    name: str

    generation: int

    tenant: str
    """The node that captured it."""

    tenant_name: str

    owner: str
    """Id of the owner's key that consented; empty if none did."""

    origins: tuple[StateOf, ...]

    state_bytes: int

    policy: Rules

    captured_ms: int

    sealed_ms: int

    uses: int
    """Number of uses by all holders that this node knows of."""

    heard_ms: int
    """The time at which its tenant last confirmed it; 0 for a capsule of this node."""

    key_ends_ms: int
    """The end of this node's sealing key that opens it. A capsule of this node is sealed to the next key before."""

    exported: tuple[str, ...]
    """Nodes to which it was exported."""

    offered: tuple[str, ...] = ()
    """Nodes that may request its cookies."""

    ended: str = ""
    """The reason why it can no longer be used; empty while it can."""

    page: str = ""
    """Page that `check` and `refresh` open; empty if none was given."""

    slice_version: str = ""
    """The only version of the browser that can mount it; empty for any version."""

    attested_by: str
    """Name of the node that signed the accepted scan; a scan on this node found the same."""

    weak: tuple[str, ...]
    """Findings of both scans, by number and host."""


class CheckedCapsule(Record, frozen=True, kw_only=True):
    """The result of opening the site with this login in a fresh browser."""

    id: str

    name: str

    verdict: str

    page: str
    """Address that was opened, without its query."""

    evidence: str

    offers: tuple[str, ...]
    """Origins that offer to bind sessions to a device."""

    notes: tuple[Noted, ...]
    """The gravest first."""

    expires_ms: int

    uses_left: int


class RefreshedCapsule(Record, frozen=True, kw_only=True):
    """A capsule with its newest state."""

    id: str

    name: str

    generation: int

    tenant: str
    """The node that captured it."""

    tenant_name: str

    owner: str
    """Id of the owner's key that consented; empty if none did."""

    origins: tuple[StateOf, ...]

    state_bytes: int

    policy: Rules

    captured_ms: int

    sealed_ms: int

    uses: int
    """Number of uses by all holders that this node knows of."""

    heard_ms: int
    """The time at which its tenant last confirmed it; 0 for a capsule of this node."""

    key_ends_ms: int
    """The end of this node's sealing key that opens it. A capsule of this node is sealed to the next key before."""

    exported: tuple[str, ...]
    """Nodes to which it was exported."""

    offered: tuple[str, ...] = ()
    """Nodes that may request its cookies."""

    ended: str = ""
    """The reason why it can no longer be used; empty while it can."""

    page: str = ""
    """Page that `check` and `refresh` open; empty if none was given."""

    slice_version: str = ""
    """The only version of the browser that can mount it; empty for any version."""

    renewed: bool
    """True if the site has issued newer state, which was sealed as the next generation."""

    evidence: str = ""

    export_again: tuple[str, ...]
    """Nodes whose copy now has an older generation: it is refused until they get the newer one."""


class RevokedCapsule(Record, frozen=True, kw_only=True):
    """A revoked capsule."""

    id: str

    revoked_ms: int

    told: tuple[str, ...]
    """Nodes that have confirmed the revocation."""

    not_told: tuple[str, ...]
    """Nodes that could not be reached. They learn of the revocation at their next use, at the latest after the
    freshness window.
    """

    dead: bool = False
    """True if the site was seen to refuse the old state; only with `kill`."""

    evidence: str = ""

    pressed: str = ""
    """Name of the control that was pressed to log out; empty if the page has none. Only with `kill`."""


class UnsealedCapsule(Record, frozen=True, kw_only=True):
    """A login that was written in clear. This answer contains no secret."""

    id: str

    name: str

    generation: int

    out: str

    bytes: int

    cookies: int

    origins: tuple[str, ...]
    """Origins whose localStorage or IndexedDB is in the file."""

    left_out: tuple[str, ...]
    """Names of the state that Playwright cannot load from a file, and of the state that the capture could not take."""

    uses_left: int

    warning: str
    """The consequences of writing the login in clear."""


class GivenSecret(Record, frozen=True, kw_only=True):
    """A value, and the sites at which it may be typed."""

    value: str

    origins: tuple[str, ...] = ()
    """Patterns of the origins of pages and frames; if empty, the origin at which the work begins."""

    text: bool = False
    """True if it may be typed into other fields than password fields."""

    totp: bool = False
    """True if it is the seed of one-time codes; a code is typed in its place."""

    basic: bool = False
    """True if it is `user:password` for HTTP basic authentication of its origins. It is never typed."""


class BrowserInfo(Record, frozen=True, kw_only=True):
    """The browser, and the backend that controls it."""

    backend: str
    """`launched`; for a browser that somebody else started, `attached-walled` behind the tunnel of the node, or
    `attached`.
    """

    name: str

    version: str


class Profile(Record, frozen=True, kw_only=True):
    """Settings that are fixed so that a page looks the same on every machine."""

    width_px: int = 1280
    """Width of the page's viewport."""

    height_px: int = 800
    """Height of the page's viewport."""

    locale: str = "en-GB"
    """Language, script, region (BCP 47): `de`, `zh-Hant-TW`, `es-419`."""

    timezone: str = "UTC"
    """A name of the IANA database, in its case (`protocol/recording/records/time_zones.py`)."""

    reduced_motion: bool = True
    """True if pages are asked to leave out animations (`prefers-reduced-motion`)."""

    color_scheme: str = "light"
    """The preferred colours as reported to pages (`prefers-color-scheme`)."""

    mobile: bool = False
    """True for a browser with touch that keeps to the width a page names for phones (`<meta name=viewport>`)."""


class StateOf(Record, frozen=True, kw_only=True):
    """The amount of state of one origin."""

    origin: str

    cookies: int

    local: int

    session: int

    databases: int

    slice: int = 0
    """Size of the files of the browser's profile, in bytes."""

    basic: int = 0
    """1 if it holds a user name and a password for HTTP basic authentication."""


class Rules(Record, frozen=True, kw_only=True):
    """The policy of a capsule."""

    purpose: str

    origins: tuple[str, ...]

    tasks: tuple[str, ...]

    class_max: int

    replays_max: int

    expires_ms: int

    fresh_s: int

    mfa_s: int

    cross_device: bool

    cross_installation: bool

    consent: bool

    probes: bool


class GrantedCapsule(Record, frozen=True, kw_only=True):
    """A login with which the caller may begin its work. Nothing of the login is told."""

    id: str

    name: str

    origins: tuple[str, ...]
    """The sites at which it may be used."""

    work: tuple[str, ...]
    """The kinds of work for which it may be used: explore, live, record, replay."""

    expires_ms: int


class StateItem(Record, frozen=True, kw_only=True):
    """One item of the state, without its value."""

    kind: str

    host: str

    name: str

    bytes: int

    expires_s: int
    """0 if it ends with the browser session, or never."""


class Noted(Record, frozen=True, kw_only=True):
    """One fact that decides whether, or how long, a login works in another browser."""

    kind: str

    travels: bool
    """True if another browser has it all the same."""

    what: str
    """Its place, as hosts and names, never a value."""
