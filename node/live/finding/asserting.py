"""Checks an assertion on a page repeatedly, until it holds or its time is over."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

import msgspec

from adapters.ports.browser import Page
from node.live.finding.beside import beside
from node.live.finding.closed import require_read
from node.live.finding.personal import judge_of, shown_name
from node.live.finding.selecting import around, selected
from node.live.finding.time_limit import NOT_FOUND
from protocol.errors import MeshError
from protocol.page.actions.action import Assert, Locator
from protocol.page.actions.assertion import Seen, count_named, failed, holds
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.actions.fits import UNPINNED, MatchDemands
from protocol.page.actions.locator import disagrees, fitting, resolve
from protocol.page.actions.scope import part
from protocol.page.actions.tables import cell_text, cell_trouble, column_texts, named_texts
from protocol.page.secrets.comparing import comparable
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.secrets.secrets import Secrets, SecretsAndTokens
from protocol.page.seen.observation import Cut, Element, Observation
from protocol.page.seen.whole import cut_by, require_loaded, require_open, require_whole, words_of

Find = Callable[[Page, Observation, Locator, Observation], Awaitable[Element]]
"""Finds the element of a locator; the last argument is the part of the page to look in.
Errors: ``action.target_missing``, ``action.target_ambiguous``, ``action.not_possible``, …
"""

# Playwright's ``expect`` polls like this: often at first, because most pages soon meet the expectation.
_OF_CONTROLS: Final = frozenset({"checked", "unchecked", "enabled", "disabled", "value"})
"""An assertion about a label with one of these properties is an assertion about its control."""
_PAUSES_MS: Final = (100, 250, 500, 1_000)
_HOLDS: Final = frozenset(
    {"textbox", "searchbox", "spinbutton", "combobox", "listbox", "slider", "radiogroup", "progressbar", "meter"}
)
"""Roles of elements that have a value."""


async def hold(
    page: Page,
    assertion: Assert,
    secrets: Secrets,
    evidence: ElementEvidence | None = None,
    pins: MatchDemands = UNPINNED,
) -> tuple[Element | None, Observation]:
    """The element for which ``assertion`` holds, and the observation in which it was found.

    evidence: the recorded evidence of the element; an element that disagrees with it is not the asserted one. pins: how the texts
    of its target were matched when it was recorded.

    The assertion's time counts only the pauses between attempts, not the reading of the page. Expected and read texts are compared
    as they are recorded: with the names of secrets in place of their values. Errors: ``action.assertion_failed``, ``page.cut``,
    ``browser.*``.
    """
    plain = comparable(assertion, secrets)
    wanted = msgspec.structs.replace(assertion, expected=plain.expected, items=plain.items)
    find = _agreeing(_reading(pins), evidence, secrets, pins)
    pauses = _pauses(assertion.timeout_ms)
    while True:
        observation, seen = await page.observe(), None
        try:
            seen = await _look(page, observation, wanted, find, secrets, pins)
            if holds(wanted, seen) and (closed := await _closed(page, observation, wanted, pins)):
                seen = await _look(page, cut_by(observation, closed), wanted, find, secrets, pins)
            if holds(wanted, seen):
                if wanted.what == "text" and wanted.match == "is" and seen.element is not None:
                    await require_read(page, observation, seen.element)
                return seen.element, observation
            error = failed(wanted, seen, _as_stored(seen, secrets.stored_at(observation.url)))
        except MeshError as unknown:
            if unknown.code != "page.cut":
                raise
            error = unknown  # the page may become shorter and then be read completely
        pause_ms = next(pauses, 0)
        if not pause_ms:
            raise await _explained(error, page, wanted, seen, secrets.stored_at(observation.url))
        await page.pause(pause_ms)


async def _closed(page: Page, observation: Observation, assertion: Assert, pins: MatchDemands) -> Cut | None:
    """The cut of the first unread content that could contain the element said to be absent, or one more such element."""
    target = assertion.target
    if target is None or assertion.what in ("visible", "cell", "order"):
        return None
    if assertion.what not in ("hidden", "count") and (target.selectors or not target.name):
        # otherwise the assertion is about the element that can be read, among those with this role or selector
        return None
    outer = None
    with contextlib.suppress(MeshError):
        outer = await around(page, observation, target, pins)
    return await page.closed(within=outer.ref if outer else "", framed=bool(target.frame))


async def _explained(
    error: MeshError, page: Page, assertion: Assert, seen: Seen | None, secrets: SecretsAndTokens
) -> MeshError:
    """``error`` of ``assertion``, with the element that hides or disables the asserted one. seen: the basis of the judgement, if
    any.
    """
    target = assertion.target
    if seen is None or target is None or seen.count > 1 or (seen.element is None and target.within is not None):
        return error
    why = await page.hindrance(target, seen.element.ref if seen.element else "")
    seen = msgspec.structs.replace(seen, why=why)
    return failed(assertion, seen, _as_stored(seen, secrets)) if why else error


def _as_stored(seen: Seen, secrets: SecretsAndTokens) -> Seen:
    return redacted(seen, Redaction(secrets))


def _pauses(left_ms: int) -> Iterator[int]:
    """Growing pauses between attempts, ``left_ms`` in total."""
    number = 0
    while left_ms > 0:
        pause_ms = min(left_ms, _PAUSES_MS[min(number, len(_PAUSES_MS) - 1)])
        yield pause_ms
        left_ms, number = left_ms - pause_ms, number + 1


def _reading(pins: MatchDemands) -> Find:
    """Finds the element as an action that only reads does."""

    async def found(page: Page, observation: Observation, target: Locator, scope: Observation) -> Element:
        if not target.selectors:
            return await asyncio.to_thread(resolve, target, scope, pins)
        return await selected(page, observation, target, reads=True, pins=pins)

    return found


def _agreeing(find: Find, evidence: ElementEvidence | None, secrets: Secrets, pins: MatchDemands) -> Find:
    """As ``find``, but the element must agree with the evidence. Among several that look alike, the evidence decides, not the
    position.
    """
    if evidence is None:
        return find

    async def found(page: Page, observation: Observation, target: Locator, scope: Observation) -> Element:
        judge = judge_of(evidence, observation, secrets)
        pool = [] if target.selectors else await asyncio.to_thread(fitting, target, scope, pins)
        if pool:
            return await asyncio.to_thread(lambda: judge.choose(target, pool, writes=False))
        element = await find(page, observation, target, scope)
        other = await asyncio.to_thread(lambda: judge.differs(element, reads=True, writes=False, placed=True))
        if other:
            raise disagrees(target, element, other)
        return element

    return found


async def _look(
    page: Page, observation: Observation, assertion: Assert, find: Find, secrets: Secrets, pins: MatchDemands
) -> Seen:
    """The facts that ``assertion`` is about, in the form in which a recording stores them."""
    seen = await _see(page, observation, assertion, find, secrets, pins)
    return await asyncio.to_thread(comparable, seen, secrets)


async def _see(
    page: Page, observation: Observation, assertion: Assert, find: Find, secrets: Secrets, pins: MatchDemands
) -> Seen:
    if assertion.what == "download":
        return Seen(downloads=page.downloads())
    if assertion.what == "no_console_error":
        errors = page.console_errors()
        if not errors:
            require_loaded(observation, "whether its scripts write errors")
        return Seen(errors=errors)
    target = assertion.target
    if assertion.what in ("cell", "order"):
        table = await _table(page, assertion, observation, find, secrets, pins)
        if table is not None:
            within = table[0].ref if table[0] is not None else table[2]
            observation = cut_by(observation, await page.closed(within=within, said=True))
        return await asyncio.to_thread(_read_table, table, assertion, observation, pins)
    if target is None:
        return await _of_page(page, assertion, observation)
    try:
        outer = await around(page, observation, target, pins)
    except MeshError as error:
        count = _count_around(error)
        require_loaded(observation, "whether it is there to look in", frame=target.frame)
        if target.within is not None and target.within.selectors and error.code == "action.target_missing":
            require_open(observation, "whether it is there to look in", words_of(target.within.selectors))
        return Seen(count=count)
    # Work that goes through all elements of a page runs in a thread: a table of 10,000 rows would block the event loop.
    scope = await asyncio.to_thread(part, outer, observation)
    target = await asyncio.to_thread(shown_name, target, scope, secrets)
    try:
        # One element that exists proves that something is visible, or not hidden, however much of the page was read.
        any_will_do = assertion.what in ("visible", "hidden")
        element = await find(page, observation, _any(target) if any_will_do else target, scope)
    except MeshError as error:
        if error.code not in NOT_FOUND:
            raise
        found = await _instead(page, observation, assertion, target, outer, scope, error)
        if isinstance(found, Seen):
            return found
        element = found
    if assertion.what in _OF_CONTROLS:
        element = observation.labelled(element)
    count = 1 if target.selectors else await asyncio.to_thread(count_named, target, scope)
    if assertion.what == "count" and (unlisted := await beside(page, observation, target, outer)):
        count = max(count, unlisted[0])
    _require_counted(assertion, target, scope)
    try:
        text = await _text_of(page, assertion, element)
    except MeshError as error:
        if error.code != "action.target_missing":
            raise
        return Seen()  # it disappeared between observing and reading
    items: tuple[str, ...] = ()
    if assertion.what == "sent":
        values = await page.sent(element.ref)
        text, items = (None if values is None else ""), values or ()
    return Seen(count=max(count, 1), element=element, text=text, items=items)


async def _instead(
    page: Page,
    observation: Observation,
    assertion: Assert,
    target: Locator,
    outer: Element | None,
    scope: Observation,
    error: MeshError,
) -> Element | Seen:
    """The one element outside of the observation that fits ``target``, which was not found because of ``error``; otherwise the
    number of such elements.
    """
    # An element that a selector finds but that is not shown is known to be hidden.
    if error.code == "action.target_missing" or assertion.what != "hidden":
        _require_counted(assertion, target, scope)
    unlisted = await beside(page, observation, target, outer)
    if unlisted is not None and unlisted[1] is not None:
        return unlisted[1]
    instead = error.message if error.code == "action.target_differs" else ""
    count = await asyncio.to_thread(_count, target, scope, error)
    count = max(count, unlisted[0] if unlisted else 0)
    if not count:
        require_loaded(observation, "whether it is there", frame=target.frame)
    return Seen(count=count, instead=instead)


def _require_counted(assertion: Assert, target: Locator, scope: Observation) -> None:
    """Return if all elements that are to be counted are known. Errors: ``page.cut``.

    The browser counts what selectors find, in the loaded page and outside of closed shadow trees.
    """
    if target.selectors and assertion.what in ("count", "hidden"):
        require_open(scope, "how many there are", words_of(target.selectors))
    if assertion.what == "count" and target.selectors:
        require_loaded(scope, "how many there are", frame=target.frame)
    elif assertion.what == "count":
        require_whole(scope, "how many there are", frame=target.frame, named=target.name)


def _any(target: Locator) -> Locator:
    """``target`` without the demand to be unique: to show that such an element exists, any of them will do."""
    return target if target.nth is not None else msgspec.structs.replace(target, nth=0)


async def _table(
    page: Page, assertion: Assert, observation: Observation, find: Find, secrets: Secrets, pins: MatchDemands
) -> tuple[Element | None, Observation, str] | None:
    """The element to read in, the observation of the part of the page that contains it, and the ref of that part's element (empty
    for the whole page); None if the element is missing.
    """
    target = assertion.target
    if target is None:
        return None, observation, ""
    try:
        outer = await around(page, observation, target, pins)
        scope = await asyncio.to_thread(part, outer, observation)
        if assertion.what == "order" and not assertion.column:
            return None, scope, outer.ref if outer else ""
        return await find(page, observation, shown_name(target, scope, secrets), scope), observation, ""
    except MeshError as error:
        if error.code not in NOT_FOUND:
            raise
        return None


def _read_table(
    found: tuple[Element | None, Observation, str] | None,
    assertion: Assert,
    observation: Observation,
    pins: MatchDemands,
) -> Seen:
    if found is None:
        return Seen()
    require_whole(observation, "what the table says")
    table, scope, _ = found
    if assertion.what == "cell":
        where = assertion.row, assertion.column, table, observation, pins
        if (text := cell_text(*where)) is None:
            return Seen(count=1, instead=cell_trouble(*where))
        return Seen(count=1, text=text)
    if assertion.column:
        items = column_texts(assertion.column, table, observation)
    else:
        assert assertion.target is not None, "the order is one of elements or of a column"
        items = named_texts(assertion.target, scope)
    return Seen(count=1, items=items)


def _count_around(error: MeshError) -> int:
    """The number of visible elements inside an element that was not found; ``error`` says why.

    Errors: ``error``, unless the outer element is missing or not visible, in which case it contains nothing.
    """
    match error.code, error.detail:
        case "action.target_missing", {"selectors": _} | {"role": _}:
            return 0
        case "action.not_possible", {"count": 0}:
            return 0
        case _:
            raise error


def _count(target: Locator, observation: Observation, error: MeshError) -> int:
    """The number of visible elements that fit a locator without a single match; ``error`` says why.

    Errors: ``error``, if it is about the locator and not about the page.
    """
    if not target.selectors:
        return count_named(target, observation)
    match error.code, error.detail:
        case _, {"count": int(count)}:
            return count
        case "action.target_differs", _:
            return 1
        case "action.target_missing", {"selectors": _}:
            return 0
        case _:
            # A selector that cannot be parsed proves nothing about the page, so it does not prove that something is hidden.
            raise error


async def _of_page(page: Page, assertion: Assert, observation: Observation) -> Seen:
    match assertion.what:
        case "address":
            return Seen(address=observation.url)
        case "title":
            return Seen(text=observation.title)
        case _:
            return Seen(text=await page.read() or "")


async def _text_of(page: Page, assertion: Assert, element: Element) -> str | None:
    """The value of ``element`` to compare; None for a value that may not be read."""
    is_password = element.traits.input_type == "password"
    match assertion.what:
        case "text":
            return None if is_password else await page.read(element.ref)
        case "value":
            has_value = element.role in _HOLDS or element.traits.tag in ("input", "fieldset")
            return await page.read(element.ref) if has_value and not is_password else None
        case "attribute":
            # The attribute of a password field may contain the field's value.
            hides = is_password and assertion.attribute.lower() == "value"
            return None if hides else await page.read(element.ref, assertion.attribute)
        case _:
            return ""
