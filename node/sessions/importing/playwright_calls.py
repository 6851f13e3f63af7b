"""Converts each call of a Playwright script in Python to actions. A call without an equivalent has a reason instead."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Final

from node.sessions.importing.playwright_locators import (
    Bad,
    LocatorPart,
    Pattern,
    chain_of,
    selector_of,
    text_or_pattern,
    text_value,
)
from protocol import limits
from protocol.page.actions.action import (
    Action,
    Assert,
    Asserted,
    Back,
    Check,
    Click,
    Drag,
    Fill,
    Focus,
    Forward,
    Goto,
    Hover,
    Locator,
    Press,
    Reload,
    ScrollTo,
    Secret,
    Select,
    Upload,
    Wait,
)

PageCall = Callable[[LocatorPart, Bad], tuple[Action, ...]]
ElementCall = Callable[[LocatorPart, Locator, Bad], tuple[Action, ...]]

_TIMEOUT_MS: Final = 5_000  # the default of Playwright's `expect`
_BUTTONS: Final = ("left", "right")


def _options(link: LocatorPart, count: int, known: tuple[str, ...], bad: Bad) -> None:
    if len(link.args) != count:
        raise bad(link.node, f"`{link.name}` takes {count} value{'s' if count != 1 else ''} here")
    for name in link.options:
        if name not in known and name not in _ANYWHERE:
            raise bad(link.node, f"the option `{name[:40]}` of `{link.name}` is not supported{_WHY.get(name, '')}")


_ANYWHERE: Final = frozenset({"timeout", "no_wait_after", "delay"})
"""Options that are accepted for any call: its time limit, and details of keys and waiting that are the default here."""
_WHY: Final = {
    "modifiers": ": clicks with a key held down have no action",
    "position": ": elements are clicked in the middle",
    "force": ": what cannot be clicked by a person is not clicked",
}


# --- calls on a page -------------------------------------------------------------------------------------------------


def _goto(link: LocatorPart, bad: Bad) -> tuple[Action, ...]:
    _options(link, 1, ("wait_until",), bad)
    return (Goto(url=text_value(link.args[0], bad)),)


def _plain(action: Action) -> PageCall:
    def build(link: LocatorPart, bad: Bad) -> tuple[Action, ...]:
        _options(link, 0, (), bad)
        return (action,)

    return build


def _once(link: LocatorPart, bad: Bad) -> tuple[Action, ...]:
    """Dialogs are dismissed by default here, so only another answer needs an action."""
    said = [ast.unparse(each) for each in link.args]
    if said != ["'dialog'", "lambda dialog: dialog.dismiss()"]:
        raise bad(link.node, "only a dialog that is dismissed is supported")
    return ()


def _still(link: LocatorPart, bad: Bad) -> tuple[Action, ...]:
    """Scripts wait in this way for changes that are complete when the page is still."""
    if len(link.args) > 1:
        raise bad(link.node, f"`{link.name}` takes one value")
    return (Wait(),)


def _wait_address(link: LocatorPart, bad: Bad) -> tuple[Action, ...]:
    _options(link, 1, ("wait_until",), bad)
    part = text_value(link.args[0], bad).removeprefix("**").removesuffix("**")
    if "*" in part or not part:
        raise bad(link.node, "an address is waited for by a part of it, with `**` in front and behind")
    return (Wait(address=part),)


def _wait_selector(link: LocatorPart, bad: Bad) -> tuple[Action, ...]:
    _options(link, 1, ("state",), bad)
    target = Locator(selectors=(selector_of([LocatorPart(link.node, "locator", link.args, called=True)], bad),))
    return _wait_for(link._replace(args=()), target, bad)


def _wait_for(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
    _options(link, 0, ("state",), bad)
    state = text_value(link.options["state"], bad) if "state" in link.options else "visible"
    if state not in ("visible", "attached", "hidden", "detached"):
        raise bad(link.node, "an element is waited for until it is visible or hidden")
    return (Wait(target=target, state="visible" if state in ("visible", "attached") else "hidden"),)


def _nothing(link: LocatorPart, bad: Bad) -> tuple[Action, ...]:
    """No action, because each step of a session has a picture."""
    return ()


PAGE_CALLS: Final[Mapping[str, PageCall]] = {
    "goto": _goto,
    "go_back": _plain(Back()),
    "go_forward": _plain(Forward()),
    "reload": _plain(Reload()),
    "once": _once,
    "wait_for_load_state": _still,
    "wait_for_timeout": _still,
    "wait_for_url": _wait_address,
    "wait_for_selector": _wait_selector,
    "screenshot": _nothing,
}


# --- calls on an element ---------------------------------------------------------------------------------------------


def _click(count: int) -> ElementCall:
    def build(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
        _options(link, 0, ("button", "click_count"), bad)
        button = text_value(link.options["button"], bad) if "button" in link.options else "left"
        if button not in _BUTTONS:
            raise bad(link.node, "only the left and the right button are supported")
        if "click_count" in link.options and ast.unparse(link.options["click_count"]) not in ("1", "2"):
            raise bad(link.node, "more than two clicks are not supported")
        clicks = int(ast.unparse(link.options["click_count"])) if "click_count" in link.options else count
        return (Click(target=target, button="right" if button == "right" else "left", count=clicks),)

    return build


def _aimed(kind: type[Hover] | type[Focus] | type[ScrollTo]) -> ElementCall:
    def build(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
        _options(link, 0, (), bad)
        return (kind(target=target),)

    return build


def _fill(*, typed: bool = False) -> ElementCall:
    def build(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
        _options(link, 1, (), bad)
        secret = _secret(link.args[0])
        if secret and not typed:
            return (Fill(target=target, value=Secret(secret=secret)),)
        return (Fill(target=target, value=text_value(link.args[0], bad), typed=typed),)

    return build


def _secret(node: ast.expr) -> str:
    """The name in ``os.environ["NAME"]``; empty for anything else."""
    match node:
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(id="os"), attr="environ"), slice=ast.Constant(value=str(name))
        ):
            return name
    return ""


def _clear(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
    _options(link, 0, (), bad)
    return (Fill(target=target, value=""),)


def _press(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
    _options(link, 1, (), bad)
    return (Press(key=text_value(link.args[0], bad), target=target),)


def _check(*, checked: bool) -> ElementCall:
    def build(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
        _options(link, 0, (), bad)
        return (Check(target=target, checked=checked),)

    return build


def _set_checked(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
    _options(link, 1, (), bad)
    match link.args[0]:
        case ast.Constant(value=bool(checked)):
            return (Check(target=target, checked=checked),)
    raise bad(link.node, "`set_checked` takes True or False, written out")


def _select(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
    if not link.args and set(link.options) == {"label"}:
        return (Select(target=target, option=text_value(link.options["label"], bad)),)
    _options(link, 1, (), bad)
    chosen = link.args[0]
    if isinstance(chosen, ast.List):
        if not chosen.elts:
            raise bad(link.node, "taking back every choice is not supported")
        first, *others = (text_value(each, bad) for each in chosen.elts)
        if others:
            return (Select(target=target, option=first, also=tuple(others)),)
        chosen = chosen.elts[0]
    # By value or label, as in Playwright: the recorder makes a choice of it when the element proves to be a list.
    return (Fill(target=target, value=text_value(chosen, bad)),)


def _upload(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
    _options(link, 1, (), bad)
    given = link.args[0]
    names = [text_value(each, bad) for each in (given.elts if isinstance(given, ast.List) else (given,))]
    if not all(names) or not names:
        raise bad(link.node, "taking the files back is not supported")
    return (Upload(target=target, files=tuple(names)),)


def _drag(link: LocatorPart, target: Locator, bad: Bad) -> tuple[Action, ...]:
    _options(link, 1, (), bad)
    _, links = chain_of(link.args[0], bad)
    return (Drag(target=target, onto=Locator(selectors=(selector_of(links, bad),))),)


ELEMENT_CALLS: Final[Mapping[str, ElementCall]] = {
    "click": _click(1),
    "dblclick": _click(2),
    "hover": _aimed(Hover),
    "fill": _fill(),
    "press_sequentially": _fill(typed=True),
    "clear": _clear,
    "focus": _aimed(Focus),
    "scroll_into_view_if_needed": _aimed(ScrollTo),
    "press": _press,
    "check": _check(checked=True),
    "uncheck": _check(checked=False),
    "set_checked": _set_checked,
    "select_option": _select,
    "set_input_files": _upload,
    "drag_to": _drag,
    "wait_for": _wait_for,
    "screenshot": lambda link, target, bad: (),
}


# --- expectations ----------------------------------------------------------------------------------------------------


_INSTEAD: Final = {
    "to_match_aria_snapshot": ": assert its texts, or let a replay compare the page",
    "to_have_screenshot": ": each step of a session has a picture",
    "to_have_class": ": assert what a person sees of it",
    "to_have_css": ": assert what a person sees of it",
}


def expectation(link: LocatorPart, target: Locator | None, bad: Bad) -> tuple[Action, ...]:
    """The assertion of ``expect(target).link``; None as target means the page. Errors: ``input.invalid``."""
    known = _OF_PAGE if target is None else _OF_ELEMENT
    if link.name not in known:
        instead = _INSTEAD.get(link.name.removeprefix("not_"), "")
        raise bad(link.node, f"`{link.name[:40]}` is not supported{instead}; supported: {', '.join(known)}")
    what, match, values = known[link.name]
    _options(link, values, ("timeout", "use_inner_text"), bad)
    timeout_ms = timeout_of(link, link.options["timeout"], bad) if "timeout" in link.options else _TIMEOUT_MS
    if link.name == "to_have_values":
        chosen = link.args[0]
        if not (isinstance(chosen, ast.List) and chosen.elts):
            raise bad(link.node, "`to_have_values` takes a list of values")
        items = tuple(_expected(each, bad) for each in chosen.elts)
        return (Assert(what="sent", items=items, target=target, timeout_ms=timeout_ms),)
    given = [_expected(each, bad) for each in link.args]
    return (
        Assert(
            what=what,
            expected=given[-1] if given else "",
            match="contains" if match == "contains" else "is",
            target=target,
            attribute=given[0] if what == "attribute" else "",
            timeout_ms=timeout_ms,
        ),
    )


def _expected(node: ast.expr, bad: Bad) -> str:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value)
    found = text_or_pattern(node, bad)
    if isinstance(found, Pattern):
        raise bad(node, "a regular expression cannot be asserted")
    return found


def timeout_of(link: LocatorPart, node: ast.expr, bad: Bad) -> int:
    """The time limit in a script, in milliseconds; 0 (no limit) becomes the longest allowed one. Errors: ``input.invalid``."""
    longest = limits.ACTION_TIMEOUT_MS_MAX
    match node:
        case ast.Constant(value=int() | float() as given) if not isinstance(given, bool) and 0 <= given < math.inf:
            return max(1, min(round(given), longest)) if given else longest
    raise bad(link.node, "a time limit is a number of milliseconds that is written out")


_OF_PAGE: Final[Mapping[str, tuple[Asserted, str, int]]] = {
    "to_have_title": ("title", "is", 1),
    "to_have_url": ("address", "is", 1),
}
_OF_ELEMENT: Final[Mapping[str, tuple[Asserted, str, int]]] = {
    "to_be_visible": ("visible", "", 0),
    "not_to_be_visible": ("hidden", "", 0),
    "to_be_hidden": ("hidden", "", 0),
    "to_contain_text": ("text", "contains", 1),
    "to_have_text": ("text", "is", 1),
    "to_have_value": ("sent", "is", 1),
    "to_have_values": ("sent", "is", 1),
    "to_be_empty": ("text", "is", 0),
    "to_be_checked": ("checked", "", 0),
    "not_to_be_checked": ("unchecked", "", 0),
    "to_be_enabled": ("enabled", "", 0),
    "to_be_disabled": ("disabled", "", 0),
    "to_have_count": ("count", "is", 1),
    "to_have_attribute": ("attribute", "is", 2),
}
"""The kind of assertion, the way of comparing, and the number of values that the call takes."""
