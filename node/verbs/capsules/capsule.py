"""Verbs for capsules: logins that are kept sealed, under a policy."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import (
    ANY_SCOPE,
    OWNER_AND_AGENTS,
    OWNER_ONLY,
    PAGE,
    AuditedPart,
    NoParams,
    Params,
    Verb,
    argument,
    option,
)
from protocol import limits
from protocol.capsule.flows.probe import Proven
from protocol.capsule.policy import Task, class_in_words, presses_in_words
from protocol.page.secrets.secrets import GivenSecret, Name

_CAPSULE: Final = argument("Id or name of the capsule.", metavar="CAPSULE", max_length=limits.CAPSULE_LABEL_CHARS_MAX)
_DAY_S: Final = 86_400

# --- parameters ------------------------------------------------------------------------------------------------------


def name_taken(name: str) -> str:
    """The reason why no second capsule of this name is created."""
    return (
        f"a capsule is called {name!r} already: --replaces keeps newer state in it, --name gives this one another name"
    )


class PolicyParams(Params, frozen=True, kw_only=True):
    """The policy of a capsule, as parameters of every verb that creates one."""

    name: Annotated[
        str,
        option("A name for it.  [default: the first host]", metavar="NAME", max_length=limits.CAPSULE_LABEL_CHARS_MAX),
    ] = ""
    origins: Annotated[
        tuple[str, ...],
        option(
            "Origin that a browser may contact while it holds the state; may be given again. State of others is left out."
            "  [default: all that the file has state of; of a login, that of URL]",
            flag="--origin",
            metavar="ORIGIN",
            max_length=limits.CAPSULE_ORIGINS_MAX,
        ),
    ] = ()
    purpose: Annotated[
        str,
        option("What the login is for, in one line.", metavar="TEXT", max_length=limits.CAPSULE_PURPOSE_CHARS_MAX),
    ] = ""
    tasks: Annotated[
        tuple[Task, ...],
        option(
            "Kind of work it may be used for; may be given again.  [default: every kind]", flag="--task", metavar="TASK"
        ),
    ] = ()
    class_max: Annotated[
        int,
        option(
            "The highest risk class of requests that leave; 1 to 3 allow reads only (docs/risk.md).",
            metavar="N",
            ge=1,
            le=7,
        ),
    ] = 2
    replays_max: Annotated[
        int, option("How often it may be used.", flag="--replays", metavar="N", ge=1, le=limits.CAPSULE_USES_MAX)
    ] = 100
    expires_s: Annotated[
        int,
        option(
            "When it ends, from now: `12h`, `30d`.  [default: 7d]",
            flag="--expires",
            metavar="TIME",
            reads="duration",
            ge=0,
        ),
    ] = 0
    fresh_s: Annotated[
        int,
        option(
            "How long another node may use it without hearing from this one; 0 for never.",
            flag="--fresh",
            metavar="SECONDS",
            ge=0,
            le=limits.CAPSULE_FRESH_S_MAX,
        ),
    ] = _DAY_S
    mfa_s: Annotated[
        int,
        option(
            "How old the second factor of the login may be when it is used; 0 if none is needed.",
            flag="--mfa-age",
            metavar="SECONDS",
            ge=0,
            le=limits.CAPSULE_FRESH_S_MAX,
        ),
    ] = 0
    mfa_now: Annotated[bool, option("A second factor was given for this login just now.")] = False
    cross_device: Annotated[bool, option("Let it be used on other machines.")] = False
    cross_installation: Annotated[bool, option("Let other nodes use it.")] = False
    consent: Annotated[bool, option("Let nobody use it before an owner has signed (`trailmesh capsule consent`).")] = (
        False
    )
    no_probes: Annotated[
        bool, option("Ask for a yes before every press, except links and controls that certainly only read.")
    ] = False
    whole: Annotated[bool, option("Keep all state of the origins, even state that the page did not need.")] = False
    replaces: Annotated[
        str,
        option(
            "Capsule to replace with this newer state. It keeps its id, name, policy and grants to agents.",
            metavar="CAPSULE",
            max_length=limits.CAPSULE_LABEL_CHARS_MAX,
        ),
    ] = ""


class CaptureParams(PolicyParams, frozen=True, kw_only=True):
    """``capsule.capture``"""

    file: Annotated[
        str,
        option(
            "Storage state of Playwright, cookies as JSON, cookies.txt, or a command line of cURL.",
            flag="--from",
            metavar="FILE",
            reads="path",
            max_length=4_096,
        ),
    ] = ""
    live: Annotated[
        str,
        option(
            "Live session with the login, in place of a file. Its current page must need the login.",
            metavar="SESSION",
            max_length=64,
        ),
    ] = ""
    unproven: Annotated[
        bool, option("Keep it without checking it on the site, for example if the site cannot be reached from here.")
    ] = False
    user_agent: Annotated[
        str, option("User agent of the browser that the file is from.", metavar="TEXT", max_length=512)
    ] = ""
    page: Annotated[
        str,
        option(
            "Page that only a logged-in user sees: `capsule check` and `capsule refresh` open it.",
            metavar="URL",
            max_length=limits.URL_CHARS_MAX,
        ),
    ] = ""
    shows: Annotated[
        str,
        option(
            "Text that this page shows to a logged-in user.", metavar="TEXT", max_length=limits.ACTION_TEXT_CHARS_MAX
        ),
    ] = ""
    secrets: Annotated[
        dict[Name, GivenSecret],
        option(
            "USER:PASSWORD for HTTP basic authentication of an origin, and its source (docs/risk.md). Repeat for more.",
            flag="--secret",
            metavar="NAME:basic@ORIGIN=SOURCE",
            reads="secrets",
            max_length=limits.SECRETS_MAX,
        ),
    ] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        return f"CaptureParams(name={self.name!r}, secrets={sorted(self.secrets)})"


class CapsuleParams(Params, frozen=True, kw_only=True):
    """``capsule.remove``, ``capsule.rotate``"""

    capsule: Annotated[str, _CAPSULE]


class ShowParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.show``"""

    names: Annotated[bool, option("Open it and list its state by name, host and expiry, never with values.")] = False


class TermsParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.terms``"""

    to: Annotated[str, option("Name or id of the peer that it will be exported to.", metavar="PEER", max_length=80)] = (
        ""
    )
    owner: Annotated[str, option("Public key of the owner who consents, in hexadecimal.", max_length=64)]


class ConsentParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.consent``"""

    to: Annotated[str, option("Name or id of the peer that it will be exported to.", metavar="PEER", max_length=80)] = (
        ""
    )
    owner: Annotated[str, option("Public key of the owner who consents, in hexadecimal.", max_length=64)]
    signed: Annotated[
        str, option("The consent, an envelope, in hexadecimal.", max_length=2 * limits.APPROVAL_BYTES_MAX)
    ]


class ExportParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.export``"""

    to: Annotated[str, option("Name or id of the peer that can open it.", metavar="PEER", max_length=80)]
    out: Annotated[str, option("Where to write it.", metavar="FILE", reads="path", max_length=4_096)]


class ImportParams(Params, frozen=True, kw_only=True):
    """``capsule.import``"""

    file: Annotated[str, argument("The file of an export.", metavar="FILE", reads="path", max_length=4_096)]
    slice: Annotated[
        bool,
        option(
            "Accept files of the other node's browser profile, if the capsule has some. The browser of this machine reads them"
            " outside of its sandbox."
        ),
    ] = False


# --- results ---------------------------------------------------------------------------------------------------------


class StateOf(msgspec.Struct, frozen=True, kw_only=True):
    """The amount of state of one origin."""

    origin: Annotated[str, shown("origin", column=True)]
    cookies: Annotated[int, shown("cookies", column=True)]
    local: Annotated[int, shown("local entries", column=True)]
    session: Annotated[int, shown("session entries", column=True)]
    databases: Annotated[int, shown("databases", column=True)]
    slice: Annotated[int, shown("profile files", as_="bytes", unit="bytes", column=True)] = 0
    """Size of the files of the browser's profile, in bytes."""
    basic: Annotated[int, shown("basic authentication", words="yes", column=True)] = 0
    """1 if it holds a user name and a password for HTTP basic authentication."""


