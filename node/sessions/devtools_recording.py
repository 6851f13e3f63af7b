"""Converts recordings of the Chrome DevTools Recorder (its JSON export) to actions.

Each step and each field is either performed as Chrome's own player does it, or refused with its position. If a field were
ignored, a partly understood recording would look complete. The form is ``Schema.ts`` of the npm package ``@puppeteer/replay``;
docs/devtools-recorder.md lists the differences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from node.config import invalid_in_words
from node.live import Arrival
from node.sessions.devtools_keys import Keys
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Click, Extract, Fill, Goto, Locator, Press, Scroll, Secret, Wait
from protocol.page.observation import CHECKABLE_ROLES
from protocol.recording.session import Profile

_ARIA: Final = re.compile(r'(?P<name>.*?)(?P<tests>(?:\[[a-z-]+="[^"]*"\])*)', re.DOTALL)
_ARIA_ROLE: Final = re.compile(r'\[role="([^"]*)"\]')
_STEPS_MAX: Final = 3 * limits.SESSION_STEPS_MAX
_SELECTORS_MAX: Final = 64
_SCROLL_PX_MAX: Final = 100_000
_TIMEOUT_MS_MAX: Final = 30_000  # the field names of the schema

_RECORDING: Final = frozenset({"title", "timeout", "selectorAttribute", "steps"})
_STEP: Final = frozenset({"type", "target", "timeout", "assertedEvents"})
_SELECTED: Final = _STEP | {"frame", "selectors"}
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "navigate": _STEP | {"url"},
    "setViewport": _STEP | {"width", "height", "deviceScaleFactor", "isMobile", "hasTouch", "isLandscape"},
    "click": _SELECTED | {"offsetX", "offsetY", "button", "deviceType", "duration"},
    "change": _SELECTED | {"value"},
    "keyDown": _STEP | {"key"},
    "keyUp": _STEP | {"key"},
    "scroll": _SELECTED | {"x", "y"},
    "waitForElement": _SELECTED | {"operator", "count", "visible", "properties", "attributes"},
}
_REFUSED: Final[Mapping[str, str]] = {
    "doubleClick": "a double click is not supported, and two clicks are not the same",
    "hover": "hovering over an element is not supported",
    "waitForExpression": "code from a recording is never executed; wait for an element instead",
    "emulateNetworkConditions": "emulating a network speed is not supported",
    "close": "closing the page is not supported; a session ends with its last step",
    "customStep": "the meaning of the step is known only to the extension that wrote it",
}


class DevtoolsRecording(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a recording, converted."""

    title: str
    profile: Profile
    actions: tuple[Action, ...]
    arrivals: Mapping[int, Arrival]
    """The asserted page after an action, by number of the action from 1."""
    notes: tuple[str, ...]
    """Differences from the way in which Chrome's player performs the recording."""


def parse_devtools(text: str) -> DevtoolsRecording:
    """The recording in ``text``. Errors: ``input.invalid``, with the number of the step (from 1) and the field."""
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
    reader = _Reader(value)
    for number, step in enumerate(steps, 1):
        reader.take(number, step)
    return DevtoolsRecording(
        title=title,
        profile=reader.profile,
        actions=tuple(reader.actions),
        arrivals=reader.arrivals,
        notes=reader.notes,
    )


