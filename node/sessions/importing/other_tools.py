"""Recognises files of tools that have no reader here, and names a file that can be read instead. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from protocol.errors import MeshError

_Read = TypeVar("_Read")

_PYTHON: Final = "`playwright codegen --target python-pytest URL` records the same flow in Python, which is read"
_RECORDER: Final = "the Recorder panel of Chrome DevTools exports a recording as JSON, which is read"
_WINDOW: Final = "`trailmesh session record URL --headed` writes an action file of what you do in a window"
_CAPSULE: Final = "`trailmesh capsule capture --from FILE` keeps it, and `--capsule` begins with it"
_OURS: Final = re.compile(r"^(?:steps|start|title)\s*:", re.MULTILINE)
"""A line that only action files have. Text that their steps fill in may look like a program."""

_HEAD_CHARS: Final = 32_768
"""The imports of a program are at its beginning, and searching all of a long file for each tool would take long."""

_SOURCES: Final[tuple[tuple[str, str, str], ...]] = (
    (r"(?:from|require\()\s*['\"]@playwright/test['\"]", "a Playwright test in TypeScript or JavaScript", _PYTHON),
    (
        r"(?:from|require\()\s*['\"]playwright(?:-core)?['\"]",
        "a Playwright script in TypeScript or JavaScript",
        _PYTHON,
    ),
    (r"^[ \t]*import\s+com\.microsoft\.playwright\b", "a Playwright script in Java", _PYTHON),
    (r"^[ \t]*using\s+Microsoft\.Playwright\b", "a Playwright script in C#", _PYTHON),
    (r"(?:from|require\()\s*['\"]puppeteer(?:-core)?['\"]", "a Puppeteer script", _RECORDER),
    (r"['\"]@puppeteer/replay['\"]", "a script of @puppeteer/replay", _RECORDER),
    (r"\bcy\s*\.\s*(?:visit|get|contains|request)\s*\(|<reference types=\"cypress\"", "a Cypress test", _PYTHON),
    (
        r"^[ \t]*(?:from|import)\s+selenium\b|\borg\.openqa\.selenium\b|['\"]selenium-webdriver['\"]",
        "a Selenium script",
        _PYTHON,
    ),
    (r"['\"]testcafe['\"]|^fixture\s*[`(]", "a TestCafe test", _PYTHON),
    (r"['\"]@?(?:webdriverio|wdio)[/'\"]|\bbrowser\.url\(", "a test of WebdriverIO or Nightwatch", _PYTHON),
    (r"^\*{3} (?:Settings|Test Cases|Tasks) \*{3}", "a suite of Robot Framework", _PYTHON),
    (r"\A(?:[ \t]*(?:[#@].*)?\n){0,50}[ \t]*Feature: ", "a feature in Gherkin", _WINDOW),
    (r"\A[ \t\r\n]{0,100}<(?:!doctype html|html|\?xml)", "an HTML or XML document", _WINDOW),
)
_LANGUAGES: Final = tuple(
    (re.compile(form, re.MULTILINE | re.IGNORECASE), what, instead) for form, what, instead in _SOURCES
)


class _Step(msgspec.Struct, frozen=True, gc=False):
    """A step of a workflow, of which only the type is read."""

    type: Any = None


_Fields = Mapping[str, msgspec.Raw]
"""The fields of a file. Each is read only when it is asked for: to make objects of a long list takes most of the time."""


def _has(*names: str) -> Callable[[_Fields], bool]:
    return lambda value: all(name in value for name in names)


def _is_har(value: _Fields) -> bool:
    return "log" in value and "entries" in _read(value["log"], dict[str, msgspec.Raw])


def _is_workflow(value: _Fields) -> bool:
    kinds = {str(step.type) for step in _read(value["steps"], list[_Step])} if "steps" in value else set()
    return "input_schema" in value or bool(kinds & {"navigation", "input", "key_press", "agent"})


def _is_history(value: _Fields) -> bool:
    return "history" in value and any(
        b"model_output" in bytes(entry) for entry in _read(value["history"], list[msgspec.Raw])[:1]
    )


def _read(text: str | msgspec.Raw, form: type[_Read]) -> _Read:
    """``text`` as ``form``; an empty one if it is something else, or no JSON: the reader of the file reports why it is none."""
    try:
        return msgspec.json.decode(text, type=form)
    except (msgspec.DecodeError, RecursionError):
        return form()


_FORMS: Final[tuple[tuple[Callable[[_Fields], bool], str, str], ...]] = (
    (_is_har, "a HAR file, which holds requests and no acts", _WINDOW),
    (_has("tests", "suites"), "a project of Selenium IDE (.side)", _RECORDER),
    (_has("Name", "Commands"), "a macro of UI.Vision", _RECORDER),
    (_is_workflow, "a workflow of workflow-use", _RECORDER),
    (_is_history, "a history of browser-use", _WINDOW),
    (_has("cookies", "origins"), "a storage state of Playwright, which is a login", _CAPSULE),
)
_LISTS: Final[tuple[tuple[frozenset[str], str, str], ...]] = (
    (frozenset({"name", "value", "domain"}), "a list of cookies, which is a login", _CAPSULE),
    (
        frozenset({"type", "data", "timestamp"}),
        "a recording of rrweb, which holds what a page showed and no acts",
        _WINDOW,
    ),
)


def require_known(text: str) -> None:
    """Return unless ``text`` is a file of a known tool that has no reader here. Errors: ``input.invalid``."""
    found = _in_json(text) if text.lstrip()[:1] in ("{", "[") else _in_source(text)
    if found is not None:
        what, instead = found
        raise MeshError("input.invalid", f"this is {what}, and is not read: {instead}", format=what)


def _in_source(text: str) -> tuple[str, str] | None:
    head = text[:_HEAD_CHARS]
    if _OURS.search(head):
        return None
    return next(((what, instead) for form, what, instead in _LANGUAGES if form.search(head)), None)


def _in_json(text: str) -> tuple[str, str] | None:
    if value := _read(text, dict[str, msgspec.Raw]):
        return next(((what, instead) for fits, what, instead in _FORMS if fits(value)), None)
    first = next((_read(entry, dict[str, msgspec.Raw]) for entry in _read(text, list[msgspec.Raw])), {})
    return next(((what, instead) for names, what, instead in _LISTS if names <= first.keys()), None)