def _presses(probes: bool) -> str:
    return presses_in_words(probes=probes)


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The policy of a capsule."""

    purpose: Annotated[str, shown("purpose", empty="not said")]
    origins: Annotated[tuple[str, ...], shown("origins")]
    tasks: Annotated[tuple[str, ...], shown("work")]
    class_max: Annotated[int, shown("sends", said=class_in_words)]
    replays_max: Annotated[int, shown("uses", unit="use", into="expires_ms", words=", or after {}")]
    expires_ms: Annotated[int, shown("ends", as_="time", unit="ms")]
    fresh_s: Annotated[int, shown("fresh for", as_="duration", unit="s", words="{} without word from its issuer")]
    mfa_s: Annotated[int, shown("second factor", as_="duration", unit="s", words="at most {} old")]
    cross_device: Annotated[bool, shown("on other machines", empty="no")]
    cross_installation: Annotated[bool, shown("on other nodes", empty="no")]
    consent: Annotated[bool, shown("consent", words="needs the consent of an owner", empty="none needed")]
    probes: Annotated[bool, shown("presses", said=_presses)]


class KeptCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule on this node, without secrets."""

    id: Annotated[str, shown("id", column=True)]
    name: Annotated[str, shown("name", column=True)]
    generation: Annotated[int, shown("generation")]
    tenant: Annotated[str, shown("captured by", as_="hidden")]
    """The node that captured it."""
    tenant_name: Annotated[str, shown("captured by", column=True)]
    owner: Annotated[str, shown("consented by")]
    """Id of the owner's key that consented; empty if none did."""
    origins: Annotated[tuple[StateOf, ...], shown("state")]
    state_bytes: Annotated[int, shown("size", as_="bytes", unit="bytes")]
    policy: Annotated[Rules, shown("policy", as_="block", column="ends (UTC)", brief="{expires_ms}")]
    captured_ms: Annotated[int, shown("captured", as_="time", unit="ms")]
    sealed_ms: Annotated[int, shown("sealed", as_="time", unit="ms")]
    uses: Annotated[int, shown("used", unit="time", column=True)]
    """Number of uses by all holders that this node knows of."""
    heard_ms: Annotated[int, shown("last word", as_="time", unit="ms")]
    """The time at which its tenant last confirmed it; 0 for a capsule of this node."""
    key_ends_ms: Annotated[int, shown("key ends", as_="time", unit="ms")]
    """The end of this node's sealing key that opens it. A capsule of this node is sealed to the next key before."""
    exported: Annotated[tuple[str, ...], shown("exported to", as_="node")]
    """Nodes to which it was exported."""
    offered: Annotated[tuple[str, ...], shown("offered to", as_="node")] = ()
    """Nodes that may request its cookies."""
    ended: Annotated[Literal["", "expired", "used up"], shown("ended", column=True)] = ""
    """The reason why it can no longer be used; empty while it can."""
    page: Annotated[str, shown("page")] = ""
    """Page that `check` and `refresh` open; empty if none was given."""
    slice_version: Annotated[str, shown("browser version", words="{} alone")] = ""
    """The only version of the browser that can mount it; empty for any version."""


class StateItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item of the state, without its value."""

    kind: Annotated[Literal["cookie", "local", "session", "database", "basic"], shown("kind", column=True)]
    host: Annotated[str, shown("host", column=True)]
    name: Annotated[str, shown("name", column=True)]
    bytes: Annotated[int, shown("size", as_="bytes", unit="bytes", column=True)]
    expires_s: Annotated[int, shown("ends", as_="time", unit="s", column=True)]
    """0 if it ends with the browser session, or never."""


class ShownCapsule(KeptCapsule, frozen=True, kw_only=True):
    """A capsule, with a list of its state if that was requested."""

    holds: Annotated[tuple[StateItem, ...], shown("holds")] = ()
    weak: Annotated[tuple[str, ...], shown("weak", as_="lines")] = ()
    """Findings of this node's scan, such as a session cookie without `Secure`."""
    lost: Annotated[tuple[str, ...], shown("not taken", as_="lines")] = ()
    """The state that the capture could not take."""


class GrantedCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """A login with which the caller may begin its work. Nothing of the login is told."""

    id: Annotated[str, shown("id", column=True)]
    name: Annotated[str, shown("name", column=True)]
    origins: Annotated[tuple[str, ...], shown("for", column=True)]
    """The sites at which it may be used."""
    work: Annotated[tuple[str, ...], shown("work", column=True)]
    """The kinds of work for which it may be used: explore, live, record, replay."""
    expires_ms: Annotated[int, shown("ends (UTC)", as_="time", unit="ms", column=True)]


class GrantedList(msgspec.Struct, frozen=True, kw_only=True):
    """The logins with which the caller may begin its work, oldest first."""

    capsules: Annotated[tuple[GrantedCapsule, ...], shown("capsules", empty="no login was granted to this caller")]


class CapsuleList(msgspec.Struct, frozen=True, kw_only=True):
    """The capsules on this node, oldest first."""

    capsules: Annotated[
        tuple[KeptCapsule, ...],
        shown(
            "capsules",
            empty="no capsules yet: `trailmesh capsule login URL`, or `trailmesh capsule capture --from FILE`",
        ),
    ]


class CapturedCapsule(KeptCapsule, frozen=True, kw_only=True):
    """A newly captured capsule."""

    left_out: Annotated[
        int, shown("left out", unit="cookie or storage/cookies and storages", words="{} of other origins")
    ]
    """Number of cookies and storages in the file that belong to other origins."""
    proven: Annotated[Proven, shown("proven")]
    """The site's answer to a fresh browser with this state: logged in or not."""
    proof: Annotated[tuple[str, ...], shown("proof", into="proven", words=": {}")]
    """The evidence for or against it, without text of a page."""
    not_needed: Annotated[
        int,
        shown(
            "not needed",
            unit="cookie or entry/cookies and entries",
            words="{} that the page does not need (--whole keeps them)",
        ),
    ]
    """Number of cookies, entries and databases that were left out because the page was the same without them."""


class CapsuleTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The terms that a person signs to consent."""

    capsule: Annotated[str, shown("capsule")]
    name: Annotated[str, shown("name", into="capsule", words=" ({})")]
    terms: Annotated[str, shown("terms (SHA-256)")]
    """SHA-256 of the terms, in hexadecimal."""
    expires_ms: Annotated[int, shown("consent ends", as_="time", unit="ms")]
    recipients: Annotated[tuple[str, ...], shown("for")]
    """Names of the nodes that will be able to open it."""
    policy: Annotated[Rules, shown("policy")]
    slice: Annotated[bool, shown("browser keys", words="go along, which no script can read")] = False
    """True if files of the browser's profile are included, with keys that no script can read."""
    basic: Annotated[
        tuple[str, ...], shown("basic", words="a user name and a password for HTTP basic authentication of {}")
    ] = ()
    """Origins for which it holds a user name and a password for HTTP basic authentication."""


class ExportedCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule that was exported for a peer."""

    id: Annotated[str, shown("id")]
    name: Annotated[str, shown("name")]
    generation: Annotated[int, shown("generation")]
    to: Annotated[str, shown("for")]
    out: Annotated[str, shown("wrote")]
    bytes: Annotated[int, shown("size", as_="bytes", unit="bytes")]
    key_ends_ms: Annotated[int, shown("opens there until", as_="time", unit="ms")]
    """The time until which the peer can open it."""
    slice_version: Annotated[
        str, shown("browser version", words="{} alone mounts it there, after an import with --slice")
    ] = ""
    """The only version of the browser that can mount it; empty for any version."""


class RemovedCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """A capsule that was removed."""

    id: Annotated[str, shown("removed")]


# --- the verbs -------------------------------------------------------------------------------------------------------

CAPTURE: Final = Verb(
    name="capsule.capture",
    command="capsule capture",
    takes=CaptureParams,
    gives=CapturedCapsule,
    help="""Keep the login that a file or a live session holds, sealed to this node under a policy.

    A fresh browser with the login opens the page that --page names, and another one opens it without. A login that the page refuses
    is not kept. If the page does not show whether the login works, it is kept as `unknown`: name a page that needs it. State that
    makes no difference to the page is left out, unless --whole is given.

    Delete the file afterwards: it holds the login in clear. No value of it is printed, logged or stored in clear.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"name": given.name}),
)
LIST: Final = Verb(
    name="capsule.list",
    command="capsule ls",
    takes=NoParams,
    gives=CapsuleList,
    help="List the capsules on this node.",
    callers=OWNER_ONLY | PAGE,
    read_only=True,
    row=None,
)
GRANTED: Final = Verb(
    name="capsule.granted",
    command="capsule granted",
    takes=NoParams,
    gives=GrantedList,
    help="""List the logins with which the caller may begin its work, by the name that `--capsule` and `capsule` take.

    An agent has those that it was granted (`trailmesh agent add --capsule`), the owner all. Nothing of a login is shown.
    """,
    callers=OWNER_AND_AGENTS,
    scope=ANY_SCOPE,
    read_only=True,
    row=None,
)
SHOW: Final = Verb(
    name="capsule.show",
    command="capsule show",
    takes=ShowParams,
    gives=ShownCapsule,
    help="Show a capsule: its policy, and the amount of state of each origin.",
    callers=OWNER_ONLY | PAGE,
    read_only=True,
    row=None,
)
TERMS: Final = Verb(
    name="capsule.terms",
    takes=TermsParams,
    gives=CapsuleTerms,
    help="Return the terms that an owner signs to consent: `trailmesh capsule consent` shows them.",
    callers=OWNER_ONLY,
    read_only=True,
    row=None,
)
CONSENT: Final = Verb(
    name="capsule.consent",
    takes=ConsentParams,
    gives=KeptCapsule,
    help="""Store an owner's signed consent: `trailmesh capsule consent` signs it and calls this.

    The capsule is sealed again with the consent. A consent to an export is kept until the export.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule),
)
EXPORT: Final = Verb(
    name="capsule.export",
    command="capsule export",
    takes=ExportParams,
    gives=ExportedCapsule,
    help="""Seal a capsule to a peer, and write it to a file.

    The policy binds only nodes that follow it. A person who changes the peer's software can read the login in clear, and only the
    site can end it. Prefer to let this node do the work.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule, note=lambda given: {"to": given.to}),
)
IMPORT: Final = Verb(
    name="capsule.import",
    command="capsule import",
    takes=ImportParams,
    gives=KeptCapsule,
    help="""Keep a capsule that a peer exported to this node.

    The peer must be granted `capsule:offer` for its origins here. Files of a browser's profile are taken with --slice only.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(),
)
REMOVE: Final = Verb(
    name="capsule.remove",
    command="capsule rm",
    takes=CapsuleParams,
    gives=RemovedCapsule,
    help="Delete a capsule from this node. Its count of uses is kept until it expires.",
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule),
)

VERBS: Final[tuple[Verb, ...]] = (CAPTURE, LIST, GRANTED, SHOW, TERMS, CONSENT, EXPORT, IMPORT, REMOVE)
