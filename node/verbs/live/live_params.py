"""Parameters of the verbs for live browser sessions: arguments and options of the command line, fields of a call."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

from node.verbs import rows
from node.verbs.sessions.session_params import CAPSULE
from node.verbs.verb import Params, argument, option
from protocol import limits
from protocol.page.actions.action import ValueType
from protocol.page.secrets.secrets import GivenSecret, Name
from protocol.risk.requests.allowed import AllowedRequest

_SESSION: Final = option(
    "Id of the live session. [default: $TRAILMESH_SESSION, else that of this terminal, else the only one that is open]",
    metavar="SESSION",
    max_length=64,
)
_ID: Final = "an id such as e17, which `trailmesh live find` shows"
_REF: Final = argument("The element, by its id, for example e17.", metavar="ID", says=_ID, max_length=16)
_ELEMENT: Final = option(
    "Description of the element by the caller; stored in the audit trail.", flag="-", max_length=200
)
_Text = Annotated[str, msgspec.Meta(max_length=limits.ACTION_TEXT_CHARS_MAX)]
_APPROVE: Final = option("Approve risk classes up to N for this action (docs/risk.md).", metavar="N", ge=0, le=7)
_PROFILE: Final = option(
    "width_px, height_px, locale, timezone, reduced_motion, color_scheme or mobile of the browser. Repeat for more.",
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
    ttl: Annotated[int, option("Seconds until the live session ends.", ge=1, le=limits.LIVE_TTL_S_MAX)] = 1_200
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
    proxy: Annotated[
        str,
        option(
            "Contact all sites through this proxy of `browser.proxies`, in a browser of its own.",
            metavar="NAME",
            max_length=64,
        ),
    ] = ""
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
    """Verbs about one live session. Without an id they are about the only one that the caller has open."""

    session: Annotated[str, _SESSION] = ""


_PART: Final = option(
    "Which part to show, of a page with more lines than one part holds.", flag="--page", ge=1, le=10**6
)


class TableParams(LiveParams, frozen=True, kw_only=True):
    """``live.table``"""

    part: Annotated[int, _PART] = 1


class FindParams(LiveParams, frozen=True, kw_only=True):
    """``live.find``"""

    text: Annotated[
        str,
        argument(
            "A text of the page, in any case of letters, or a role such as button.",
            metavar="TEXT",
            min_length=1,
            max_length=200,
        ),
    ]
    part: Annotated[int, _PART] = 1


class ChooseParams(LiveParams, frozen=True, kw_only=True):
    """``live.choose``"""

    goal: Annotated[
        str,
        argument(
            "The goal as a sentence, as for a search: 'the cheapest blue mug'.",
            metavar="GOAL",
            min_length=1,
            max_length=limits.GOAL_CHARS_MAX,
        ),
    ]


class SnapshotParams(LiveParams, frozen=True, kw_only=True):
    """``live.snapshot``"""

    part: Annotated[int, _PART] = 1
    delta: Annotated[bool, option("Show only what has changed since the page was shown last.")] = False
    focus: Annotated[str, option("Show only this element and its content.", metavar="ID", says=_ID, max_length=16)] = ""
    interactive: Annotated[bool, option("Show only what can be acted on, as `live table` does.")] = False


class ActingParams(LiveParams, frozen=True, kw_only=True):
    """Parameters of all verbs that act."""

    approve_class: Annotated[int, _APPROVE] = 0


class TimedParams(ActingParams, frozen=True, kw_only=True):
    """Parameters of verbs that perform one action."""

    timeout: Annotated[float, _TIMEOUT] = 0


class ElementParams(TimedParams, frozen=True, kw_only=True):
    """Parameters of verbs that act on one element."""

    ref: Annotated[str, _REF]
    element: Annotated[str, _ELEMENT] = ""


class ActParams(ActingParams, frozen=True, kw_only=True):
    """``live.act``"""

    action: Annotated[
        str,
        argument(
            "One step as in an action file, or a list of them, with elements given by id or locator: 'click: {ref: e17}'.",
            metavar="ACTION",
            max_length=limits.LIVE_STEP_CHARS_MAX,
        ),
    ]

    def __repr__(self) -> str:
        return f"ActParams(session={self.session!r})"


class NavigateParams(TimedParams, frozen=True, kw_only=True):
    """``live.navigate``"""

    url: Annotated[str, argument("The address to open.", metavar="URL", max_length=limits.URL_CHARS_MAX)]


class ClickParams(ElementParams, frozen=True, kw_only=True):
    """``live.click``"""

    double: Annotated[bool, option("Click twice.")] = False
    button: Annotated[Literal["left", "right"], option("The button of the mouse.")] = "left"
    accept: Annotated[
        Literal["", "alert", "confirm", "prompt", "beforeunload"],
        option("The click opens a dialog of this kind: accept it. Every other dialog is dismissed.", metavar="KIND"),
    ] = ""
    reply: Annotated[str, option("The text to enter in the accepted prompt.", max_length=limits.DIALOG_CHARS_MAX)] = ""


class TypeParams(ElementParams, frozen=True, kw_only=True):
    """``live.type``"""

    text: Annotated[
        _Text | None, argument("The new content of the field; an empty text clears it.", metavar="TEXT")
    ] = None
    secret: Annotated[str, option("Type the secret of this name instead of a text.", metavar="NAME", max_length=64)] = (
        ""
    )
    submit: Annotated[bool, option("Press Enter in the field afterwards.")] = False

    def __repr__(self) -> str:
        return f"TypeParams(session={self.session!r}, ref={self.ref!r}, secret={self.secret!r})"


class FillParams(TimedParams, frozen=True, kw_only=True):
    """``live.fill``"""

    fields: Annotated[
        dict[str, _Text],
        argument(
            "Fields by id, each with its new content: a text, the option to choose, or on and off for a box.",
            metavar="ID=VALUE",
            reads="pairs",
            min_length=1,
            max_length=limits.FIELDS_AT_ONCE_MAX,
        ),
    ]
    secret: Annotated[
        dict[str, str],
        option(
            "Fields by id, each with the name of the secret to type. Repeat for more.",
            metavar="ID=NAME",
            reads="pairs",
        ),
    ] = msgspec.field(default_factory=dict)
    submit: Annotated[bool, option("Press Enter in the last field afterwards.")] = False

    def __repr__(self) -> str:
        return f"FillParams(session={self.session!r}, fields={sorted(self.fields)}, secret={self.secret})"


class SelectParams(ElementParams, frozen=True, kw_only=True):
    """``live.select``"""

    values: Annotated[
        list[str],
        argument(
            "The options to choose, each by its label or its value.",
            metavar="OPTION",
            min_length=1,
            max_length=limits.OPTIONS_CHOSEN_MAX,
        ),
    ]


class CheckParams(ElementParams, frozen=True, kw_only=True):
    """``live.check``"""

    off: Annotated[bool, option("Take the mark out instead.")] = False


class DragParams(ElementParams, frozen=True, kw_only=True):
    """``live.drag``"""

    onto: Annotated[
        str, argument("The element on which it is dropped, by its id.", metavar="ONTO", says=_ID, max_length=16)
    ]


class UploadParams(ElementParams, frozen=True, kw_only=True):
    """``live.upload``"""

    files: Annotated[
        list[str],
        argument(
            "Names of files inside the folders of `browser.upload_folders`; as a command also files of yours, which it hands over.",
            metavar="FILE",
            min_length=1,
            max_length=limits.UPLOAD_FILES_MAX,
        ),
    ]


class PressParams(TimedParams, frozen=True, kw_only=True):
    """``live.press``"""

    key: Annotated[
        str,
        argument(
            "Enter, Escape, Control+A …; sent to the element that has the focus.",
            metavar="KEY",
            min_length=1,
            max_length=32,
        ),
    ]
    ref: Annotated[str, option("Send it to this element instead.", metavar="ID", says=_ID, max_length=16)] = ""


class ScrollParams(LiveParams, frozen=True, kw_only=True):
    """``live.scroll``"""

    to: Annotated[
        str, argument("up, down, or the element to bring into view, by its id.", metavar="WHERE", max_length=16)
    ] = "down"
    amount: Annotated[int, option("By how many pixels up or down.", metavar="PIXELS", ge=1, le=100_000)] = 600


class WaitParams(LiveParams, frozen=True, kw_only=True):
    """``live.wait``"""

    text: Annotated[
        str,
        option(
            "Wait until this text is visible. [default: wait until the page stops changing]",
            max_length=limits.ACTION_TEXT_CHARS_MAX,
        ),
    ] = ""
    ref: Annotated[str, option("Wait until this element is visible.", metavar="ID", says=_ID, max_length=16)] = ""
    gone: Annotated[bool, option("Wait until it is not visible any more.")] = False
    address: Annotated[str, option("Wait until the address contains this text.", metavar="TEXT", max_length=200)] = ""
    time: Annotated[float, option("At most this many seconds.", ge=0.1, le=60)] = 5.0


class ExtractParams(LiveParams, frozen=True, kw_only=True):
    """``live.extract``"""

    name: Annotated[str, argument("Name of the value in the recording.", metavar="NAME", min_length=1, max_length=64)]
    ref: Annotated[
        str, option("Read this element. [default: the whole page]", metavar="ID", says=_ID, max_length=16)
    ] = ""
    kind: Annotated[ValueType, option("The type of value to read from the text.", flag="--as")] = "text"


class EmulateParams(TimedParams, frozen=True, kw_only=True):
    """``live.emulate``"""

    width: Annotated[int, option("Width of the viewport.", metavar="PIXELS", ge=0, le=limits.VIEWPORT_PX_MAX)] = 0
    height: Annotated[int, option("Height of the viewport.", metavar="PIXELS", ge=0, le=limits.VIEWPORT_PX_MAX)] = 0
    color_scheme: Annotated[Literal["", "light", "dark"], option("The preferred colours.")] = ""
    reduced_motion: Annotated[Literal["", "yes", "no"], option("Ask pages to leave out animations.")] = ""
    offline: Annotated[Literal["", "yes", "no"], option("Cut all pages of the live session off from the network.")] = ""
    location: Annotated[
        str,
        option(
            "Latitude and longitude in degrees. The site of the page is then allowed to ask for it.",
            metavar="52.52,13.405",
            max_length=32,
        ),
    ] = ""


class EvaluateParams(TimedParams, frozen=True, kw_only=True):
    """``live.evaluate``"""

    script: Annotated[
        _Text,
        argument(
            "JavaScript: an expression, a function that gets the element, or statements with `return`.", metavar="JS"
        ),
    ]
    ref: Annotated[
        str, option("The element that the script gets.", flag="--element", metavar="ID", says=_ID, max_length=16)
    ] = ""

    def __repr__(self) -> str:
        return f"EvaluateParams(session={self.session!r}, ref={self.ref!r})"


class AssertParams(LiveParams, frozen=True, kw_only=True):
    """``live.assert``"""

    what: Annotated[
        Literal[
            "text", "title", "address", "value", "visible", "hidden", "enabled", "disabled", "checked", "unchecked"
        ],
        argument("What to check.", metavar="WHAT"),
    ]
    expected: Annotated[
        _Text, argument("The expected text, for text, title, address and value.", metavar="EXPECTED")
    ] = ""
    ref: Annotated[str, option("Check this element. [default: the page]", metavar="ID", says=_ID, max_length=16)] = ""
    whole: Annotated[bool, option("The whole text must be equal. [default: a part of it]")] = False


class ScreenshotParams(LiveParams, frozen=True, kw_only=True):
    """``live.screenshot``"""

    out: Annotated[
        str,
        option(
            "Write the PNG to this file. The command does so with the rights of its caller; without --out it writes a new file in"
            " the current directory.",
            metavar="FILE",
            reads="path",
        ),
    ] = ""


class PagesParams(LiveParams, frozen=True, kw_only=True):
    """``live.pages``"""

    action: Annotated[Literal["list", "new", "close", "select"], option("What to do with the pages.", flag="-")] = (
        "list"
    )
    index: Annotated[
        int | None, option("Index of the page, from 0. [default for close: the current page]", flag="-")
    ] = None
    url: Annotated[str, option("Address that a new page opens.", flag="-", max_length=limits.URL_CHARS_MAX)] = ""


class ShowParams(Params, frozen=True, kw_only=True):
    """``live.show``"""

    session: Annotated[str, argument("Id of the live session.", metavar="SESSION", max_length=64)]


class ListParams(Params, frozen=True, kw_only=True):
    """``live.list``"""

    all: Annotated[bool, option("Include live sessions that have ended.")] = False
    limit: Annotated[int, option("At most this many.", ge=1, le=limits.LIVE_LIST_ROWS_MAX)] = 50
