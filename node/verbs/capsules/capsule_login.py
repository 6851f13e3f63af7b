"""Verbs that create a capsule from a login that is performed now."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from node.verbs.capsules.capsule import CapturedCapsule, PolicyParams
from node.verbs.sessions.session_params import ALLOW, APPROVE, SECRETS
from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, AuditedPart, Verb, argument, option
from protocol import limits
from protocol.page.secrets.secrets import GivenSecret, Name
from protocol.recording.records.session import BrowserInfo, Profile
from protocol.risk.requests.allowed import AllowedRequest

_URL: Final = argument(
    "Address that needs the login: it is where a fresh browser shows that the login holds.",
    metavar="URL",
    max_length=limits.URL_CHARS_MAX,
)
_UNTIL: Final = option(
    "Condition that only a page with the login meets: YAML, or @FILE, as for `explore run`.  [default: the form of the"
    " login is gone]",
    metavar="CONDITION",
)


class LoginParams(PolicyParams, frozen=True, kw_only=True):
    """``capsule.login``"""

    url: Annotated[str, _URL]
    actions: Annotated[
        str,
        option(
            "Action file that logs in. Without it a window opens, in which a person logs in.",
            flag="--with",
            metavar="FILE",
            reads="file",
        ),
    ] = ""
    until: Annotated[Any, _UNTIL] = None
    secrets: Annotated[dict[Name, GivenSecret], SECRETS] = msgspec.field(default_factory=dict)
    allow: Annotated[tuple[AllowedRequest, ...], ALLOW] = ()
    approve_class: Annotated[int, APPROVE] = 0
    passkey: Annotated[
        bool, option("With --with: give the browser the passkeys that this node has registered at the site.")
    ] = False
    register_passkey: Annotated[
        bool,
        option("With --with: the steps add a passkey to the account; this node keeps it, and never gives it away."),
    ] = False

    slice: Annotated[
        bool,
        option(
            "With --with: keep files of the browser's profile too, with keys that no script can read. Such a capsule is mounted in"
            " the same version of the browser only."
        ),
    ] = False

    def __repr__(self) -> str:
        return f"LoginParams(name={self.name!r}, secrets={sorted(self.secrets)})"


class KeepParams(PolicyParams, frozen=True, kw_only=True):
    """``capsule.keep``"""

    url: Annotated[str, _URL]
    until: Annotated[Any, _UNTIL] = None
    storage: Annotated[str, option("What the browser holds, as Playwright's storage state.", flag="-")]
    browser: Annotated[BrowserInfo, option("The browser in which the person logged in.", flag="-")]
    profile: Annotated[Profile, option("Its profile.", flag="-")] = Profile()

    def __repr__(self) -> str:
        return f"KeepParams(name={self.name!r})"


class LoggedIn(CapturedCapsule, frozen=True, kw_only=True):
    """A capsule of a login that was just performed."""

    session: Annotated[str, shown("recorded as")]
    """The recorded session of the login; empty if a person logged in in a window."""
    registered: Annotated[
        int, shown("registered", unit="passkey", words="{} of this node: --passkey logs in with it")
    ] = 0
    """Number of passkeys that the site registered for this node during the login."""


LOGIN: Final = Verb(
    name="capsule.login",
    command="capsule login",
    takes=LoginParams,
    gives=LoggedIn,
    help="""Log in, and keep the login as a capsule.

    With --with, the steps of an action file log in: they are recorded as a session, and their secrets come from where
    --secret says that they are kept. Without it, a window opens at URL, and a person logs in there; as soon as the login has
    succeeded, the window closes. Ctrl-C leaves nothing.

    The capsule is kept only if a fresh browser with the captured state opens URL logged in, and one without it does not. It holds
    the state of URL's origin, or of those that --origin names.

    \b
    Examples:
      trailmesh capsule login https://shop.example/account --name shop
      trailmesh capsule login https://shop.example/account --with login.yaml --secret password=prompt: \\
        --secret code=totp:keyring:shop/anna --allow 'POST https://shop.example/login' --approve-class 6
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"name": given.name}),
)
KEEP: Final = Verb(
    name="capsule.keep",
    takes=KeepParams,
    gives=LoggedIn,
    help="Keep the login of a window as a capsule: `trailmesh capsule login` calls this.",
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"name": given.name}),
)

VERBS: Final[tuple[Verb, ...]] = (LOGIN, KEEP)
