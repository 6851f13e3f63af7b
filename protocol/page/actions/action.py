"""Actions: the operations on a page, as one tagged union.

An action is data and names its element by a ``Locator``. ``protocol.page.actions.locator`` finds the element in an observation of
the page, and a browser backend performs the action.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from protocol import limits
from protocol.kinds import AuthorAddress, AuthorText, Plain
from protocol.page.seen.names import visible

Text = Annotated[AuthorText, msgspec.Meta(max_length=limits.ACTION_TEXT_CHARS_MAX)]
Word = Annotated[Plain, msgspec.Meta(max_length=limits.ACTION_TEXT_CHARS_MAX)]
"""A word of a closed list, such as a role."""
Url = Annotated[AuthorAddress, msgspec.Meta(max_length=limits.URL_CHARS_MAX)]
Key = Annotated[Plain, msgspec.Meta(max_length=32, min_length=1)]
Digest = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
WITHOUT_TABS: Final = "there are no tabs here: what a page wants to open beside it is opened in the page itself"
LOCATION_PATTERN: Final = r"^(?:-?\d{1,2}(?:\.\d{1,6})?,-?\d{1,3}(?:\.\d{1,6})?)?\Z"
SECRET_NAME_PATTERN: Final = r"^[A-Za-z0-9_.-]+\Z"  # noqa: S105 (a form, no secret)


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class _Action(_Record, frozen=True, kw_only=True):
    timeout_ms: Annotated[int, msgspec.Meta(ge=0, le=limits.ACTION_TIMEOUT_MS_MAX)] = 0
    """The time limit, which includes the wait for its element. 0 means the limit of its kind."""


class Within(_Record, frozen=True, kw_only=True):
    """The row, card, section or dialog in which an element is looked for.

    It is given by role, with a name or a text in it unless it is the only one, or by selectors, of which the first that matches
    decides. Exactly one element must fit.
    """

    role: Word = ""
    name: Text = ""
    text: Text = ""
    selectors: Annotated[tuple[Text, ...], msgspec.Meta(max_length=limits.LOCATOR_SELECTORS_MAX)] = ()


class Locator(_Record, frozen=True, kw_only=True):
    """An element, by what a person sees: role, name, and its place among those that look alike.

    ``selectors`` are alternatives in order (``css=…``, ``testid=…``: ``protocol.page.actions.locator.FORMS``), as the author
    of the action
    wrote them. Where there are any, the first that matches decides, now and in every replay: it must match one visible element, of
    the role and name given here, and ``nth`` is not used. A recorder adds no selectors of its own.
    """

    role: Word = ""
    name: Text = ""
    nth: Annotated[int, msgspec.Meta(ge=0, le=limits.OBSERVATION_ELEMENTS_MAX)] | None = None
    """The place among the elements of this role and name, from 0. Without it only one element may fit, or links to one address."""
    frame: Annotated[Plain, msgspec.Meta(max_length=32)] = ""
    """The frame's prefix in the observation (``f1``); empty for the main frame."""
    selectors: Annotated[tuple[Text, ...], msgspec.Meta(max_length=limits.LOCATOR_SELECTORS_MAX)] = ()
    within: Within | None = None
    """Limits the search to this container; without it, the whole frame is searched."""


class Secret(_Record, frozen=True, kw_only=True):
    """The name of a value that is passed in when the action is performed. The value is never stored."""

    secret: Annotated[Plain, msgspec.Meta(max_length=64, min_length=1, pattern=SECRET_NAME_PATTERN)]


class Goto(_Action, frozen=True, kw_only=True, tag="goto", tag_field="type"):
    """Open an http(s) address."""

    url: Url


class Back(_Action, frozen=True, kw_only=True, tag="back", tag_field="type"):
    """Go back to the page before, as a person does with the browser's button."""


class Forward(_Action, frozen=True, kw_only=True, tag="forward", tag_field="type"):
    """Go forward again, to the page from which the browser went back."""


class Reload(_Action, frozen=True, kw_only=True, tag="reload", tag_field="type"):
    """Load the page again, unless that would send a form again."""


