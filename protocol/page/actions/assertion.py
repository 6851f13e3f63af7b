"""Judges assertions by observed facts about a page. The kinds are those of Playwright's ``expect``."""

from __future__ import annotations

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import PageAddress, PageText, Words
from protocol.page.actions.action import Action, Assert, Locator, Wait, demand
from protocol.page.actions.downloads import Download, describe_download, named
from protocol.page.actions.tables import in_order
from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation

_FOUND_CHARS_MAX = 200
_ITEMS_SHOWN = 12


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The observed facts by which an assertion is judged."""

    count: int = 0
    """The number of visible elements that fit the locator."""
    element: Element | None = None
    """The element that the locator means; None if it fits none, or several."""
    address: PageAddress = ""
    """The address of the page."""
    text: PageText | None = None
    """The title, text, value or attribute as it was read; None if there is none."""
    instead: PageText = ""
    """A found element that is not the recorded one, in words; empty if there is none."""
    downloads: tuple[Download, ...] = ()
    """The downloads so far."""
    why: PageText = ""
    """The reason why the element is hidden or disabled, as a sentence."""
    items: tuple[PageText, ...] = ()
    """The texts whose order is asserted, or the values that would be sent."""
    errors: tuple[Words, ...] = ()
    """The errors in the console."""


def condition_of(action: Action) -> Assert | None:
    """The condition for which ``action`` waits: that of an assertion, or of a wait for an element or an address; None for other
    actions.
    """
    match action:
        case Assert():
            return action
        case Wait(target=Locator() as target, state=state, timeout_ms=timeout_ms):
            return Assert(what=state, target=target, timeout_ms=timeout_ms)
        case Wait(address=address, timeout_ms=timeout_ms) if address:
            return Assert(what="address", expected=address, match="contains", timeout_ms=timeout_ms)
        case _:
            return None


def of_one_element(assertion: Assert) -> bool:
    """True if ``assertion`` is about one element that a replay must find again: its state, value or attribute.

    A non-empty text does not count, because the text itself shows if it is the right element. The presence of an element with a
    role and name does not count either, because any such element will do.
    """
    target = assertion.target
    if target is None or assertion.what in ("count", "hidden") or (assertion.what == "text" and assertion.expected):
        return False
    return assertion.what != "visible" or bool(target.selectors) or target.nth is not None


def demands_absence(assertion: Assert) -> bool:
    """True if ``assertion`` demands that an element is missing or not visible."""
    return assertion.what == "hidden" or (assertion.what == "count" and assertion.expected.strip() == "0")


def fits_response(wait: Wait, method: str, url: str) -> bool:
    """True if ``wait`` waits for the answer to this request: the address holds the parts of its pattern in this order."""
    if wait.method not in ("", method):
        return False
    place = 0
    for part in wait.response.split("*"):
        place = url.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def holds(assertion: Assert, seen: Seen) -> bool:
    """True if ``seen`` meets the demand of ``assertion``. A text that could not be read never does."""
    element = seen.element
    match assertion.what:
        case "download":
            part = assertion.match == "contains"
            return named(seen.downloads, assertion.expected, part=part, digest=assertion.sha256) is not None
        case "no_console_error":
            return not seen.errors
        case "order" if assertion.items:
            return [fold(item) for item in seen.items] == [fold(item) for item in assertion.items]
        case "order":
            return in_order(seen.items, assertion.expected)
        case "sent":
            return _sends(assertion, seen)
        case "address":
            return _fits(assertion, seen.address)
        case "count":
            return assertion.expected.strip() == str(seen.count)
        case "hidden":
            return not seen.count
        case "visible":
            return element is not None
        case "enabled":
            return element is not None and "disabled" not in element.states
        case "disabled":
            return element is not None and "disabled" in element.states
        case "checked":
            return element is not None and "checked" in element.states
        case "unchecked":
            # A box can also be half checked (``checked=mixed``), which is neither. An element that is no box is never
            # ``unchecked``.
            if element is None or element.role not in CHECKABLE_ROLES:
                return False
            return not any(state.startswith("checked") for state in element.states)
        case _:
            return seen.text is not None and _fits(assertion, seen.text)


def _sends(assertion: Assert, seen: Seen) -> bool:
    """True if the element would send the expected values. A list without a choice sends none, or an empty one."""
    if seen.element is None or seen.text is None:
        return False
    if assertion.match == "contains":
        return any(assertion.expected in item for item in seen.items)
    wanted = assertion.items or (assertion.expected,)
    return wanted == seen.items or (not seen.items and wanted == ("",))


def _fits(assertion: Assert, text: str) -> bool:
    expected, found = fold(assertion.expected), fold(text)
    return expected in found if assertion.match == "contains" else expected == found


def fold(text: str) -> str:
    """``text`` with white space folded."""
    return " ".join(text.split())


def found(assertion: Assert, seen: Seen) -> str:
    """The found state in words, for the error; a long text is cut."""
    what, element = assertion.what, seen.element
    if what == "count":
        return str(seen.count)
    if what in ("order", "no_console_error") or (what == "sent" and seen.text is not None):
        return ", ".join(f"“{item}”" for item in (*seen.items, *seen.errors)[:_ITEMS_SHOWN]) or "nothing"
    if what == "cell" and seen.text is None:
        return seen.instead or "no such table"
    if what == "download":
        return "; ".join(map(describe_download, seen.downloads[-3:])) or "no download"
    if what != "cell" and element is None and (assertion.target is not None and what != "hidden"):
        none = f"one that cannot be seen: {seen.why}" if seen.why else "no such element"
        return seen.instead or (f"{seen.count} such elements" if seen.count > 1 else none)
    match what:
        case "address":
            return f"“{_around(assertion, fold(seen.address))}”"
        case "visible" | "hidden":
            return "visible" if seen.count else "hidden"
        case "enabled" | "disabled":
            disabled = "disabled" in element.states if element else False
            return (f"disabled: {seen.why}" if seen.why else "disabled") if disabled else "enabled"
        case "checked" | "unchecked":
            if element is not None and element.role not in CHECKABLE_ROLES:
                return f"a {element.role}, which cannot be checked"
            states = element.states if element else ()
            return next((state for state in states if state.startswith("checked")), "unchecked")
        case "attribute" if seen.text is None:
            return "no such attribute"
        case _:
            return "nothing that may be read" if seen.text is None else f"“{_around(assertion, fold(seen.text))}”"


def _around(assertion: Assert, text: str) -> str:
    """The part of ``text`` that is most like the expected one: it begins where the expected words begin."""
    if len(text) <= _FOUND_CHARS_MAX:
        return text
    first = next((text.find(word) for word in assertion.expected.split() if word in text), 0)
    start = max(0, min(first - _FOUND_CHARS_MAX // 4, len(text) - _FOUND_CHARS_MAX))
    end = start + _FOUND_CHARS_MAX
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def failed(assertion: Assert, seen: Seen, stored: Seen) -> MeshError:
    """The error for an assertion that did not come true.

    stored: ``seen``, redacted. It is redacted before it is cut, because half a secret would not be recognised.
    """
    return MeshError(
        "action.assertion_failed",
        f"expected {demand(assertion)}, found {found(assertion, seen)}",
        expected=demand(assertion),
        found=found(assertion, stored),
    )


def count_named(target: Locator, page: Observation) -> int:
    """The number of elements of ``page`` with the role and name of ``target``. A missing role or name fits any."""
    wanted = fold(target.name[: limits.ELEMENT_NAME_CHARS_MAX]).casefold()
    return sum(
        item.frame == target.frame
        and target.role in ("", item.role)
        and (not target.name or wanted == fold(item.name).casefold())
        for item in page.elements
    )
