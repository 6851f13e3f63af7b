"""Recordings of the Chrome DevTools Recorder (its JSON export) as actions."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from node.config import in_words
from protocol import limits
from protocol.errors import MeshError
from protocol.page.action import Action, Click, Fill, Goto, Locator, Press, Scroll, Secret, Select, Wait
from protocol.recording.session import Profile

_MODIFIERS: Final = ("Control", "Alt", "Shift", "Meta")
_ARIA: Final = re.compile(r'(?P<name>.*?)(?P<tests>(?:\[[a-z-]+="[^"]*"\])*)', re.DOTALL)
_ARIA_ROLE: Final = re.compile(r'\[role="([^"]*)"\]')
_LEFT_OUT: Final = frozenset({"hover", "emulateNetworkConditions", "close"})
_STEPS_MAX: Final = 3 * limits.SESSION_STEPS_MAX
_SELECTORS_MAX: Final = 64


class DevtoolsRecording(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording holds for us."""

    title: str
    profile: Profile
    actions: tuple[Action, ...]
    notes: tuple[str, ...]


def parse_devtools(text: str) -> DevtoolsRecording:
    """The recording in ``text``. Errors: ``input.invalid``, with the number of the step (from 1)."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MeshError("input.invalid", f"not JSON: {str(error)[:200]}") from error
    steps = value.get("steps") if isinstance(value, dict) else None
    if not isinstance(steps, list) or not steps:
        raise MeshError("input.invalid", "a Recorder export has a list of `steps`")
    if len(steps) > _STEPS_MAX:
        raise MeshError("input.too_large", f"more than {_STEPS_MAX} steps")
    reader = _Reader()
    for number, step in enumerate(steps, 1):
        reader.take(number, step)
    title = value.get("title")
    return DevtoolsRecording(
        title=title if isinstance(title, str) else "",
        profile=reader.profile,
        actions=tuple(reader.actions),
        notes=tuple(reader.notes),
    )


class _Reader:
    """Takes the steps in order; keys held down and the scroll position carry over from one to the next."""

    def __init__(self) -> None:
        self.actions: list[Action] = []
        self.notes: list[str] = []
        self.profile = Profile()
        self._held: list[str] = []
        self._scroll_y = 0
        self._number = 0

    def take(self, number: int, step: Any) -> None:
        """Add what ``step`` asks for. Errors: ``input.invalid``."""
        self._number = number
        kind = step.get("type") if isinstance(step, dict) else None
        if not isinstance(kind, str):
            raise self._bad("a step must be an object with a `type`")
        if step.get("target") not in (None, "main"):
            raise self._bad("it belongs to another tab, which is not supported")
        action = self._action(kind, step)
        if action is None:
            return
        try:
            # The constructors do not check lengths and ranges; the conversion does.
            msgspec.convert(msgspec.to_builtins(action), Action)
        except msgspec.ValidationError as error:
            raise self._bad(in_words(error)) from error
        self.actions.append(action)

    def _bad(self, reason: str) -> MeshError:
        return MeshError("input.invalid", f"step {self._number}: {reason}", step=self._number)

    def _note(self, reason: str) -> None:
        self.notes.append(f"step {self._number}: {reason}")

    def _action(self, kind: str, step: dict[str, Any]) -> Action | None:
        match kind:
            case "navigate":
                self._scroll_y = 0
                return Goto(url=self._text(step, "url"))
            case "setViewport":
                self._viewport(step)
            case "click" | "doubleClick":
                if kind == "doubleClick":
                    self._note("the double click is done as a click")
                if step.get("button") not in (None, "primary"):
                    raise self._bad("only the primary mouse button is supported")
                return Click(target=self._locator(step))
            case "change":
                return self._change(step)
            case "keyDown":
                return self._key_down(self._text(step, "key"))
            case "keyUp":
                key = self._text(step, "key")
                self._held = [held for held in self._held if held != key]
            case "scroll":
                return self._scroll(step)
            case "waitForElement":
                return self._wait(step)
            case "waitForExpression":
                # The expression is code of somebody else's: it is never run, the page's stillness stands in for it.
                self._note("the expression is not evaluated; waiting until the page is still")
                return Wait(timeout_ms=self._timeout_ms(step))
            case _ if kind in _LEFT_OUT:
                self._note(f"{kind} is left out")
            case _:
                raise self._bad(f"unknown type “{kind[:40]}”")
        return None

    def _text(self, step: dict[str, Any], key: str) -> str:
        value = step.get(key)
        if not isinstance(value, str):
            raise self._bad(f"`{key}` must be text")
        return value

    def _integer(self, step: dict[str, Any], key: str, default: int) -> int:
        value = step.get(key, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < 1e9:
            raise self._bad(f"`{key}` must be a number")
        return round(value)

    def _timeout_ms(self, step: dict[str, Any]) -> int:
        return min(max(self._integer(step, "timeout", limits.STEP_TIMEOUT_MS), 1), 60_000)

    def _viewport(self, step: dict[str, Any]) -> None:
        if self.actions:
            self._note("the later change of the window's size is left out")
            return
        low, high = limits.VIEWPORT_PX_MIN, limits.VIEWPORT_PX_MAX
        width = min(max(self._integer(step, "width", self.profile.width_px), low), high)
        height = min(max(self._integer(step, "height", self.profile.height_px), low), high)
        self.profile = msgspec.structs.replace(self.profile, width_px=width, height_px=height)
        if step.get("isMobile") or step.get("hasTouch"):
            self._note("touch and mobile emulation are left out")

    def _change(self, step: dict[str, Any]) -> Action:
        """Fill or choose, as far as the role tells; ``node.live.acting.fit`` decides once the element itself is known."""
        target = self._locator(step)
        value = step.get("value")
        if isinstance(value, dict) and isinstance(value.get("secret"), str) and len(value) == 1:
            return Fill(target=target, value=Secret(secret=value["secret"]))
        text = self._text(step, "value")
        return Select(target=target, option=text) if target.role == "listbox" else Fill(target=target, value=text)

    def _key_down(self, key: str) -> Action | None:
        if key in _MODIFIERS:
            if key not in self._held:
                self._held.append(key)
            return None
        held = [name for name in _MODIFIERS if name in self._held]
        if held == ["Shift"] and len(key) == 1:
            held = []  # "A" already says that shift was held
        return Press(key="+".join([*held, key]))

    def _scroll(self, step: dict[str, Any]) -> Action | None:
        if step.get("selectors"):
            self._note("scrolling inside an element is left out")
            return None
        position = max(self._integer(step, "y", 0), 0)
        distance, self._scroll_y = position - self._scroll_y, position
        if distance == 0:
            return None
        return Scroll(direction="down" if distance > 0 else "up", amount_px=min(abs(distance), 100_000))

    def _wait(self, step: dict[str, Any]) -> Action:
        timeout_ms = self._timeout_ms(step)
        appears = (
            step.get("visible", True) is not False
            and step.get("operator", ">=") in (">=", "==")
            and step.get("count", 1) != 0
        )
        target = self._locator(step)
        text = target.name or next((s.removeprefix("text=") for s in target.selectors if s.startswith("text=")), "")
        if not appears or not text:
            self._note("the condition is not checked; waiting until the page is still")
            return Wait(timeout_ms=timeout_ms)
        return Wait(text=text, timeout_ms=timeout_ms)

    def _locator(self, step: dict[str, Any]) -> Locator:
        """Role and name from the ``aria/`` selector, the others as alternatives, in the recorded order."""
        role = name = ""
        selectors: list[str] = []
        for chain in self._chains(step):
            head, mark, rest = chain[-1].partition("/")
            if head == "aria" and mark:
                found = _ARIA.fullmatch(rest)
                if len(chain) == 1 and found and not name:
                    tested = _ARIA_ROLE.search(found["tests"])
                    name, role = found["name"], tested[1] if tested else ""
                continue
            selector = _selector(chain)
            if selector and selector not in selectors:
                selectors.append(selector)
        if not name and not selectors:
            raise self._bad("none of its selectors is supported")
        return Locator(
            role=role, name=name, frame=self._frame(step), selectors=tuple(selectors[: limits.LOCATOR_SELECTORS_MAX])
        )

    def _chains(self, step: dict[str, Any]) -> list[list[str]]:
        groups = step.get("selectors")
        if not isinstance(groups, list) or not groups:
            raise self._bad("`selectors` must be a list")
        if len(groups) > _SELECTORS_MAX:
            raise self._bad(f"more than {_SELECTORS_MAX} selectors")
        chains = [[group] if isinstance(group, str) else group for group in groups]
        for chain in chains:
            if not isinstance(chain, list) or not chain or not all(isinstance(part, str) and part for part in chain):
                raise self._bad("a selector must be text or a list of texts")
            if sum(map(len, chain)) > limits.ACTION_TEXT_CHARS_MAX:
                raise self._bad(f"a selector of more than {limits.ACTION_TEXT_CHARS_MAX} characters")
        return chains

    def _frame(self, step: dict[str, Any]) -> str:
        path = step.get("frame", [])
        if not isinstance(path, list) or not all(type(part) is int and 0 <= part < 100 for part in path):
            raise self._bad("`frame` must be a list of numbers")
        if len(path) > 1:
            raise self._bad("a frame inside a frame is not supported")
        return f"f{path[0] + 1}" if path else ""


def _selector(chain: list[str]) -> str:
    """One of our selectors for a chain through shadow roots; empty for a chain that has no equivalent."""
    parts = [part.removeprefix("pierce/") for part in chain]
    if len(parts) > 1:
        # css reaches into open shadow roots by itself, so a chain of them is a path of descendants.
        plain = not any(part.startswith(("xpath/", "text/", "aria/")) for part in parts)
        return "css=" + " ".join(parts) if plain else ""
    part = parts[0]
    if part.startswith("xpath/"):
        return "xpath=" + part.removeprefix("xpath/")
    if part.startswith("text/"):
        return "text=" + part.removeprefix("text/")
    return "css=" + part