class SwitchTab(_Action, frozen=True, kw_only=True, tag="switch_tab", tag_field="type"):
    """Bring a tab to the front; later actions are performed in it. If the tab is not open yet, wait for it."""

    tab: Annotated[int, msgspec.Meta(ge=1, le=limits.TABS_OPENED_MAX)]
    """The number of the tab, from 1, in the order in which the session's tabs were opened. A tab keeps its number."""


class CloseTab(_Action, frozen=True, kw_only=True, tag="close_tab", tag_field="type"):
    """Close the front tab. The tab that was in front before returns to the front, if it is still open."""


class Click(_Action, frozen=True, kw_only=True, tag="click", tag_field="type"):
    """Click the middle of an element."""

    target: Locator
    button: Literal["left", "right"] = "left"
    """``right`` opens the menu of the page, if it has one."""
    count: Annotated[int, msgspec.Meta(ge=1, le=2)] = 1
    """2 for a double click."""


class Hover(_Action, frozen=True, kw_only=True, tag="hover", tag_field="type"):
    """Move the pointer to the middle of an element."""

    target: Locator


class Drag(_Action, frozen=True, kw_only=True, tag="drag", tag_field="type"):
    """Press the mouse in the middle of an element, and release it in the middle of another one."""

    target: Locator
    onto: Locator
    """The element at which the mouse is released."""


class Focus(_Action, frozen=True, kw_only=True, tag="focus", tag_field="type"):
    """Give an element the focus."""

    target: Locator


class ScrollTo(_Action, frozen=True, kw_only=True, tag="scroll_to", tag_field="type"):
    """Scroll until an element is in view."""

    target: Locator


class Fill(_Action, frozen=True, kw_only=True, tag="fill", tag_field="type"):
    """Replace the content of a text field."""

    target: Locator
    value: Text | Secret
    typed: bool = False
    """True to type key by key at the caret, and replace nothing. Not allowed for secrets, because a page could move the focus
    meanwhile.
    """


class Select(_Action, frozen=True, kw_only=True, tag="select", tag_field="type"):
    """Choose the option with this label. A list that takes several then has exactly the named ones."""

    target: Locator
    option: Text
    also: Annotated[tuple[Text, ...], msgspec.Meta(max_length=limits.OPTIONS_CHOSEN_MAX)] = ()
    """Further options to choose."""


class Upload(_Action, frozen=True, kw_only=True, tag="upload", tag_field="type"):
    """Give files to a file field, or to the file chooser that a click opens."""

    target: Locator
    files: Annotated[tuple[Text, ...], msgspec.Meta(min_length=1, max_length=limits.UPLOAD_FILES_MAX)]
    """Names inside the folders of ``browser.upload_folders``, with ``/`` between the parts."""
    digests: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=limits.UPLOAD_FILES_MAX)] = ()
    """The recorded SHA-256 of each file. A replay needs the same files."""

    def __post_init__(self) -> None:
        if len(self.digests) not in (0, len(self.files)):
            raise ValueError("there is one hash for each file, or none at all")


class Check(_Action, frozen=True, kw_only=True, tag="check", tag_field="type"):
    """Bring a check box, switch or radio button into a state."""

    target: Locator
    checked: bool = True


class Press(_Action, frozen=True, kw_only=True, tag="press", tag_field="type"):
    """Press a key (``Enter``, ``Control+A``), on an element or on the focused one."""

    key: Key
    target: Locator | None = None


class Scroll(_Action, frozen=True, kw_only=True, tag="scroll", tag_field="type"):
    """Scroll the page by ``amount_px``."""

    direction: Literal["up", "down"] = "down"
    amount_px: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 600


