"""Lists the elements of a page, with lines to paste into an action file. Each line finds exactly one element."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final

import msgspec

from adapters.ports.browser import Page
from node.config import Config
from node.live.acting import Driver, Gate
from node.live.browsers import Browsers, Wish, guard_for, mounted_context, opening
from node.sessions.actions.action_writing import write_step
from node.sessions.keeping.working import named_by_owner
from node.signing import Witness
from node.verbs import Bound, Tell
from node.verbs.sessions import page as verbs
from node.verbs.sessions.page import NamedElement, PageSnapshot, SnapshotParams
from protocol.errors import MeshError
from protocol.page.actions.action import (
    Action,
    Assert,
    Check,
    Click,
    Extract,
    Fill,
    Goto,
    Locator,
    Press,
    Secret,
    Select,
    Upload,
    Wait,
)
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.secrets.secret_fields import secret_name
from protocol.page.secrets.secrets import NO_SECRETS
from protocol.page.seen.names import fold, visible
from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation
from protocol.page.seen.web_address import require_plain
from protocol.page.seen.whole import said
from protocol.page.showing.naming import Naming
from protocol.recording.records.verdicts import wrong_requests

_FIELDS: Final = frozenset({"textbox", "searchbox", "spinbutton"})
_READ: Final = frozenset(
    [
        "alert",
        "alertdialog",
        "article",
        "caption",
        "cell",
        "code",
        "columnheader",
        "definition",
        "dialog",
        "figure",
        "gridcell",
        "heading",
        "img",
        "listitem",
        "log",
        "meter",
        "note",
        "paragraph",
        "progressbar",
        "region",
        "row",
        "rowheader",
        "status",
        "tabpanel",
        "term",
        "time",
        "timer",
        "tooltip",
    ]
)
"""Roles of elements that are not acted on but are worth an assertion."""
_TEXT_CHARS_MAX: Final = 80
_VALUE: Final = "TEXT"
_FILE: Final = "FILE"


class PageVerbs:
    """Implements the verbs about pages that are observed without recording a session."""

    def __init__(self, witness: Witness, config: Config, browsers: Browsers) -> None:
        self._witness, self._config, self._browsers = witness, config, browsers
        self.bound: Bound = {verbs.SNAPSHOT: self._snapshot}

    async def _snapshot(self, params: SnapshotParams, tell: Tell) -> PageSnapshot:
        """Open the page and list its elements. Errors: ``browser.*``, ``action.text_missing``, ``policy.refused``."""
        require_plain(params.url)
        named = named_by_owner(params.url)
        gate = Gate(report=self._witness.trail.gate, risk_max=self._config.policy.risk_class_max, named=named)
        guard = guard_for(self._config.policy, opening(named))
        wish = Wish(
            task="record",
            guard=guard,
            start_url=params.url,
            risk_max=self._config.policy.risk_class_max,
            work="snapshot",
        )
        profile = self._config.browser.profile
        async with mounted_context(self._browsers, profile, params.capsule, wish) as (mount, _, page):
            secrets = await mount.hiding(NO_SECRETS)
            driver = Driver(page, mount.gate(gate))
            opened = await driver.act(Goto(url=params.url))
            refused, faults = opened.blocked, opened.faults
            if params.wait:
                waited = await driver.act(Wait(text=params.wait, timeout_ms=params.timeout_ms))
                refused, faults = refused + waited.blocked, faults + waited.faults
            observation = await page.observe()
            taken = await take(page, observation, params)
            taken = msgspec.structs.replace(taken, refused=tuple(dict.fromkeys(refused)))
            # A page may show its own login.
            taken, faults = await asyncio.to_thread(redacted, (taken, faults), Redaction(secrets))
            # The requests that the guard refused are listed already.
            return msgspec.structs.replace(
                taken, faults=wrong_requests([one for one in faults if one.fault != "refused"], None)
            )


async def take(page: Page, observation: Observation, params: SnapshotParams) -> PageSnapshot:
    """The elements of ``observation``, the last observation of ``page``, that a line can name; not redacted."""
    # In a thread, like all work that goes through the elements of a page: a table of 10,000 rows would block the event loop.
    naming = await asyncio.to_thread(Naming, observation)
    meant = await asyncio.to_thread(_meant, naming, observation, params.text)
    named: list[NamedElement] = []
    looked = 0
    for element in meant:
        if len(named) == params.limit:
            break
        looked += 1
        if found := await _named(page, naming, element, reads=not params.actions_only):
            named.append(found)
    return PageSnapshot(
        url=observation.url,
        title=observation.title,
        elements=tuple(named),
        left_out=len(meant) - looked,
        cut=said(observation.cut),
    )


def _meant(naming: Naming, observation: Observation, text: str) -> list[Element]:
    """The elements that a person could act on or read, with ``text`` in their name or in the names around them."""
    found = [item for item in observation.elements if _acts(item) or _reads(item)]
    wanted = fold(text)
    return [item for item in found if not text or wanted in fold(_said(naming, item))]


def _said(naming: Naming, element: Element) -> str:
    return " ".join((element.role, element.name, *_scopes(naming, element), *element.options))


def _scopes(naming: Naming, element: Element) -> tuple[str, ...]:
    return tuple(filter(None, (_scope(naming, outer) for outer in naming.scopes(element))))


def _acts(element: Element) -> bool:
    # A label stands for its control, which is listed.
    return element.interactive or (element.role == "generic" and bool(element.name) and not element.inside)


def _reads(element: Element) -> bool:
    return element.role in _READ or not element.interactive


async def _named(page: Page, naming: Naming, element: Element, *, reads: bool) -> NamedElement | None:
    """``element`` with its lines; None if no line is useful."""
    target = await _locator(page, naming, element)
    actions = list(_actions(element, target)) if _acts(element) else []
    by_place = naming.is_place(target, element)
    if reads and not (by_place and not actions):  # a text that only its position identifies is not worth reading
        actions += _readings(element, target, naming.said(element))
    if not actions:
        return None
    return NamedElement(
        ref=element.ref,
        role=element.role,
        name=visible(element.name),
        frame=element.frame,
        states=element.states,
        level=next((int(state[6:]) for state in element.states if state.startswith("level=")), 0),
        within=await asyncio.to_thread(_scopes, naming, element),
        options=element.options,
        only_by_place=by_place,
        lines=tuple(map(write_step, actions)),
    )


async def _locator(page: Page, naming: Naming, element: Element) -> Locator:
    """The first locator that finds ``element`` on the page. Only the page knows what else a selector matches."""
    ways = naming.locators(element)
    while target := await asyncio.to_thread(next, ways, None):
        if not target.selectors:
            return target
        try:
            found = await page.find(target.selectors[0], target.frame)
        except MeshError:
            continue
        if found is not None and found.ref == element.ref:
            return target
    raise AssertionError("the place of an element among its look-alikes always finds it")


def _actions(element: Element, target: Locator) -> Iterator[Action]:
    """The actions that a person would perform on it."""
    secret = secret_name(element)
    if element.role in CHECKABLE_ROLES:
        yield Check(target=target, checked="checked" not in element.states)
    elif element.traits.input_type == "file":
        yield Upload(target=target, files=(_FILE,))
    elif element.options:
        yield Select(target=target, option=next((item for item in element.options if item != element.value), ""))
    elif element.role in _FIELDS or (element.role == "combobox" and element.traits.tag in ("input", "textarea")):
        yield Fill(target=target, value=Secret(secret=secret) if secret else _VALUE)
    elif element.role == "slider":
        yield Press(target=target, key="ArrowRight")
    else:
        yield Click(target=target)


def _readings(element: Element, target: Locator, said: str) -> Iterator[Action]:
    """The assertions about it, and the steps that read from it."""
    if "disabled" in element.states:
        yield Assert(what="disabled", target=target)
    elif element.role in CHECKABLE_ROLES:
        yield Assert(what="checked" if "checked" in element.states else "unchecked", target=target)
    elif element.role in _FIELDS or element.role == "combobox":
        if not secret_name(element):
            yield Assert(what="value", expected=element.value, target=target)
            yield Extract(name=_key(element), target=target)
    elif element.role not in _READ:
        return
    elif element.name:
        yield Assert(what="visible", target=target)
    elif said and len(said) <= _TEXT_CHARS_MAX:
        yield Assert(what="text", match="contains", expected=said, target=target)
        yield Extract(name=_key(element), target=target)


def _key(element: Element) -> str:
    words = "".join(char if char.isalnum() else " " for char in fold(element.name)).split()
    return "_".join(words)[:32] or element.role


def _scope(naming: Naming, outer: Element) -> str:
    """The section, row, card or dialog ``outer`` in words; empty if it has no name of its own."""
    said = naming.called(outer)
    return f"{outer.role} “{visible(said[:_TEXT_CHARS_MAX])}”" if said else ""
