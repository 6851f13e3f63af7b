"""Converts Playwright scripts in Python to actions: the statements that ``playwright codegen`` emits.

The script is parsed and never executed. Each statement becomes an action, or is refused with its line: docs/playwright.md lists
both.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from node.sessions.importing.foreign import Foreign, LeftOut, counted_places, invalid_reason
from node.sessions.importing.playwright_calls import ELEMENT_CALLS, PAGE_CALLS, expectation, timeout_of
from node.sessions.importing.playwright_locators import LocatorPart, chain_of, selector_of, text_value
from node.sessions.importing.playwright_pages import DOWNLOADED, Pages, waited_for
from node.sessions.importing.playwright_values import Values, is_written
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Back, Forward, Goto, Locator, Reload
from protocol.recording.records.session import Expect, Profile, Skipped

_IMPORTS: Final = re.compile(r"^[ \t]*(?:from|import)[ \t]+playwright\b", re.MULTILINE)
_SIZE: Final = Profile(width_px=1280, height_px=720)
"""Playwright's default window, for a script that sets none."""
_LAUNCHED: Final = frozenset({"headless", "channel", "executable_path", "args", "slow_mo"})
"""Options of the browser itself, which this node decides."""
_PROFILE: Final[Mapping[str, str]] = {
    "locale": "locale",
    "timezone_id": "timezone",
    "color_scheme": "color_scheme",
    "reduced_motion": "reduced_motion",
}
_STORED: Final = (
    "a login is begun with as a capsule: keep the file with `trailmesh capsule capture --from FILE`, take `storage_state` out, and"
    " record with `--capsule`"
)
_NO_ELEMENTS: Final = frozenset(
    {"request", "evaluate", "inner_text", "text_content", "input_value", "get_attribute", "count"}
)
"""Calls that return a value of the page instead of an element."""
_HALF: Final = re.compile("[\ud800-\udfff]")


def is_script(text: str) -> bool:
    """True if ``text`` is Python that uses Playwright."""
    return bool(_IMPORTS.search(text))