class Wait(_Action, frozen=True, kw_only=True, tag="wait", tag_field="type"):
    """Wait until ``text`` or an element is visible, an address is reached, or a request is answered; without any of these, until
    the page is still.
    """

    text: Text = ""
    timeout_ms: Annotated[int, msgspec.Meta(ge=1, le=limits.ACTION_TIMEOUT_MS_MAX)] = 5_000
    target: Locator | None = None
    state: Literal["visible", "hidden"] = "visible"
    """The state of the element to wait for."""
    address: Text = ""
    """A part of the address."""
    response: Text = ""
    """A part of the address of a request that a script of the page sent since the last action that acts; ``*`` is anything."""
    method: Annotated[Plain, msgspec.Meta(pattern=r"^[A-Z]{0,16}\Z")] = ""
    """The method of that request; empty for any."""
    still_ms: Annotated[int, msgspec.Meta(ge=0, le=30_000)] = 0
    """The time without a change that counts as still. With 0 a moment is enough, and the action succeeds without it."""


ValueType = Literal["text", "number", "money", "date", "ago", "pattern"]
"""The type of value to read from a text: its first number, amount of money, date, relative time, or part that fits a pattern."""


class Extract(_Action, frozen=True, kw_only=True, tag="extract", tag_field="type"):
    """Read the text of an element (or of the page) under a name. A later action can use it as ``${name}``."""

    name: Annotated[Plain, msgspec.Meta(max_length=64, min_length=1)]
    target: Locator | None = None
    kind: ValueType = "text"
    """A replay compares values of this type, and not their spelling."""
    pattern: Annotated[Plain, msgspec.Meta(max_length=256)] = ""
    """The form of the value (``pattern``): ``#`` is a run of digits, ``*`` anything within the line."""
    compare: Literal["value", "none"] = "value"
    """``value``: a replay must read the same value. ``none``: it may read any value, for example an id that is new in each run."""


class Emulate(_Action, frozen=True, kw_only=True, tag="emulate", tag_field="type"):
    """Change what the page is told of its browser, from now on. What is left out stays as it is."""

    width_px: Annotated[int, msgspec.Meta(ge=0, le=limits.VIEWPORT_PX_MAX)] = 0
    """Width of the viewport; 0 leaves it."""
    height_px: Annotated[int, msgspec.Meta(ge=0, le=limits.VIEWPORT_PX_MAX)] = 0
    """Height of the viewport; 0 leaves it."""
    color_scheme: Literal["", "light", "dark"] = ""
    """The preferred colours."""
    reduced_motion: bool | None = None
    """True to ask pages to leave out animations."""
    offline: bool | None = None
    """True to cut all pages of the session off from the network."""
    location: Annotated[Plain, msgspec.Meta(pattern=LOCATION_PATTERN)] = ""
    """Latitude and longitude in degrees, ``52.52,13.405``. The site of the page is then allowed to ask for it."""

    def __post_init__(self) -> None:
        if any(0 < each < limits.VIEWPORT_PX_MIN for each in (self.width_px, self.height_px)):
            raise ValueError(f"a viewport has at least {limits.VIEWPORT_PX_MIN} pixels")
        if self.location:
            latitude, longitude = map(float, self.location.split(","))
            if abs(latitude) > 90 or abs(longitude) > 180:
                raise ValueError("a latitude is at most 90, a longitude at most 180 degrees")

    @property
    def asked(self) -> dict[str, str]:
        """The settings that it changes, by the names of its fields, as a file writes them."""
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name != "timeout_ms"}
        words = {True: "yes", False: "no"}
        return {
            name: words[value] if isinstance(value, bool) else str(value)
            for name, value in given.items()
            if value or value is False
        }


class Evaluate(_Action, frozen=True, kw_only=True, tag="evaluate", tag_field="type"):
    """Run a script in an isolated world of the page: it sees and changes the document, but no variable of the page's own scripts.
    What it sends is judged as what the page sends. A replay runs it again and does not compare its value.
    """

    script: Text
    """JavaScript: an expression, a function that gets the element, or statements with ``return``. A promise is awaited."""
    target: Locator | None = None
    """The element that the script gets as ``element``; it runs in the frame of the element."""


Asserted = Literal[
    "address",
    "title",
    "text",
    "value",
    "sent",
    "attribute",
    "count",
    "visible",
    "hidden",
    "enabled",
    "disabled",
    "checked",
    "unchecked",
    "download",
    "cell",
    "order",
    "no_console_error",
]


