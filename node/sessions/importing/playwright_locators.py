"""Converts the locators of a Playwright script in Python to selectors. Pure; nothing of a script is executed.

A chain such as ``page.get_by_role("row", name="Beer").get_by_role("button").first`` becomes one selector, which Playwright
resolves like the chain. If one of our own forms is equivalent, that form is used.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from protocol.errors import MeshError
from protocol.page.actions.locator import ENTER_FRAME, FORMS

Bad = Callable[[ast.AST, str], MeshError]
"""Creates the error for a node of the script, from a reason."""

_CHAIN_MAX: Final = 32
_FLAGS: Final = {"IGNORECASE": "i", "I": "i", "MULTILINE": "m", "M": "m", "DOTALL": "s", "S": "s"}
_SLASH: Final = re.compile(r"(?<!\\)/")
_ESCAPED: Final = r"\\/"
_ROLE_STATES: Final = ("checked", "disabled", "expanded", "pressed", "selected")
_PROPERTIES: Final = frozenset({"first", "last", "visible", "content_frame"})
_INTO_FRAMES: Final = frozenset({"content_frame", "frame_locator"})
_PLACES: Final = frozenset({"first", "last", "nth"})
_TRUTH: Final = {True: "true", False: "false"}


class LocatorPart(NamedTuple):
    """One part of a chain: ``.name(args)``, or ``.name``."""

    node: ast.AST
    name: str
    args: tuple[ast.expr, ...] = ()
    options: Mapping[str, ast.expr] = {}
    called: bool = False


class Pattern(NamedTuple):
    """``re.compile(source, flags)`` as a JavaScript regular expression."""

    text: str


def chain_of(node: ast.expr, bad: Bad) -> tuple[str, list[LocatorPart]]:
    """The name at which a chain begins, and the links of the chain. Errors: ``input.invalid``."""
    links: list[LocatorPart] = []
    current: ast.expr = node
    while not isinstance(current, ast.Name):
        if len(links) >= _CHAIN_MAX:
            raise bad(node, f"a chain of more than {_CHAIN_MAX} calls")
        if isinstance(current, ast.Call) and isinstance(current.func, ast.Attribute):
            options = {each.arg: each.value for each in current.keywords if each.arg}
            if len(options) < len(current.keywords) or any(isinstance(each, ast.Starred) for each in current.args):
                raise bad(node, "values that are computed are not read: write them out")
            links.append(LocatorPart(current, current.func.attr, tuple(current.args), options, called=True))
            current = current.func.value
        elif isinstance(current, ast.Attribute):
            links.append(LocatorPart(current, current.attr))
            current = current.value
        else:
            raise bad(node, "only calls on a page are read")
    return current.id, links[::-1]


def selector_of(links: list[LocatorPart], bad: Bad) -> str:
    """The selector that is equivalent to the chain. Errors: ``input.invalid``."""
    if links and links[-1].name in _INTO_FRAMES:
        raise bad(links[-1].node, "a frame is no element: say what is meant in it")
    parts: list[str] = []
    enters = False
    for link in links:
        if enters and link.name not in _PLACES:
            parts.append(ENTER_FRAME)
            enters = False
        parts.append(_part(link, alone=len(links) == 1, bad=bad))
        # The position in `frame_locator("iframe").first` is the position of the frame.
        enters = enters or link.name == "frame_locator"
    if enters:
        raise bad(links[-1].node, "a frame is no element: say what is meant in it")
    joined = " >> ".join(parts)
    # A selector must begin with a known form, and a form such as `label=` cannot be joined with others.
    return joined if joined.startswith(FORMS) else f"css=:root >> {joined}"


def text_value(node: ast.expr, bad: Bad) -> str:
    """A literal text. Errors: ``input.invalid``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise bad(node, "only texts that are written out are read")