def parse_playwright(text: str, *, lenient: bool = False) -> Foreign:
    """The actions of the script in ``text``. lenient: leave out and list the statements that cannot be performed.

    Errors: ``input.invalid``, with the line; ``input.too_large``.
    """
    if len(text.encode()) > limits.SCRIPT_BYTES_MAX:
        raise MeshError("input.too_large", f"a script can have at most {limits.SCRIPT_BYTES_MAX // limits.KIB} KiB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about escapes in texts, which are the author's concern
            module = ast.parse(text)
    except SyntaxError as error:
        raise MeshError("input.invalid", f"line {error.lineno or 1}: not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise MeshError("input.invalid", "the script cannot be parsed as Python") from error
    for node in ast.walk(module):
        # Half of a surrogate pair: an escape can express it, but no recording can contain it.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _HALF.search(node.value):
            raise _bad(node, "a text that is no Unicode")
    try:
        return _converted(module, lenient=lenient)
    except RecursionError as error:
        raise MeshError("input.invalid", "the script is nested too deeply") from error


def _converted(module: ast.Module, *, lenient: bool) -> Foreign:
    flow = _flow_of(module)
    reader = _Reader(lenient=lenient)
    for statement in module.body:
        reader.learn(statement)
    for settings in _context_args(module):
        reader.take_settings(settings)
    for statement in flow.body:
        reader.take(statement)
    reader.require_whole()
    return Foreign(
        title="" if flow.name in ("run", "test_example") else flow.name.removeprefix("test_").replace("_", " "),
        profile=reader.profile,
        actions=tuple(reader.actions),
        expects=reader.expects,
        notes=reader.notes,
        skipped=reader.skipped,
    )


def _bad(node: ast.AST, reason: str) -> MeshError:
    line = getattr(node, "lineno", 1)
    return MeshError("input.invalid", f"line {line}: {reason}", line=line)


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _flow_of(module: ast.Module) -> _Function:
    """The function that drives the page."""
    functions = [each for each in module.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    # A test beside a function `run` only calls that function.
    flows = [each for each in functions if each.name == "run"] or [
        each for each in functions if each.name.startswith("test_")
    ]
    if len(flows) != 1:
        where = flows[1] if flows else module
        raise _bad(where, "a script has one function `run`, or one test: each flow is a recording of its own")
    return flows[0]


def _context_args(module: ast.Module) -> Iterator[ast.Dict]:
    """The options that the pytest fixture gives to the context."""
    for each in module.body:
        if isinstance(each, ast.FunctionDef) and each.name == "browser_context_args":
            yield from (
                last.value for last in each.body if isinstance(last, ast.Return) and isinstance(last.value, ast.Dict)
            )


class _Reader:
    """Converts the statements in order, and knows which names stand for pages."""

    def __init__(self, *, lenient: bool) -> None:
        self.actions: list[Action] = []
        self.profile = _SIZE
        self._left_out = LeftOut(lenient=lenient)
        self.expects: dict[int, Expect] = {}
        self._pages = Pages()
        self._values = Values()
        self._paused: list[str] = []
        self._kept: list[str] = []
        self._usual_ms = {"set_default_timeout": 0, "set_default_navigation_timeout": 0}
        self._opened = False
        self._closed = False

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The statements that were left out."""
        return self._left_out.skipped

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about statements that are performed differently than in Playwright."""
        parts = (
            ("pauses are left out, since each action waits for its element and for a still page:", self._paused),
            ("no login is saved: `trailmesh capsule capture --live SESSION` keeps one, sealed:", self._kept),
        )
        return tuple(f"{words} {counted_places(places)}" for words, places in parts if places)

    def require_whole(self) -> None:
        """Return if a strict reader found only statements that can be performed. Errors: ``input.invalid``, which names all
        others.
        """
        self._left_out.require_none()

    def learn(self, statement: ast.stmt) -> bool:
        """Remember the value of a name if ``statement`` assigns a literal. Returns True if it does."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                known = self._values.in_full(value)
                if is_written(known):
                    self._values.keep(name, known)
                else:
                    self._values.forget(name)
                return is_written(known)
            case _:
                return False

    def take(self, statement: ast.stmt) -> None:
        """Convert one statement. Errors: ``input.invalid``, unless the reader is lenient."""
        try:
            self._take(statement)
        except MeshError as error:
            self._left_out.add(error, f"line {statement.lineno}", _what(statement), len(self.actions) + 1)

    def take_settings(self, given: ast.Dict) -> None:
        """Convert the options of the pytest fixture. Errors: ``input.invalid``, unless the reader is lenient."""
        try:
            self._context_args(given)
        except MeshError as error:
            self._left_out.add(error, f"line {given.lineno}", "browser_context_args", 1)

    def _take(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.For) and not statement.orelse:
            for _ in self._values.rounds(statement, _bad):
                for each in statement.body:
                    self.take(each)
            return
        if self.learn(statement):
            return
        statement = self._values.in_full(statement)
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._assign(name, _awaited(value))
            case ast.Expr(value=value):
                self._call(_awaited(value))
            case ast.With() | ast.AsyncWith():
                self._block(statement)
            case ast.AnnAssign(value=ast.Dict(keys=[])):
                return  # here an exported test stores the texts that it reads
            case _:
                raise _bad(statement, "only calls on the page are read: write out what is done, without conditions")

    def _assign(self, name: str, value: ast.expr) -> None:
        root, links = chain_of(value, _bad)
        match [link.name for link in links]:
            case [*_, "launch"]:
                for option in links[-1].options:
                    if option not in _LAUNCHED:
                        raise _bad(value, f"the browser option `{option[:40]}` is not supported")
            case []:
                if not self._pages.call(name, root):
                    raise _bad(value, f"`{root[:40]}` is no page of the script")
            case ["new_context"]:
                self._context(links[0])
            case ["new_page"]:
                if self._opened:
                    raise _bad(value, "a second page that no page has opened is not supported")
                self._opened = True
                self._pages.begin(name)
            case ["value"]:
                if not self._pages.take_value(name, root):
                    raise _bad(value, f"`{root[:40]}` is nothing that was waited for")
            case _ if links[-1].name not in _NO_ELEMENTS and self._pages.number(root):
                selector_of(links, _bad)
                self._values.keep(name, value)  # the element got a name; the actions on it follow
            case _:
                raise _bad(value, "only calls on the page are read")

    def _context(self, link: LocatorPart) -> None:
        if link.args:
            raise _bad(link.node, "only options by name are read")
        for name, value in link.options.items():
            self._setting(name, value)

    def _context_args(self, given: ast.Dict) -> None:
        for key, value in zip(given.keys, given.values, strict=True):
            if key is None:
                if "browser_context_args" in ast.unparse(value):
                    continue
                raise _bad(value, "emulating a device is not supported")
            self._setting(text_value(key, _bad), value)

    def _setting(self, name: str, value: ast.expr) -> None:
        changes: dict[str, Any] = {}
        try:
            given = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            raise _bad(value, f"`{name[:40]}` must be written out") from None
        if name == "viewport" and isinstance(given, dict) and set(given) == {"width", "height"}:
            changes = {"width_px": given["width"], "height_px": given["height"]}
        elif name in _PROFILE:
            changes = {_PROFILE[name]: given == "reduce" if name == "reduced_motion" else given}
        elif name == "storage_state":
            raise _bad(value, _STORED)
        else:
            raise _bad(value, f"the option `{name[:40]}` of a context is not supported")
        try:
            self.profile = msgspec.convert({**msgspec.to_builtins(self.profile), **changes}, Profile)
        except msgspec.ValidationError as error:
            raise _bad(value, f"`{name}`: {error}") from error

    # --- calls ---

    def _block(self, block: ast.With | ast.AsyncWith) -> None:
        """A block that waits: its last statement opens a tab or starts a download."""
        waited, before, known = waited_for(block, _bad), len(self.actions), dict(self.expects)
        for root, _, _ in waited:
            self._require_page(root, block)
        try:
            for statement in block.body:
                self._take(statement)
            if len(self.actions) == before:
                raise _bad(block, "nothing is done in this block that could cause what it waits for")
        except MeshError:
            del self.actions[before:]
            self.expects = known
            raise
        for _, kind, info in waited:
            if kind == "expect_popup":
                self.expects[len(self.actions)] = Expect(tab=True)
            self._pages.waited(kind, info)
        self.actions += [DOWNLOADED for _, kind, _ in waited if kind == "expect_download"]

    def _call(self, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and _is_expect(value.func.value):
            self._expect(value, value.func)
            return
        root, links = chain_of(value, _bad)
        if not links or not links[-1].called:
            raise _bad(value, "only calls on the page are read")
        names = [link.name for link in links]
        if root in ("context", "browser"):
            self._of_context(root, names, links[-1])
            return
        tab = self._require_page(root, value)
        if names == ["close"]:
            closing = self._pages.close(tab)
            self._closed = not closing
            self.actions += closing
            return
        if names == ["bring_to_front"]:
            self.actions += self._pages.come(tab)
            return
        self._add(value, self._actions(links), tab)

    def _of_context(self, root: str, names: list[str], link: LocatorPart) -> None:
        """A call on the context or the browser. A session has neither, and most of these calls do nothing to a page. Errors:
        ``input.invalid``.
        """
        if names == ["storage_state"]:
            self._kept.append(f"line {getattr(link.node, 'lineno', 1)}")
        elif link.name in self._usual_ms:
            self._usual_ms[link.name] = timeout_of(link, link.args[0], _bad) if link.args else 0
        elif names != ["close"] and names[0] != "tracing":
            raise _bad(link.node, f"`{root}.{'.'.join(names)[:60]}` is not supported")

    def _actions(self, links: list[LocatorPart]) -> tuple[Action, ...]:
        """The actions of a call, with their time limit."""
        last = links[-1]
        if len(links) == 1 and last.name in self._usual_ms and last.args:
            self._usual_ms[last.name] = timeout_of(last, last.args[0], _bad)
            return ()
        if last.name == "wait_for_timeout":
            self._paused.append(f"line {getattr(last.node, 'lineno', 1)}")
        made = self._converted(links)
        timeout_ms = timeout_of(last, last.options["timeout"], _bad) if "timeout" in last.options else 0
        moves = isinstance(made[0] if made else None, Goto | Back | Forward | Reload)
        usual_ms = self._usual_ms["set_default_navigation_timeout"] if moves else 0
        timeout_ms = timeout_ms or usual_ms or self._usual_ms["set_default_timeout"]
        return tuple(msgspec.structs.replace(each, timeout_ms=timeout_ms) for each in made) if timeout_ms else made

    def _converted(self, links: list[LocatorPart]) -> tuple[Action, ...]:
        last = links[-1]
        if len(links) == 1:
            on_page = PAGE_CALLS.get(last.name)
            if on_page is None:
                raise _bad(last.node, f"`page.{last.name[:40]}` is not supported; supported: {', '.join(PAGE_CALLS)}")
            return on_page(last, _bad)
        on_element = ELEMENT_CALLS.get(last.name)
        if on_element is None:
            raise _bad(last.node, f"`{last.name[:40]}` is not supported; supported: {', '.join(ELEMENT_CALLS)}")
        return on_element(last, self._target(links[:-1]), _bad)

    def _expect(self, call: ast.Call, function: ast.Attribute) -> None:
        assert isinstance(function.value, ast.Call)
        options = {each.arg: each.value for each in call.keywords if each.arg}
        link = LocatorPart(call, function.attr, tuple(call.args), options, called=True)
        (subject,) = function.value.args
        root, links = chain_of(subject, _bad)
        tab = self._require_page(root, call)
        self._add(call, expectation(link, self._target(links) if links else None, _bad), tab)

    def _require_page(self, root: str, node: ast.AST) -> int:
        """The number of the tab with the name ``root``. Errors: ``input.invalid``."""
        tab = self._pages.number(root)
        if not tab:
            raise _bad(node, f"`{root[:40]}` is no page of the script")
        if self._closed or not self._pages.is_open(tab):
            raise _bad(node, "the page is closed: a session ends with its last page")
        return tab

    @staticmethod
    def _target(links: list[LocatorPart]) -> Locator:
        return Locator(selectors=(selector_of(links, _bad),))

    def _add(self, node: ast.AST, actions: tuple[Action, ...], tab: int) -> None:
        for action in actions:
            if reason := invalid_reason(action):
                raise _bad(node, reason)
        self.actions += (*(self._pages.come(tab) if actions else ()), *actions)


def _awaited(value: ast.expr) -> ast.expr:
    return value.value if isinstance(value, ast.Await) else value


def _is_expect(value: ast.expr) -> bool:
    """True if ``value`` is ``expect(…)`` with one argument."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id == "expect"
        and len(value.args) == 1
        and not value.keywords
    )


def _what(statement: ast.stmt) -> str:
    """The kind of a statement, without its values: a value could be a password."""
    match statement:
        case ast.Expr(value=value) if isinstance(call := _awaited(value), ast.Call):
            return call.func.attr if isinstance(call.func, ast.Attribute) else "call"
        case _:
            return type(statement).__name__.lower()
