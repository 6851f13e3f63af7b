"""Parameters of the verbs for live browser sessions: arguments and options of the command line, fields of a call."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.sessions.session_params import CAPSULE
from node.verbs.verb import Params, argument, option
from protocol import limits
from protocol.page.secrets.secrets import GivenSecret, Name
from protocol.risk.requests.allowed import AllowedRequest

_SESSION: Final = argument("Id of the live session.", metavar="SESSION")
_REF: Final = argument("The element, by its ref in the last observation, for example s3e5.", metavar="REF")
_ELEMENT: Final = option(
    "Description of the element by the caller; stored in the audit trail.", flag="-", max_length=200
)
_Text = Annotated[str, msgspec.Meta(max_length=limits.ACTION_TEXT_CHARS_MAX)]
_APPROVE: Final = option("Approve risk classes up to N for this action (docs/risk.md).", metavar="N", ge=0, le=7)
_PROFILE: Final = option(
    "width_px, height_px, locale, timezone, reduced_motion or color_scheme of the browser. Repeat for more.",
    metavar="KEY=VALUE",
    reads="pairs",
)


_TIMEOUT: Final = option(
    "Seconds that the element and the page may take. [default: as configured]",
    metavar="SECONDS",
    ge=0,
    le=limits.ACTION_TIMEOUT_MS_MAX / 1000,
)


class OpenParams(Params, frozen=True, kw_only=True):
    """``live.open``"""

    url: Annotated[str, argument("Start address.", metavar="URL", max_length=limits.URL_CHARS_MAX)]
    title: Annotated[str, option("Title of the recording. [default: the address]", max_length=200)] = ""
    profile: Annotated[dict[str, Any], _PROFILE] = msgspec.field(default_factory=dict)
    ttl: Annotated[int, option("Seconds until the live session ends.", ge=1, le=limits.LIVE_TTL_S_MAX)] = 1_800
    idle: Annotated[
        int, option("Seconds without a call until the live session ends.", ge=1, le=limits.LIVE_IDLE_S_MAX)
    ] = 600
    actions: Annotated[
        int, option("Number of actions until the live session ends.", ge=1, le=limits.SESSION_STEPS_MAX)
    ] = 200
    pages: Annotated[int, option("Number of pages that may be open at a time.", ge=1, le=limits.LIVE_PAGES_MAX)] = 4
    secrets: Annotated[
        dict[Name, GivenSecret],
        option(
            "A secret that actions may name, for the password fields of a site, and its source (docs/secrets.md). Repeat for more.",
            flag="--secret",
            metavar="NAME@ORIGIN=SOURCE",
            reads="secrets",
            max_length=limits.SECRETS_MAX,
        ),
    ] = msgspec.field(default_factory=dict)
    allow: Annotated[
        tuple[AllowedRequest, ...],
        option(
            "A request other than GET that may be sent, for example 'POST https://shop.example/login'.",
            metavar="'METHOD URL'",
        ),
    ] = ()
    approve_class: Annotated[
        int, option("Approve risk classes up to N for the whole live session (docs/risk.md).", metavar="N", ge=0, le=7)
    ] = 0
    capsule: Annotated[str, CAPSULE] = ""
    hold: Annotated[
        int,
        option(
            "Seconds that a request which changes something waits for the owner's yes; 0 refuses it at once (docs/approvals.md)."
            " At a terminal the default is 60.",
            metavar="SECONDS",
            ge=0,
            le=limits.HELD_TERMINAL_S,
        ),
    ] = limits.HELD_CLIENT_S

    def __repr__(self) -> str:
        return f"OpenParams(url={rows.where(self.url)!r}, secrets={sorted(self.secrets)})"


class LiveParams(Params, frozen=True, kw_only=True):
    """Verbs about one live session."""

    session: Annotated[str, _SESSION]


class SnapshotParams(LiveParams, frozen=True, kw_only=True):
    """``live.snapshot``"""

    start: Annotated[
        int,
        option(
            "Number of the first line to show; the last line of a page that is cut says what follows.", ge=1, le=10**9
        ),
    ] = 1


class ActParams(Params, frozen=True, kw_only=True):
    """``live.act``"""

    session: Annotated[str, _SESSION]
    action: Annotated[
        str,
        argument(
            "One step as in an action file, with its element given by ref or locator: 'click: {ref: s3e5}'.",
            metavar="ACTION",
            max_length=limits.LIVE_STEP_CHARS_MAX,
        ),
    ]
    approve_class: Annotated[int, _APPROVE] = 0

    def __repr__(self) -> str:
        return f"ActParams(session={self.session!r})"


class NavigateParams(Params, frozen=True, kw_only=True):
    """``live.navigate``"""

    session: Annotated[str, _SESSION]
    url: Annotated[str, argument("The address to open.", metavar="URL", max_length=limits.URL_CHARS_MAX)]
    timeout: Annotated[float, _TIMEOUT] = 0


class ClickParams(Params, frozen=True, kw_only=True):
    """``live.click``"""

    session: Annotated[str, _SESSION]
    ref: Annotated[str, _REF]
    element: Annotated[str, _ELEMENT] = ""
    approve_class: Annotated[int, _APPROVE] = 0
    timeout: Annotated[float, _TIMEOUT] = 0


class TypeParams(Params, frozen=True, kw_only=True):
    """``live.type``"""

    session: Annotated[str, _SESSION]
    ref: Annotated[str, _REF]
    text: Annotated[
        _Text | None, argument("The new content of the field; an empty text clears it.", metavar="TEXT")
    ] = None
    secret: Annotated[str, option("Type the secret of this name instead of a text.", metavar="NAME", max_length=64)] = (
        ""
    )
    submit: Annotated[bool, option("Press Enter in the field afterwards.")] = False
    element: Annotated[str, _ELEMENT] = ""
    approve_class: Annotated[int, _APPROVE] = 0
    timeout: Annotated[float, _TIMEOUT] = 0

    def __repr__(self) -> str:
        return f"TypeParams(session={self.session!r}, ref={self.ref!r}, secret={self.secret!r})"


class SelectParams(Params, frozen=True, kw_only=True):
    """``live.select``"""

    session: Annotated[str, _SESSION]
    ref: Annotated[str, _REF]
    values: Annotated[
        list[str],
        argument("The option to choose, by its label or its value; exactly one.", metavar="OPTION", max_length=1),
    ]
    element: Annotated[str, _ELEMENT] = ""
    approve_class: Annotated[int, _APPROVE] = 0
    timeout: Annotated[float, _TIMEOUT] = 0


class PressParams(Params, frozen=True, kw_only=True):
    """``live.press``"""

    session: Annotated[str, _SESSION]
    key: Annotated[
        str,
        argument(
            "Enter, Escape, Control+A …; sent to the element that has the focus.",
            metavar="KEY",
            min_length=1,
            max_length=32,
        ),
    ]
    approve_class: Annotated[int, _APPROVE] = 0
    timeout: Annotated[float, _TIMEOUT] = 0


class WaitParams(Params, frozen=True, kw_only=True):
    """``live.wait``"""

    session: Annotated[str, _SESSION]
    text: Annotated[
        str,
        option(
            "Wait until this text is visible. [default: wait until the page stops changing]",
            max_length=limits.ACTION_TEXT_CHARS_MAX,
        ),
    ] = ""
    time: Annotated[float, option("At most this many seconds.", ge=0.1, le=60)] = 5.0


class ScreenshotParams(Params, frozen=True, kw_only=True):
    """``live.screenshot``"""

    session: Annotated[str, _SESSION]
    out: Annotated[str, option("Write the PNG to this file instead of returning it.", metavar="FILE", reads="path")] = (
        ""
    )


class PagesParams(Params, frozen=True, kw_only=True):
    """``live.pages``"""

    session: Annotated[str, _SESSION]
    action: Annotated[Literal["list", "new", "close", "select"], argument("What to do with the pages.")] = "list"
    index: Annotated[int | None, option("Index of the page, from 0. [default for close: the current page]")] = None
    url: Annotated[str, option("Address that a new page opens.", max_length=limits.URL_CHARS_MAX)] = ""


class ListParams(Params, frozen=True, kw_only=True):
    """``live.list``"""

    all: Annotated[bool, option("Include live sessions that have ended.")] = False
    limit: Annotated[int, option("At most this many.", ge=1, le=1_000)] = 50