def text_or_pattern(node: ast.expr, bad: Bad) -> str | Pattern:
    """A literal text, or ``re.compile(…)`` of one. Errors: ``input.invalid``."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile" and node.args and not node.keywords):
        return text_value(node, bad)
    source, flags = text_value(node.args[0], bad), ""
    for each in node.args[1].elts if len(node.args) > 1 and isinstance(node.args[1], ast.Tuple) else node.args[1:]:
        for name in ast.unparse(each).replace("re.", "").split(" | "):
            if name not in _FLAGS:
                raise bad(node, f"the flag {name[:20]} of a regular expression is not known")
            flags += _FLAGS[name]
    # In JavaScript syntax a slash ends the expression, unless it is escaped.
    return Pattern(f"/{_SLASH.sub(_ESCAPED, source) or '(?:)'}/{flags}")


def _part(link: LocatorPart, *, alone: bool, bad: Bad) -> str:
    build = _PARTS.get(link.name)
    if build is not None and link.called == (link.name in _PROPERTIES):
        raise bad(link.node, f"`{link.name}` is {'no call' if link.called else 'a call'}")
    if build is None:
        raise bad(link.node, f"`{link.name[:40]}` is not known here; known: {', '.join(_PARTS)}")
    return build(link, alone, bad)


def _only(link: LocatorPart, count: int, options: tuple[str, ...], bad: Bad) -> None:
    if len(link.args) != count:
        raise bad(link.node, f"`{link.name}` takes {count} value{'s' if count != 1 else ''} here")
    for name in link.options:
        if name not in options:
            raise bad(link.node, f"the option `{name[:40]}` of `{link.name}` is not supported")


def _exact(link: LocatorPart, bad: Bad) -> bool:
    return _flag(link, "exact", bad) if "exact" in link.options else False


def _flag(link: LocatorPart, name: str, bad: Bad) -> bool:
    value = link.options[name]
    if isinstance(value, ast.Constant) and isinstance(value.value, bool):
        return value.value
    raise bad(link.node, f"`{name}` must be True or False")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _plain(text: str) -> bool:
    """True if ``text`` can follow ``text=`` and similar prefixes without being parsed as something else."""
    return bool(text) and text == text.strip() and text[0] not in "\"'/" and ">>" not in text and "\n" not in text


def _role(link: LocatorPart, alone: bool, bad: Bad) -> str:
    _only(link, 1, ("name", "exact", "level", "include_hidden", *_ROLE_STATES), bad)
    made = f"role={text_value(link.args[0], bad)}"
    if "name" in link.options:
        name = text_or_pattern(link.options["name"], bad)
        if isinstance(name, Pattern):
            made += f"[name={name.text}]"
        else:
            made += f"[name={_quoted(name)} s]" if _exact(link, bad) else f"[name*={_quoted(name)} i]"
    if "level" in link.options:
        made += f"[level={_whole(link, link.options['level'], bad)}]"
    for state in (*_ROLE_STATES, "include_hidden"):
        if state in link.options:
            made += f"[{state.replace('_', '-')}={_TRUTH[_flag(link, state, bad)]}]"
    return made


def _text(link: LocatorPart, alone: bool, bad: Bad) -> str:
    _only(link, 1, ("exact",), bad)
    text = text_or_pattern(link.args[0], bad)
    if isinstance(text, Pattern):
        return f"text={text.text}"
    if _exact(link, bad):
        return f"text={_quoted(text)}"
    return f"text={text}" if _plain(text) else f"internal:text={_quoted(text)}i"


def _label(link: LocatorPart, alone: bool, bad: Bad) -> str:
    _only(link, 1, ("exact",), bad)
    text = text_or_pattern(link.args[0], bad)
    if isinstance(text, Pattern):
        return f"internal:label={text.text}"
    exact = _exact(link, bad)
    if alone and _plain(text):
        return f'label="{text}"' if exact else f"label={text}"
    return f"internal:label={_quoted(text)}{'s' if exact else 'i'}"


def _attribute(form: str, attribute: str) -> Callable[[LocatorPart, bool, Bad], str]:
    def build(link: LocatorPart, alone: bool, bad: Bad) -> str:
        _only(link, 1, ("exact",), bad)
        text = text_or_pattern(link.args[0], bad)
        if isinstance(text, Pattern):
            return f"internal:attr=[{attribute}={text.text}]"
        exact = _exact(link, bad)
        if alone and _plain(text):
            return f'{form}="{text}"' if exact else f"{form}={text}"
        return f"internal:attr=[{attribute}={_quoted(text)}{'s' if exact else 'i'}]"

    return build


def _test_id(link: LocatorPart, alone: bool, bad: Bad) -> str:
    _only(link, 1, (), bad)
    text = text_or_pattern(link.args[0], bad)
    if isinstance(text, Pattern):
        return f"internal:testid=[data-testid={text.text}]"
    return f"testid={text}" if alone and _plain(text) else f"internal:testid=[data-testid={_quoted(text)}s]"


def _locator(link: LocatorPart, alone: bool, bad: Bad) -> str:
    _only(link, 1, ("has_text", "has_not_text", "has"), bad)
    if not isinstance(link.args[0], ast.Constant):
        return f"internal:chain={_quoted(_inner(link.args[0], bad))}" + _filters(link, bad)
    text = text_value(link.args[0], bad)
    if text.strip().endswith(ENTER_FRAME):
        raise bad(link.node, "a frame is no element: say what is meant in it")
    if re.match(r"\s*(\(*//|\.\.)", text):
        return f"xpath={text}" + _filters(link, bad)
    engine = re.match(r"\s*([\w:-]+)=", text)
    return (text if engine else f"css={text}") + _filters(link, bad)


def _filter(link: LocatorPart, alone: bool, bad: Bad) -> str:
    _only(link, 0, ("has_text", "has_not_text", "has", "visible"), bad)
    return _filters(link, bad).removeprefix(" >> ")


def _filters(link: LocatorPart, bad: Bad) -> str:
    made = ""
    for option, engine in (("has_text", "internal:has-text"), ("has_not_text", "internal:has-not-text")):
        if option in link.options:
            text = text_or_pattern(link.options[option], bad)
            made += f" >> {engine}={text.text if isinstance(text, Pattern) else _quoted(text) + 'i'}"
    if "has" in link.options:
        made += f" >> internal:has={_quoted(_inner(link.options['has'], bad))}"
    if "visible" in link.options:
        made += f" >> visible={_TRUTH[_flag(link, 'visible', bad)]}"
    return made


def _inner(node: ast.expr, bad: Bad) -> str:
    """The selector of a locator that is an argument."""
    _, links = chain_of(node, bad)
    return " >> ".join(_part(link, alone=False, bad=bad) for link in links)


def _whole(link: LocatorPart, node: ast.expr, bad: Bad) -> int:
    value: Any = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    if not (isinstance(value, ast.Constant) and type(value.value) is int and value.value < 10_000):
        raise bad(link.node, f"`{link.name}` takes a whole number")
    return value.value if value is node else -value.value


def _nth(link: LocatorPart, alone: bool, bad: Bad) -> str:
    _only(link, 1, (), bad)
    return f"nth={_whole(link, link.args[0], bad)}"


def _place(place: str) -> Callable[[LocatorPart, bool, Bad], str]:
    return lambda link, alone, bad: place


def _frame(link: LocatorPart, alone: bool, bad: Bad) -> str:
    return _locator(LocatorPart(link.node, "locator", link.args, link.options, called=True), alone, bad)


_PARTS: Final[Mapping[str, Callable[[LocatorPart, bool, Bad], str]]] = {
    "get_by_role": _role,
    "get_by_text": _text,
    "get_by_label": _label,
    "get_by_placeholder": _attribute("placeholder", "placeholder"),
    "get_by_title": _attribute("title", "title"),
    "get_by_alt_text": _attribute("alt", "alt"),
    "get_by_test_id": _test_id,
    "locator": _locator,
    "filter": _filter,
    "first": _place("nth=0"),
    "last": _place("nth=-1"),
    "nth": _nth,
    "visible": _place("visible=true"),
    "content_frame": _place(ENTER_FRAME),
    "frame_locator": _frame,
}