class Assert(_Action, frozen=True, kw_only=True, tag="assert", tag_field="type"):
    """Check the page or an element repeatedly, until the condition holds or the time is over."""

    what: Asserted
    """``address``, ``title``, ``text`` (of the page, without a target), or a property of the element. ``value`` is the text that a
    field shows, or the label of the chosen option of a list; ``sent`` is the value that its form would send.
    """
    expected: Text = ""
    """The expected text, address or number (``count``); not used for states."""
    match: Literal["is", "contains"] = "is"
    """``is``: the whole text must be equal. ``contains``: a part of it. White space is folded."""
    target: Locator | None = None
    attribute: Annotated[Plain, msgspec.Meta(max_length=64)] = ""
    """The name of the attribute (``attribute``)."""
    soft: bool = False
    """True to go on with the session if it fails. Its step is not ok in either case."""
    timeout_ms: Annotated[int, msgspec.Meta(ge=1, le=limits.ACTION_TIMEOUT_MS_MAX)] = 5_000
    sha256: Annotated[Plain, msgspec.Meta(pattern=r"^([0-9a-f]{64})?\Z")] = ""
    """The expected hash of the file (``download``), in hexadecimal."""
    row: Text = ""
    """A text in the row (``cell``)."""
    column: Text = ""
    """The header of the column (``cell``, ``order``)."""
    items: Annotated[tuple[Text, ...], msgspec.Meta(max_length=limits.ASSERTED_ITEMS_MAX)] = ()
    """The expected texts in their order (``order``); without them, ``expected`` is ``ascending`` or ``descending``. For ``sent``,
    the values of all chosen options; without them, ``expected`` is the only value.
    """


Action = (
    Goto
    | Back
    | Forward
    | Reload
    | SwitchTab
    | CloseTab
    | Click
    | Hover
    | Drag
    | Focus
    | ScrollTo
    | Fill
    | Select
    | Upload
    | Check
    | Press
    | Scroll
    | Wait
    | Extract
    | Emulate
    | Evaluate
    | Assert
)


def target_of(action: Action) -> Locator | None:
    """The locator an action names, if it has one."""
    match action:
        case Click(target=target) | Fill(target=target) | Select(target=target) | Check(target=target):
            return target
        case Hover(target=target) | Focus(target=target) | ScrollTo(target=target) | Upload(target=target):
            return target
        case Drag(target=target):
            return target
        case Press(target=maybe) | Extract(target=maybe) | Assert(target=maybe) | Wait(target=maybe):
            return maybe
        case Evaluate(target=maybe):
            return maybe
        case Goto() | Back() | Forward() | Reload() | Scroll() | SwitchTab() | CloseTab() | Emulate():
            return None


def with_target(action: Action, target: Locator) -> Action:
    """The same action on another locator."""
    assert target_of(action) is not None
    return msgspec.structs.replace(action, target=target)


WITHHELD: Final = "REDACTED"
"""The placeholder for a text that is not recorded, as in addresses."""