class _Reader:
    """Converts the steps in order. Keys that are held down are state that carries over between steps."""

    def __init__(self, recording: dict[str, Any]) -> None:
        self.actions: list[Action] = []
        self.arrivals: dict[int, Arrival] = {}
        self.profile = Profile()
        self._keys = Keys()
        self._clicks: list[int] = []
        self._number = 0
        self._default_ms = self._timeout_ms(recording, limits.STEP_TIMEOUT_MS)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about what is performed differently."""
        if not self._clicks:
            return ()
        where = ", ".join(map(str, self._clicks[:10])) + (", …" if len(self._clicks) > 10 else "")
        return (f"elements are clicked in the middle; `offsetX` and `offsetY` are ignored: steps {where}",)

    def take(self, number: int, step: Any) -> None:
        """Convert one step. Errors: ``input.invalid``."""
        self._number = number
        kind = step.get("type") if isinstance(step, dict) else None
        if not isinstance(kind, str):
            raise self._bad("a step must be an object with a `type`")
        self._check_fields(kind, step)
        self._timeout_ms(step, self._default_ms)
        arrival = self._arrival(step)
        actions = self._actions(kind, step)
        for action in actions:
            try:
                # msgspec checks lengths and ranges only on conversion, not in constructors.
                msgspec.convert(msgspec.to_builtins(action), Action)
            except msgspec.ValidationError as error:
                raise self._bad(invalid_in_words(error, Action)) from error
        self.actions += actions
        if arrival is not None:
            self._assert(kind, step, arrival, done=bool(actions))

    def _bad(self, reason: str, field: str = "") -> MeshError:
        place = f"step {self._number}" if self._number else "the recording"
        where = {"step": self._number} | ({"field": field} if field else {})
        return MeshError("input.invalid", f"{place}{f', `{field}`' if field else ''}: {reason}", **where)

    def _check_fields(self, kind: str, step: dict[str, Any]) -> None:
        if kind in _REFUSED:
            raise self._bad(f"{kind}: {_REFUSED[kind]}", "type")
        known = _FIELDS.get(kind)
        if known is None:
            raise self._bad(f"unknown type “{kind[:40]}”; known: {', '.join(_FIELDS)}", "type")
        for field in sorted(step.keys() - known):
            raise self._bad(f"a step of type {kind} has no such field", field[:40])
        if step.get("target", "main") != "main":
            raise self._bad("it belongs to another tab, which is not supported", "target")

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
        if not url:
            raise self._bad("a navigation without `url` cannot be checked", field)
        # The Recorder writes an empty title if the page had none yet, so an empty title asserts nothing.
        return Arrival(url=url, title=title)

    def _assert(self, kind: str, step: dict[str, Any], arrival: Arrival, *, done: bool) -> None:
        """Attach ``arrival`` to the last action: that of this step, or the key press that a ``keyUp`` ends."""
        pressed = kind == "keyUp" and bool(self.actions) and self._keys.ended(self.actions[-1], step["key"])
        if not (done or pressed) or len(self.actions) in self.arrivals:
            raise self._bad("this step performs no action here that could lead to a page", "assertedEvents")
        self.arrivals[len(self.actions)] = arrival

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
            case "click":
                return (self._click(step),)
            case "change":
                return (self._change(step),)
            case "scroll":
                return self._scroll(step)
            case _:
                return self._wait(step)

    def _key(self, kind: str, step: dict[str, Any]) -> tuple[Press, ...]:
        key = self._text(step, "key")
        try:
            return self._keys.down(key) if kind == "keyDown" else self._keys.up(key)
        except ValueError as error:
            raise self._bad(str(error), "key") from error

    def _text(self, step: dict[str, Any], field: str) -> str:
        value = step.get(field)
        if not isinstance(value, str):
            raise self._bad("must be text", field)
        return value

    def _number_of(self, step: dict[str, Any], field: str, default: float) -> float:
        value = step.get(field, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
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

    def _click(self, step: dict[str, Any]) -> Click:
        for field, only in (("button", "primary"), ("deviceType", "mouse")):
            if step.get(field, only) != only:
                raise self._bad(f"only the {only} {'mouse ' if field == 'button' else ''}{field} is supported", field)
        if "duration" in step:
            raise self._bad("holding the button down is not supported", "duration")
        self._number_of(step, "offsetX", 0)
        self._number_of(step, "offsetY", 0)
        if "offsetX" in step or "offsetY" in step:
            self._clicks.append(self._number)
        return Click(target=self._locator(step))

    def _change(self, step: dict[str, Any]) -> Fill:
        """``node.live.acting`` turns it into a selection, by value or label, once it is known that the element is a list."""
        target = self._locator(step)
        if target.role in CHECKABLE_ROLES:
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

    def _wait(self, step: dict[str, Any]) -> tuple[Action, ...]:
        """Wait until the page stops changing, then read the element, which fails if it is missing."""
        for field, plain in (("operator", ">="), ("count", 1), ("visible", True)):
            value = step.get(field, plain)
            if type(value) is not type(plain) or value != plain:
                raise self._bad("waiting is supported only for the presence of one or more elements", field)
        for field in ("properties", "attributes"):
            if field in step:
                raise self._bad("waiting is supported only for the presence of an element", field)
        wait = Wait(timeout_ms=self._timeout_ms(step, self._default_ms))
        return (wait, Extract(name=f"element of step {self._number}", target=self._locator(step)))

    # --- elements ---

    def _locator(self, step: dict[str, Any]) -> Locator:
        """Role and name from the ``aria/`` selector, the others as alternatives, in the recorded order."""
        role = name = ""
        selectors: list[str] = []
        for chain in self._chains(step):
            head, mark, rest = chain[-1].partition("/")
            if head == "aria" and mark:
                found = _ARIA.fullmatch(rest)
                assert found is not None, "a name may be any text"
                tests = found["tests"]
                tested = _ARIA_ROLE.fullmatch(tests)
                # Only the role attribute is supported. Ignoring any other attribute could find the wrong element.
                if len(chain) == 1 and not name and (tested or not tests):
                    name, role = found["name"], tested[1] if tested else ""
                continue
            selector = _selector(chain)
            if selector and selector not in selectors:
                selectors.append(selector)
        if not name and not selectors:
            raise self._bad("none of its selectors is supported", "selectors")
        return Locator(
            role=role, name=name, frame=self._frame(step), selectors=tuple(selectors[: limits.LOCATOR_SELECTORS_MAX])
        )

    def _chains(self, step: dict[str, Any]) -> list[list[str]]:
        groups = step.get("selectors")
        if not isinstance(groups, list) or not groups:
            raise self._bad("must be a list", "selectors")
        if len(groups) > _SELECTORS_MAX:
            raise self._bad(f"more than {_SELECTORS_MAX} selectors", "selectors")
        chains = [[group] if isinstance(group, str) else group for group in groups]
        for chain in chains:
            if not isinstance(chain, list) or not chain or not all(isinstance(part, str) and part for part in chain):
                raise self._bad("a selector must be text or a list of texts", "selectors")
            if sum(map(len, chain)) > limits.ACTION_TEXT_CHARS_MAX:
                raise self._bad(f"a selector of more than {limits.ACTION_TEXT_CHARS_MAX} characters", "selectors")
        return chains

    def _frame(self, step: dict[str, Any]) -> str:
        path = step.get("frame", [])
        if not isinstance(path, list) or not all(type(part) is int and 0 <= part < 100 for part in path):
            raise self._bad("must be a list of numbers", "frame")
        if len(path) > 1:
            raise self._bad("a frame inside a frame is not supported", "frame")
        return f"f{path[0] + 1}" if path else ""


def _selector(chain: list[str]) -> str:
    """One of our selectors for a chain through shadow roots; empty for a chain that has no equivalent."""
    parts = [part.removeprefix("pierce/") for part in chain]
    if len(parts) > 1:
        # Playwright's css pierces open shadow roots, so a chain through them becomes a descendant selector.
        plain = not any(part.startswith(("xpath/", "text/", "aria/")) for part in parts)
        return "css=" + " ".join(parts) if plain else ""
    part = parts[0]
    if part.startswith("xpath/"):
        return "xpath=" + part.removeprefix("xpath/")
    if part.startswith("text/"):
        return "text=" + part.removeprefix("text/")
    return "css=" + part
