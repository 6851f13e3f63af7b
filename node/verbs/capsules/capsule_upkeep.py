"""Verbs that maintain a capsule: check its login, refresh its state, seal it again, revoke it."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.capsules.capsule import CapsuleParams, KeptCapsule
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Verb, option
from protocol import limits
from protocol.capsule.flows.portability import Verdict

_PAGE: Final = option(
    "Page that only a logged-in user sees.  [default: the one given at the capture, else the start page]",
    metavar="URL",
    max_length=limits.URL_CHARS_MAX,
)
_SHOWS: Final = option(
    "Text that this page shows to a logged-in user.  [default: the page is compared with the view of a browser without the login]",
    metavar="TEXT",
    max_length=limits.ACTION_TEXT_CHARS_MAX,
)


class LookParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.check``, ``capsule.refresh``"""

    page: Annotated[str, _PAGE] = ""
    shows: Annotated[str, _SHOWS] = ""


class RevokeParams(CapsuleParams, frozen=True, kw_only=True):
    """``capsule.revoke``"""

    kill: Annotated[
        bool, option("Log out on the site first, then show it the old state again to see that it is refused.")
    ] = False


_NOTES: Final = {
    "lost": "not taken at the capture",
    "key-bound": "bound to a key that only its own browser has",
    "sliced": "in files of the browser's profile",
    "basic": "user name and password for basic authentication, for this origin alone",
    "session-storage": "sessionStorage: the first tab begins with it, no other",
    "partitioned-storage": "storage of a frame, kept apart for the site on top",
    "partitioned-cookie": "partitioned cookie",
    "ends-soon": "ends within a day",
    "ended": "has ended",
    "in-clear": "is sent without encryption too",
    "size": "large",
}


def _note(kind: str) -> str:
    return _NOTES.get(kind, kind)


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """One fact that decides whether, or how long, a login works in another browser."""

    kind: Annotated[str, shown("note", as_="prose", column=True, said=_note)]
    travels: Annotated[bool, shown("in another browser", column=True)]
    """True if another browser has it all the same."""
    what: Annotated[str, shown("where", as_="prose", column=True)]
    """Its place, as hosts and names, never a value."""


class CheckedCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """The result of opening the site with this login in a fresh browser."""

    id: Annotated[str, shown("id")]
    name: Annotated[str, shown("name")]
    verdict: Annotated[Verdict, shown("verdict")]
    page: Annotated[str, shown("seen")]
    """Address that was opened, without its query."""
    evidence: Annotated[str, shown("evidence", into="page", words=": {}")]
    offers: Annotated[
        tuple[str, ...],
        shown("device binding", words="{} offers it: a bound session soon ends in any other browser"),
    ]
    """Origins that offer to bind sessions to a device."""
    notes: Annotated[tuple[Noted, ...], shown("notes")]
    """The gravest first."""
    expires_ms: Annotated[int, shown("ends", as_="time", unit="ms", into="uses_left", words=", until {} UTC")]
    uses_left: Annotated[int, shown("left", unit="use")]


class RefreshedCapsule(KeptCapsule, frozen=True, kw_only=True):
    """A capsule with its newest state."""

    renewed: Annotated[
        bool,
        shown("renewed", words="newer state is sealed", empty="the site has changed nothing: there is no newer state"),
    ]
    """True if the site has issued newer state, which was sealed as the next generation."""
    evidence: Annotated[str, shown("evidence")] = ""
    export_again: Annotated[
        tuple[str, ...],
        shown("export again to", words="{}, who hold an older generation: `trailmesh capsule export` with --to"),
    ]
    """Nodes whose copy now has an older generation: it is refused until they get the newer one."""


class RevokedCapsule(msgspec.Struct, frozen=True, kw_only=True):
    """A revoked capsule."""

    id: Annotated[str, shown("revoked")]
    revoked_ms: Annotated[int, shown("at", as_="time", unit="ms")]
    told: Annotated[tuple[str, ...], shown("confirmed by")]
    """Nodes that have confirmed the revocation."""
    not_told: Annotated[
        tuple[str, ...],
        shown(
            "not reached",
            words="{}: they learn it at their next use, at the latest after the freshness window",
        ),
    ]
    """Nodes that could not be reached. They learn of the revocation at their next use, at the latest after the freshness
    window.
    """
    dead: Annotated[bool, shown("seen dead on the site", empty="no")] = False
    """True if the site was seen to refuse the old state; only with ``kill``."""
    evidence: Annotated[str, shown("evidence", into="dead", words=": {}")] = ""
    pressed: Annotated[str, shown("pressed on the site")] = ""
    """Name of the control that was pressed to log out; empty if the page has none. Only with ``kill``."""


CHECK: Final = Verb(
    name="capsule.check",
    long=True,
    command="capsule check",
    takes=LookParams,
    gives=CheckedCapsule,
    help="""Check whether the login of a capsule still works, and whether it works in another browser.

    A fresh browser begins with the login and opens a page; another one opens it without. `portable`: the site showed the first one
    as logged in. `offered`: the same, but the site offers to bind sessions to a device, and a bound session soon ends elsewhere.
    `software-bound`: the login names a key that only its own browser has. `dead`: the page asks to log in.
    `unknown`: both see the same; name a page behind the login. The check counts as a use. Exit codes: 0 portable; 1 anything else.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule),
)
REFRESH: Final = Verb(
    name="capsule.refresh",
    long=True,
    command="capsule refresh",
    takes=LookParams,
    gives=RefreshedCapsule,
    help="""Open a page with the login of a capsule, and seal the state that the site has renewed.

    The newer state is the next generation of the same capsule, with the same policy. If the site no longer accepts the login, the
    command fails and the state stays unchanged. Counts as a use. Copies of peers then have an older generation: export the capsule
    to them again.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule),
)
ROTATE: Final = Verb(
    name="capsule.rotate",
    command="capsule rotate",
    takes=CapsuleParams,
    gives=RefreshedCapsule,
    help="""Seal a capsule anew, with a new key, as its next generation.

    Earlier exports are refused afterwards: export it again to the peers that should keep it. Fails while the capsule is in use.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule),
)
REVOKE: Final = Verb(
    name="capsule.revoke",
    command="capsule revoke",
    takes=RevokeParams,
    gives=RevokedCapsule,
    help="""End a capsule that this node captured, here and on every node it was exported to.

    Work that has it mounted ends at once, here and on every node that is reached. A node that is not reached learns it at its next
    use, and can use the capsule no longer than its freshness window allows. Only the site can end a copy in clear: log out there,
    or use --kill. It presses the page's control to log out (on all devices, if there is one), and then shows the site the old
    state.
    Exit codes: 0; with --kill 1 if the site was not seen to refuse it.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(subject=lambda given: given.capsule),
)

VERBS: Final[tuple[Verb, ...]] = (CHECK, REFRESH, ROTATE, REVOKE)