def describe(action: Action) -> str:
    """The action in one line for people; it never has the value of a secret."""
    match action:
        case Goto(url=url):
            return f"open {url}"
        case Back():
            return "go back"
        case Forward():
            return "go forward"
        case Reload():
            return "reload the page"
        case SwitchTab(tab=tab):
            return f"switch to tab {tab}"
        case CloseTab():
            return "close the tab"
        case Click(target=target, button=button, count=count):
            return f"{'double ' if count > 1 else ''}{'right ' if button == 'right' else ''}click {_named(target)}"
        case Hover(target=target):
            return f"hover over {_named(target)}"
        case Drag(target=target, onto=onto):
            return f"drag {_named(target)} onto {_named(onto)}"
        case Focus(target=target):
            return f"focus {_named(target)}"
        case ScrollTo(target=target):
            return f"scroll to {_named(target)}"
        case Fill(target=target, value=Secret(secret=name)):
            return f"fill {_named(target)} with the secret “{name}”"
        case Fill(target=target, value=value) if value == WITHHELD:
            return f"fill {_named(target)} with a text that is not kept"
        case Fill(target=target, value=""):
            return f"clear {_named(target)}"
        case Fill(target=target, value=value, typed=True):
            return f"type “{value}” in {_named(target)}"
        case Fill(target=target, value=value):
            return f"fill {_named(target)} with “{value}”"
        case Select(target=target, option=option, also=also):
            return f"select {', '.join(f'“{label}”' for label in (option, *also))} in {_named(target)}"
        case Upload(target=target, files=files):
            return f"upload {', '.join(f'“{name}”' for name in files)} in {_named(target)}"
        case Check(target=target, checked=checked):
            return f"{'check' if checked else 'uncheck'} {_named(target)}"
        case Press(key=key, target=maybe):
            return f"press {key}" + (f" in {_named(maybe)}" if maybe else "")
        case Scroll(direction=direction, amount_px=amount):
            return f"scroll {direction} {amount} px"
        case Wait(target=Locator() as target, state=state):
            return f"wait for {_named(target)}" + (" to be hidden" if state == "hidden" else "")
        case Wait(address=address) if address:
            return f"wait for the address “{address}”"
        case Wait(response=response, method=method) if response:
            return f"wait for the answer to {f'{method} ' if method else ''}“{response}”"
        case Wait(still_ms=still_ms) if still_ms:
            return f"wait until nothing changes for {still_ms} ms"
        case Wait(text=text):
            return f"wait for “{text}”" if text else "wait until the page is still"
        case Extract(name=name, target=maybe, compare=compare):
            uncompared = ", which no replay compares" if compare == "none" else ""
            return f"extract “{name}”" + (f" from {_named(maybe)}" if maybe else "") + uncompared
        case Emulate():
            said = (f"{name.removesuffix('_px').replace('_', ' ')} {value}" for name, value in action.asked.items())
            return f"emulate {', '.join(said)}"
        case Evaluate(script=script, target=maybe):
            return f"run “{script}”" + (f" on {_named(maybe)}" if maybe else "")
        case Assert():
            return f"expect {demand(action)}"


def demand(assertion: Assert) -> str:
    """The demand of an assertion, in words: ``button “Buy” to be enabled``."""
    what, expected, subject = assertion.what, assertion.expected, "the page"
    if assertion.target is not None:
        subject = _named(assertion.target)
    verb = "contain" if assertion.match == "contains" else "be"
    match what:
        case "address" | "title":
            return f"the {what} to {verb} “{expected}”"
        case "text" | "value":
            return f"the {what} of {subject} to {verb} “{expected}”"
        case "sent":
            items = ", ".join(f"“{item}”" for item in assertion.items or (expected,))
            return f"what {subject} would send to {verb} {items}"
        case "attribute":
            return f"the attribute {assertion.attribute} of {subject} to {verb} “{expected}”"
        case "download":
            content = f" with the SHA-256 {assertion.sha256[:16]}…" if assertion.sha256 else ""
            return f"a download whose name is to {verb} “{expected}”{content}"
        case "cell":
            return f"the cell “{assertion.column}” of the row “{assertion.row}” to {verb} “{expected}”"
        case "order":
            of = f"the column “{assertion.column}”" if assertion.column else f"each {subject}"
            return f"{of} to be {expected or ', '.join(f'“{item}”' for item in assertion.items)}"
        case "no_console_error":
            return "no error in the console"
        case "count":
            return f"the number of {subject} to be {expected}"
        case _:
            return f"{subject} to be {what}"


def _named(target: Locator) -> str:
    if target.selectors and not (target.role and target.name):  # “paragraph “” (number 2)” would mean nothing
        return target.selectors[0] + _scoped(target.within)
    place = f" (number {target.nth + 1})" if target.nth and not target.within else ""
    # A box that only a script makes a control has no meaningful role.
    role = "" if target.role == "generic" else f"{target.role} "
    return f"{role}“{visible(target.name)}”{place}{_scoped(target.within)}"


def _scoped(within: Within | None) -> str:
    if within is None:
        return ""
    if not within.role:
        return f" in {within.selectors[0]}"
    said = within.name or within.text
    return f" in {within.role} “{visible(said)}”" if said else f" in {within.role}"
