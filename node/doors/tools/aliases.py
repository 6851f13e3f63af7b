"""Other names for tools, with elements given by selectors: ``browser__navigate``, ``browser__click`` and thirteen more.

They are for agents that were written for tools of these names. Each becomes a call of one of the tools of this node.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from node.verbs import Verb
from node.verbs.live import live as verbs
from protocol.errors import MeshError
from protocol.page.actions.locator import is_selector

Given = Mapping[str, Any]
_ID: Final = re.compile(r"e[1-9][0-9]{0,8}")
_SELECTOR: Final = {
    "type": "string",
    "description": "The element: its id (e17), text=…, role=button[name=…], or a CSS selector.",
}
_SCROLLED_PX: Final = 500


@dataclass(frozen=True, kw_only=True)
class Alias:
    """A tool under another name."""

    verb: Verb
    takes: Mapping[str, Any]
    """Schemas of its parameters, without session and key."""
    needs: tuple[str, ...] = ()
    read: Callable[[Given], dict[str, Any]] = lambda given: {}
    """The parameters of ``verb`` in its arguments."""
    told: str = ""


def _step(action: str, **value: Any) -> dict[str, Any]:
    return {"action": json.dumps([{action: value}])}


def _element(given: Given) -> dict[str, Any]:
    """The element in an action, by id or selector. Errors: ``input.invalid``."""
    selector = given.get("selector")
    if not isinstance(selector, str) or not selector:
        raise MeshError("input.invalid", "`selector` is a text")
    if _ID.fullmatch(selector):
        return {"ref": selector}
    return {"selectors": [selector if is_selector(selector) else f"css={selector}"]}


def _click(given: Given) -> dict[str, Any]:
    return _step("click", **_element(given), button=given.get("button", "left"), count=given.get("clickCount", 1))


def _scroll(given: Given) -> dict[str, Any]:
    return {"to": given.get("direction", "down"), "amount": given.get("amount", _SCROLLED_PX)}


def _wait(given: Given) -> dict[str, Any]:
    state = "hidden" if given.get("state") == "hidden" else "visible"
    return _step("wait", **_element(given), state=state, timeout_ms=given.get("timeout", 10_000))


ALIASES: Final[Mapping[str, Alias]] = {
    "browser__navigate": Alias(
        verb=verbs.NAVIGATE, takes={"url": {"type": "string"}}, needs=("url",), read=lambda given: {"url": given["url"]}
    ),
    "browser__back": Alias(verb=verbs.BACK, takes={}),
    "browser__forward": Alias(verb=verbs.FORWARD, takes={}),
    "browser__refresh": Alias(verb=verbs.RELOAD, takes={}),
    "browser__click": Alias(
        verb=verbs.ACT,
        takes={
            "selector": _SELECTOR,
            "button": {"enum": ["left", "right"]},
            "clickCount": {"type": "integer", "minimum": 1, "maximum": 2},
        },
        needs=("selector",),
        read=_click,
        told="Click an element.",
    ),
    "browser__type": Alias(
        verb=verbs.ACT,
        takes={"selector": _SELECTOR, "text": {"type": "string"}},
        needs=("selector", "text"),
        read=lambda given: _step("fill", **_element(given), value=given["text"]),
        told="Replace the content of a text field.",
    ),
    "browser__select": Alias(
        verb=verbs.ACT,
        takes={"selector": _SELECTOR, "value": {"type": "string"}},
        needs=("selector", "value"),
        read=lambda given: _step("select", **_element(given), option=given["value"]),
        told="Choose an option of a list.",
    ),
    "browser__hover": Alias(
        verb=verbs.ACT,
        takes={"selector": _SELECTOR},
        needs=("selector",),
        read=lambda given: _step("hover", **_element(given)),
        told="Move the pointer over an element.",
    ),
    "browser__scroll": Alias(
        verb=verbs.SCROLL,
        takes={"direction": {"enum": ["up", "down"]}, "amount": {"type": "integer"}},
        read=_scroll,
    ),
    "browser__screenshot": Alias(verb=verbs.SCREENSHOT, takes={}),
    "browser__extract": Alias(
        verb=verbs.ACT,
        takes={"selector": _SELECTOR},
        needs=("selector",),
        read=lambda given: _step("extract", **_element(given), **{"as": "text"}),
        told="Read the text of an element.",
    ),
    "browser__evaluate": Alias(
        verb=verbs.EVALUATE,
        takes={"script": {"type": "string"}},
        needs=("script",),
        read=lambda given: {"script": given["script"]},
    ),
    "browser__getPageInfo": Alias(verb=verbs.SNAPSHOT, takes={}),
    "browser__waitForSelector": Alias(
        verb=verbs.ACT,
        takes={
            "selector": _SELECTOR,
            "timeout": {"type": "integer", "description": "Milliseconds."},
            "state": {"enum": ["visible", "hidden"]},
        },
        needs=("selector",),
        read=_wait,
        told="Wait until an element is visible, or is not any more.",
    ),
    "browser__waitForNavigation": Alias(
        verb=verbs.WAIT,
        takes={"timeout": {"type": "integer", "description": "Milliseconds."}},
        read=lambda given: {"time": given.get("timeout", 30_000) / 1_000},
    ),
}
