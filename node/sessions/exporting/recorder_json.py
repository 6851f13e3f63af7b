"""Writes a session as a recording of the Chrome DevTools Recorder (``Schema.ts`` of the npm package ``@puppeteer/replay``).

The format has no comments. A step that it cannot express becomes a ``customStep`` with the reason, which Chrome's player skips.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from node.sessions.exporting.written import Unsaid, Written, not_replayed, whole_address
from node.sessions.importing.devtools_selectors import literal
from protocol.page.actions.action import (
    Action,
    Assert,
    Check,
    Click,
    CloseTab,
    Fill,
    Goto,
    Hover,
    Locator,
    Press,
    Scroll,
    Select,
    SwitchTab,
    Wait,
    describe,
    target_of,
)
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.actions.locator import FORMS
from protocol.page.actions.values import references
from protocol.recording.records.session import Expect, Profile, Session, Step

_MODIFIERS: Final = ("Control", "Alt", "Shift", "Meta")
_TIMEOUT_MS_MAX: Final = 30_000  # limit of the schema
_TOP_PX: Final = 100_000
_CORNER_PX: Final = 2
"""The schema demands a click position, but a recording does not contain the size of its elements. So the click is this far from
the corner.
"""
_ATTRIBUTES: Final = {"placeholder": "placeholder", "title": "title", "alt": "alt"}
_SECRET: Final = re.compile(r"‹secret:")


def write_recorder(session: Session, steps: Sequence[Step]) -> Written:
    """The text of the recording. Steps that the format cannot express become a ``customStep``."""
    writer = _Writer(session.profile)
    for step in steps:
        writer.add(step)
    left_out = not_replayed(session, steps)
    for one in left_out:
        writer.steps.append(_comment(one))
    made = {"title": session.title or session.id, "steps": writer.steps}
    return Written(text=json.dumps(made, indent=2, ensure_ascii=False) + "\n", lost=(*writer.lost, *left_out))


def _comment(said: str) -> dict[str, Any]:
    return {"type": "customStep", "name": "trailmesh", "parameters": {"notDone": said}, "target": "main"}


def _require_plain(expect: Expect | None, *, followed: bool) -> None:
    """Return if Chrome's player can wait for ``expect`` and follow its tabs. Errors: ``Unsaid``.

    followed: the recorder opened new tabs in the page itself.
    """
    if expect is not None and expect.dialog is not None:
        raise Unsaid("there is no step that answers a dialog")
    if expect is not None and expect.tab and followed:
        raise Unsaid("the steps after it would be on the page that opened the tab")


class _Writer:
    """Collects the steps of the recording."""

    def __init__(self, profile: Profile) -> None:
        self.lost: list[str] = []
        self.steps: list[dict[str, Any]] = [
            {
                "type": "setViewport",
                "width": profile.width_px,
                "height": profile.height_px,
                "deviceScaleFactor": 1,
                "isMobile": False,
                "hasTouch": False,
                "isLandscape": False,
            }
        ]
        self._before: Action | None = None
        self._front = 1
        self._addresses: dict[int, str] = {}
        """The last address of each tab."""

    def add(self, step: Step) -> None:
        """Add one step, or a comment in its place."""
        if not step.ok:
            return
        try:
            _require_plain(step.expect, followed=not step.on_tab)
            target = "" if isinstance(step.action, SwitchTab) else self._target()
            reached = isinstance(step.action, Wait) and step.action.address and step.action.address in target
            # Chrome's player waits by itself for the tab with this address.
            made = [] if reached else self._made(step.action, step.evidence)
            limit = {"timeout": min(step.action.timeout_ms, _TIMEOUT_MS_MAX)} if step.action.timeout_ms else {}
            self.steps += [{**limit, **each, "target": target} for each in made]
        except Unsaid as error:
            said = f"step {step.index}, {describe(step.action)}: {error}"
            self.lost.append(said)
            self.steps.append(_comment(said))
        self._before = step.action
        self._front = step.on_tab or 1
        self._addresses[self._front] = step.url

    def _target(self) -> str:
        """The tab in front, by its name in the format. Errors: ``Unsaid``."""
        if self._front == 1:
            return "main"
        return _text(whole_address(self._addresses.get(self._front, "")))

    def _made(self, action: Action, evidence: ElementEvidence | None) -> list[dict[str, Any]]:
        match action:
            case SwitchTab():
                return []  # each step names its own tab
            case CloseTab():
                if self._front == 1:
                    raise Unsaid("Chrome's player cannot go on without the first tab")
                return [{"type": "close"}]
            case Goto(url=url):
                return [{"type": "navigate", "url": _text(whole_address(url))}]
            case Click(target=target, button=button, count=count):
                kind = {"type": "doubleClick" if count == 2 else "click", **_at(target, evidence)}
                return [{**kind, **_POINT, "button": "secondary" if button == "right" else "primary"}]
            case Hover(target=target):
                return [{"type": "hover", **_at(target, evidence)}]
            case Fill(target=target, value=str(value), typed=False):
                return [{"type": "change", **_at(target, evidence), "value": _text(value)}]
            case Fill(typed=True):
                raise Unsaid("there is no step for text that is typed key by key")
            case Fill():
                raise Unsaid("there is no step that looks up a secret")
            case Select():
                raise Unsaid("Chrome chooses by the value of an option, and the recording has its label")
            case Check(target=target, checked=checked):
                at = _at(target, evidence)
                waits = {"type": "waitForElement", **at, "properties": {"checked": not checked}}
                return [waits, {"type": "click", **at, **_POINT}]
            case Press(key=key, target=target):
                if target is not None and (self._before is None or target_of(self._before) != target):
                    raise Unsaid("there is no step that gives an element the focus before a key is pressed")
                return _keys(key)
            case Scroll():
                return [self._scroll(action)]
            case Wait():
                return _wait(action, evidence)
            case Assert():
                return [_assertion(action, evidence)]
            case _:
                raise Unsaid("there is no step for it")

    def _scroll(self, scroll: Scroll) -> dict[str, Any]:
        """The step for ``scroll``. The format has positions from the top only."""
        if scroll.direction == "up" and scroll.amount_px >= _TOP_PX:
            return {"type": "scroll", "x": 0, "y": 0}
        top = isinstance(self._before, Scroll) and self._before.direction == "up" and self._before.amount_px >= _TOP_PX
        if scroll.direction == "down" and (top or isinstance(self._before, Goto)):
            return {"type": "scroll", "x": 0, "y": scroll.amount_px}
        raise Unsaid("a step scrolls to a place, and the recording says how far")


_POINT: Final = {"offsetX": _CORNER_PX, "offsetY": _CORNER_PX}


def _keys(key: str) -> list[dict[str, Any]]:
    *held, last = key.split("+") if key != "+" and not key.endswith("++") else [*key[:-2].split("+"), "+"]
    if any(name not in _MODIFIERS for name in held if name):
        raise Unsaid("its keys have no name there")
    names = [name for name in (*held, last) if name]
    down = [{"type": "keyDown", "key": name} for name in names]
    return down + [{"type": "keyUp", "key": name} for name in reversed(names)]


def _wait(wait: Wait, evidence: ElementEvidence | None) -> list[dict[str, Any]]:
    timeout = {"timeout": min(wait.timeout_ms, _TIMEOUT_MS_MAX)}
    if wait.target is not None:
        shown = {} if wait.state == "visible" else {"visible": False}
        return [{"type": "waitForElement", **_at(wait.target, evidence), **shown, **timeout}]
    if wait.address:
        raise Unsaid("there is no step that waits for an address")
    if wait.text:
        return [{"type": "waitForElement", "selectors": [[f"text/{_text(wait.text)}"]], **timeout}]
    return []  # Chrome's player waits by itself


def _assertion(held: Assert, evidence: ElementEvidence | None) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "waitForElement", "timeout": min(held.timeout_ms, _TIMEOUT_MS_MAX)}
    expected = _text(held.expected)
    if held.target is None:
        if held.what == "text" and held.match == "contains":
            return {**made, "selectors": [[f"text/{expected}"]]}
        raise Unsaid(f"there is no step that asserts the {held.what} of a page")
    made |= _at(held.target, evidence, counted=held.what == "count")
    if held.match == "contains" and expected:
        raise Unsaid("there is no step that asserts a part of a text")
    match held.what:
        case "count" if expected.isdecimal():
            return {**made, "operator": "==", "count": int(expected)}
        case "visible":
            return made
        case "hidden":
            return {**made, "visible": False}
        case "attribute":
            return {**made, "attributes": {held.attribute: expected}}
        case "text":
            return {**made, "properties": {"innerText": expected}}
        case "value" if ((evidence.role if evidence else "") or held.target.role) not in (
            "combobox",
            "listbox",
            "radiogroup",
        ):
            return {**made, "properties": {"value": expected}}
        case "sent" if not held.items:
            return {**made, "properties": {"value": expected}}
        case "checked" | "unchecked":
            return {**made, "properties": {"checked": held.what == "checked"}}
        case "enabled" | "disabled":
            return {**made, "properties": {"disabled": held.what == "disabled"}}
        case _:
            raise Unsaid("there is no step that asserts it")


def _text(text: str) -> str:
    if _SECRET.search(text):
        raise Unsaid("there is no step that looks up a secret")
    if references(text):
        raise Unsaid("there is no step that uses what another one has read")
    return text


def _at(target: Locator, evidence: ElementEvidence | None, *, counted: bool = False) -> dict[str, Any]:
    """The selectors of an element. Errors: ``Unsaid``."""
    if target.frame:
        raise Unsaid("its element is in a frame, which a recording knows by its place only")
    if target.within is not None:
        raise Unsaid("there is no selector for an element within another one")
    selectors = [found for way in target.selectors if (found := _selector(way))]
    alone = not (target.nth or (evidence is not None and evidence.alike)) or counted
    if target.role and target.name and alone and not any(one[0].startswith("aria/") for one in selectors):
        # An element without a role is called by its text: the browser has another role for a ``summary`` than a snapshot.
        plain = target.role == "generic"
        selectors.append([f"text/{target.name}" if plain else f'aria/{target.name}[role="{target.role}"]'])
    if not selectors:
        raise Unsaid("there is no selector for an element by its place among others")
    return {"selectors": selectors}


def _selector(way: str) -> list[str]:
    """The path for a selector; empty for a selector that has no equivalent."""
    if way.startswith(("aria/", "pierce/")):
        return [way]
    parts = [_part(part) for part in way.split(" >> ")]
    plain = len(parts) == 1 or all(part and not part.startswith("xpath/") for part in parts)
    return parts if plain and all(parts) else []


def _part(part: str) -> str:
    form, _, text = part.partition("=")
    exact = len(text) > 1 and text[0] == text[-1] == '"'
    if f"{form}=" not in FORMS:
        return ""
    match form:
        case "css":
            return text
        case "xpath":
            return f"xpath/{text}"
        case "text" if text.startswith("/"):
            return _literal(text)
        case "testid":
            return f"[data-testid={json.dumps(text, ensure_ascii=False)}]"
        case "placeholder" | "title" | "alt":
            value = json.dumps(text[1:-1] if exact else text, ensure_ascii=False)
            return f"[{_ATTRIBUTES[form]}{'=' if exact else '*='}{value}{'' if exact else ' i'}]"
        case _:
            # Chrome compares texts and labels in another way, and could find another element.
            return ""


def _literal(expression: str) -> str:
    """The literal text in an expression written by our reader of such recordings; empty for any other expression."""
    body, slash, flags = expression[1:].rpartition("/")
    if not slash or flags:
        return ""
    text = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), body)
    text = re.sub(r"\\([\\^$.*+?()\[\]{}|/])", r"\1", text.replace("\\n", "\n").replace("\\r", "\r"))
    return f"text/{text}" if literal(text) == body else ""
