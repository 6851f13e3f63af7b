"""Converts recordings of the Chrome DevTools Recorder (its JSON export) to actions.

Each step and each field is either performed as in Chrome's own player, or refused with its position: ignoring a field would make a
partly understood recording look complete. The form is ``Schema.ts`` of the npm package ``@puppeteer/replay``;
docs/devtools-recorder.md lists the differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from node.live.recording import Arrival
from node.sessions.importing.devtools_keys import Keys
from node.sessions.importing.devtools_selectors import chains_of, role_of, ways
from node.sessions.importing.devtools_tabs import DevtoolsTabs
from node.sessions.importing.devtools_waits import wait_actions
from node.sessions.importing.foreign import Foreign, LeftOut, asserted, counted_places, invalid_reason
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Click, Fill, Goto, Hover, Locator, Press, Scroll, Secret
from protocol.page.actions.keys import require_key
from protocol.page.seen.observation import CHECKABLE_ROLES
from protocol.recording.records.session import Profile, Skipped

_STEPS_MAX: Final = 3 * limits.SESSION_STEPS_MAX
_SCROLL_PX_MAX: Final = 100_000
_TIMEOUT_MS_MAX: Final = 30_000  # a field name of the schema

_NUMBER_MAX: Final = 2**53
_RECORDING: Final = frozenset({"title", "timeout", "selectorAttribute", "steps"})
_STEP: Final = frozenset({"type", "target", "timeout", "assertedEvents"})
_SELECTED: Final = _STEP | {"frame", "selectors"}
_CLICKED: Final = _SELECTED | {"offsetX", "offsetY", "button", "deviceType", "duration"}
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "navigate": _STEP | {"url"},
    "setViewport": _STEP | {"width", "height", "deviceScaleFactor", "isMobile", "hasTouch", "isLandscape"},
    "click": _CLICKED,
    "doubleClick": _CLICKED,
    "hover": _SELECTED,
    "change": _SELECTED | {"value"},
    "keyDown": _STEP | {"key"},
    "keyUp": _STEP | {"key"},
    "scroll": _SELECTED | {"x", "y"},
    "waitForElement": _SELECTED | {"operator", "count", "visible", "properties", "attributes"},
    "close": _STEP,
}
_REFUSED: Final[Mapping[str, str]] = {
    "waitForExpression": "code from a recording is never executed; wait for an element instead",
    "emulateNetworkConditions": "emulating a network speed is not supported",
    "customStep": "the meaning of the step is known only to the extension that wrote it",
}
_NUMBERED: Final = "tabs are numbered in the order in which the recording acts in them first"
_BUTTONS: Final = ("primary", "secondary")


def parse_devtools(text: str, *, lenient: bool = False) -> Foreign:
    """The recording in ``text``. lenient: leave out and list the steps that cannot be performed.

    Errors: ``input.invalid``, with the number of the step (from 1) and the field; ``input.too_large``.
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MeshError("input.invalid", f"not JSON: {str(error)[:200]}") from error
    steps = value.get("steps") if isinstance(value, dict) else None
    if not isinstance(steps, list) or not steps:
        raise MeshError("input.invalid", "a Recorder export has a list of `steps`")
    if len(steps) > _STEPS_MAX:
        raise MeshError("input.too_large", f"more than {_STEPS_MAX} steps")
    unknown = sorted(value.keys() - _RECORDING)
    if unknown:
        raise MeshError("input.invalid", f"unknown field `{unknown[0][:40]}`; known: {', '.join(sorted(_RECORDING))}")
    title = value.get("title", "")
    if not isinstance(title, str):
        raise MeshError("input.invalid", "`title` must be text")
    reader = _Reader(value, lenient=lenient)
    for number, step in enumerate(steps, 1):
        reader.take(number, step, last=number == len(steps))
    actions, arrivals, skipped = reader.converted()
    return Foreign(
        title=title,
        profile=reader.profile,
        actions=actions,
        arrivals=arrivals,
        notes=reader.notes,
        skipped=skipped,
    )


class _Reader:
    """Converts the steps in order. It remembers between steps which keys are down."""

    def __init__(self, recording: dict[str, Any], *, lenient: bool) -> None:
        self.actions: list[Action] = []
        self.arrivals: dict[int, Arrival] = {}
        self.profile = Profile()
        self._keys = Keys()
        self._tabs = DevtoolsTabs()
        self._clicks: list[str] = []
        self._unused: list[str] = []
        self._framed: list[str] = []
        self._left_out = LeftOut(lenient=lenient)
        self._number = 0
        self._default_ms = self._timeout_ms(recording, limits.STEP_TIMEOUT_MS)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about steps that are performed differently than in Chrome."""
        parts = (
            ("elements are clicked in the middle; `offsetX` and `offsetY` are ignored: steps", self._clicks),
            ("frames are counted among those that are shown: steps", self._framed),
            ("selectors without an equivalent are left out, the others of the step are used:", self._unused),
        )
        notes = tuple(f"{words} {counted_places(places)}" for words, places in parts if places)
        return (*notes, _NUMBERED) if self._tabs.several else notes

    def converted(self) -> tuple[tuple[Action, ...], Mapping[int, Arrival], tuple[Skipped, ...]]:
        """The actions, the pages that they must lead to, and the steps that were left out."""
        self._left_out.require_none()
        return asserted(tuple(self.actions), self.arrivals, self._default_ms, self._left_out.skipped)

    def take(self, number: int, step: Any, *, last: bool) -> None:
        """Convert one step. Errors: ``input.invalid``, unless the reader is lenient."""
        self._number = number
        kind = step.get("type") if isinstance(step, dict) else None
        try:
            self._take(kind, step, last=last)
        except MeshError as error:
            field = error.detail.get("field", "")
            place = f"steps[{number - 1}]{f'.{field}' if field else ''}"
            self._left_out.add(error, place, kind if isinstance(kind, str) else "step", len(self.actions) + 1)

    def _take(self, kind: Any, step: Any, *, last: bool) -> None:
        if not isinstance(kind, str):
            raise self._bad("a step must be an object with a `type`")
        self._check_fields(kind, step)
        target = step.get("target", "main")
        if reason := self._tabs.reason(target, kind, last=last):
            raise self._bad(reason, "type" if kind == "close" and target == "main" else "target")
        self._timeout_ms(step, self._default_ms)
        arrival = self._arrival(step)
        actions = self._actions(kind, step)
        if "timeout" in step:
            own_ms = self._timeout_ms(step, 0)
            actions = tuple(msgspec.structs.replace(each, timeout_ms=own_ms) for each in actions)
        for action in actions:
            if reason := invalid_reason(action):
                raise self._bad(reason)
        if arrival is not None:
            self._check_arrival(kind, step, done=bool(actions))
        if actions or kind == "close":
            self.actions += self._tabs.come(target, self._timeout_ms(step, self._default_ms))
        self.actions += self._tabs.close(target) if kind == "close" else actions
        if arrival is not None:
            self.arrivals[len(self.actions)] = arrival

    def _bad(self, reason: str, field: str = "") -> MeshError:
        place = f"steps[{self._number - 1}]" if self._number else ""
        at = ".".join(filter(None, (place, field))) or "the recording"
        where: dict[str, Any] = {"step": self._number} | ({"field": field} if field else {})
        return MeshError(
            "input.invalid",
            f"{at}{f' (step {self._number})' if self._number else ''}: {reason}",
            **where,
        )

    def _check_fields(self, kind: str, step: dict[str, Any]) -> None:
        if kind in _REFUSED:
            raise self._bad(f"{kind}: {_REFUSED[kind]}", "type")
        known = _FIELDS.get(kind)
        if known is None:
            raise self._bad(f"unknown type “{kind[:40]}”; known: {', '.join(_FIELDS)}", "type")
        for field in sorted(step.keys() - known):
            raise self._bad(f"a step of type {kind} has no such field", field[:40])

    # --- asserted events ---

    def _arrival(self, step: dict[str, Any]) -> Arrival | None:
        """The asserted page after the step, if there is one."""
        field = "assertedEvents"
        events = step.get(field, [])
        if not isinstance(events, list) or len(events) > 1:
            raise self._bad("a list of one event: of several, only the last could be checked", field)
        if not events:
            return None
        event = events[0]
        if not isinstance(event, dict) or event.get("type") != "navigation" or event.keys() - {"type", "url", "title"}:
            raise self._bad("only an event of type navigation, with `url` and `title`, is known", field)
        if step.get("frame"):
            raise self._bad("the navigation of a frame cannot be checked", field)
        url, title = event.get("url", ""), event.get("title", "")
        if not isinstance(url, str) or not isinstance(title, str):
            raise self._bad("`url` and `title` must be text", field)
        if not (url or title):
            raise self._bad("a navigation without `url` and `title` cannot be checked", field)
        # The Recorder writes an empty title if the page had none yet, so an empty title asserts nothing.
        return Arrival(url=url, title=title)

    def _check_arrival(self, kind: str, step: dict[str, Any], *, done: bool) -> None:
        """Return if an action leads to the asserted page: the action of this step, or the key press that a ``keyUp`` ends. Errors:
        ``input.invalid``.
        """
        pressed = kind == "keyUp" and bool(self.actions) and self._keys.ended(self.actions[-1], step["key"])
        if not done and (not pressed or len(self.actions) in self.arrivals):
            raise self._bad("this step performs no action here that could lead to a page", "assertedEvents")

    # --- steps ---

    def _actions(self, kind: str, step: dict[str, Any]) -> tuple[Action, ...]:
        if kind in ("keyDown", "keyUp"):
            return self._key(kind, step)
        if reason := self._keys.interrupt():
            raise self._bad(reason)
        match kind:
            case "navigate":
                return (Goto(url=self._text(step, "url")),)
            case "setViewport":
                self._viewport(step)
                return ()
            case "close":
                return ()
            case "click" | "doubleClick":
                return (self._click(step, 2 if kind == "doubleClick" else 1),)
            case "hover":
                return (Hover(target=self._locator(step)),)
            case "change":
                return (self._change(step),)
            case "scroll":
                return self._scroll(step)
            case _:
                return wait_actions(step, self._locator(step), self._timeout_ms(step, self._default_ms), self._bad)

    def _key(self, kind: str, step: dict[str, Any]) -> tuple[Press, ...]:
        key = self._text(step, "key")
        try:
            presses = self._keys.down(key) if kind == "keyDown" else self._keys.up(key)
            for press in presses:
                require_key(press.key)
        except ValueError as error:
            raise self._bad(str(error), "key") from error
        except MeshError as error:
            raise self._bad(error.message, "key") from error
        return presses

    def _text(self, step: dict[str, Any], field: str) -> str:
        value = step.get(field)
        if not isinstance(value, str):
            raise self._bad("must be text", field)
        return value

    def _number_of(self, step: dict[str, Any], field: str, default: float) -> float:
        value = step.get(field, default)
        # JSON has integers of any length, and no float holds one of 400 digits.
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < _NUMBER_MAX:
            raise self._bad("must be a number", field)
        return value

    def _timeout_ms(self, step: dict[str, Any], default: int) -> int:
        value = self._number_of(step, "timeout", default)
        if not 1 <= value <= _TIMEOUT_MS_MAX:
            raise self._bad(f"must be 1 to {_TIMEOUT_MS_MAX} ms", "timeout")
        return round(value)

    def _viewport(self, step: dict[str, Any]) -> None:
        sides: dict[str, int] = {}
        for field in ("width", "height"):
            value = self._number_of(step, field, math.nan)
            if value != round(value) or not limits.VIEWPORT_PX_MIN <= value <= limits.VIEWPORT_PX_MAX:
                reason = f"must be {limits.VIEWPORT_PX_MIN} to {limits.VIEWPORT_PX_MAX} whole pixels"
                raise self._bad(reason, field)
            sides[f"{field}_px"] = round(value)
        if self._number_of(step, "deviceScaleFactor", 1) != 1:
            raise self._bad("only 1 is supported", "deviceScaleFactor")
        for field in ("isMobile", "hasTouch", "isLandscape"):
            if step.get(field, False) is not False:
                raise self._bad("emulating a phone is not supported", field)
        profile = msgspec.structs.replace(self.profile, **sides)
        if self.actions and profile != self.profile:
            raise self._bad("the size of the window cannot change after the first action")
        self.profile = profile

    def _click(self, step: dict[str, Any], count: int) -> Click:
        button = step.get("button", "primary")
        if button not in _BUTTONS:
            raise self._bad("only the primary and the secondary mouse button are supported", "button")
        if step.get("deviceType", "mouse") != "mouse":
            raise self._bad("only the mouse is supported", "deviceType")
        if "duration" in step:
            raise self._bad("holding the button down is not supported", "duration")
        self._number_of(step, "offsetX", 0)
        self._number_of(step, "offsetY", 0)
        if "offsetX" in step or "offsetY" in step:
            self._clicks.append(str(self._number))
        return Click(target=self._locator(step), button="left" if button == "primary" else "right", count=count)

    def _change(self, step: dict[str, Any]) -> Fill:
        """A change of a field. ``node.live.acting.driver`` turns it into a selection, by value or label, when the element proves
        to be a list.
        """
        target = self._locator(step)
        if any(role_of(way) in CHECKABLE_ROLES for way in target.selectors):
            raise self._bad(
                "the value of a check box does not say whether it is checked; record the click instead", "selectors"
            )
        value = step.get("value")
        if isinstance(value, dict) and isinstance(value.get("secret"), str) and len(value) == 1:
            return Fill(target=target, value=Secret(secret=value["secret"]))
        return Fill(target=target, value=self._text(step, "value"))

    def _scroll(self, step: dict[str, Any]) -> tuple[Scroll, ...]:
        """Scroll to the top and then down, because the recorded position is absolute and our scrolling is relative."""
        for field in ("selectors", "frame"):
            if step.get(field):
                raise self._bad("scrolling inside an element or a frame is not supported", field)
        if self._number_of(step, "x", 0):
            raise self._bad("scrolling to the side is not supported", "x")
        position = self._number_of(step, "y", 0)
        if not 0 <= position <= _SCROLL_PX_MAX:
            raise self._bad(f"must be 0 to {_SCROLL_PX_MAX} px", "y")
        top = Scroll(direction="up", amount_px=_SCROLL_PX_MAX)
        return (top, Scroll(amount_px=round(position))) if round(position) else (top,)

    # --- elements ---

    def _locator(self, step: dict[str, Any]) -> Locator:
        """All selectors of the element that have an equivalent, in the recorded order."""
        selectors, left_out = ways(chains_of(step, self._bad))
        if not selectors:
            raise self._bad("none of its selectors is supported", "selectors")
        frame = self._frame(step)
        self._unused += [f"steps[{self._number - 1}].selectors[{place}]" for place in left_out]
        return Locator(frame=frame, selectors=selectors)

    def _frame(self, step: dict[str, Any]) -> str:
        path = step.get("frame", [])
        if not isinstance(path, list) or not all(type(part) is int and 0 <= part < 100 for part in path):
            raise self._bad("must be a list of numbers", "frame")
        if len(path) > 1:
            raise self._bad("a frame inside a frame is not supported", "frame")
        if not path:
            return ""
        self._framed.append(str(self._number))
        return f"f{path[0] + 1}"
