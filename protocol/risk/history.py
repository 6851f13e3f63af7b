"""What presses of a control, and typing and choosing in it, did here before: how a control is known again, what is kept, and what
that says.

Everything kept is this node's own observation. Of a control only a keyed digest is kept, so no text of a page.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import unicodedata
from collections.abc import Iterable
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec

from protocol import limits
from protocol.approval.forms import path_form, place_of
from protocol.page.action import Action, Check, Click, Fill, Select
from protocol.page.action import Press as Key
from protocol.page.observation import Element, Observation
from protocol.risk import marks
from protocol.risk.addresses import destructive_url
from protocol.risk.judgement import APPROVAL_CLASS, Evidence
from protocol.risk.refused import PROBED_PAGE, WINDOW
from protocol.wire import cbor

_DAY_MS: Final = 86_400_000
_KEY_BYTES: Final = 16
_VOLATILE: Final = re.compile(r"\d+")
_PLACES: Final = frozenset(
    {
        "alertdialog", "banner", "cell", "columnheader", "complementary", "contentinfo", "dialog", "form", "gridcell", "listitem",
        "main", "menu", "menubar", "navigation", "radiogroup", "row", "search", "tablist", "tabpanel", "toolbar", "tree",
    }
)  # fmt: skip
"""Roles of what can stand around a control and tells what it belongs to."""
_PLACES_MAX: Final = 3
_SAME_EVERYWHERE: Final = frozenset({"banner", "contentinfo", "navigation"})
"""What stands in these is the same on every page of a site. Elsewhere the same label does different things from page to page."""
_NARROW: Final = frozenset({"form", "dialog", "alertdialog", "tabpanel"})
"""In these it does so even on pages of one form: “Next” of a wizard sends at the last step."""
_TRIED_LEFT_MIN: Final = 1 / 8
"""How much of what was tried may have decayed away before it counts no more: after three half-lives."""


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of the presses of one form of element at one origin."""

    quiet: Annotated[int, msgspec.Meta(ge=0, le=limits.HISTORY_PRESSES_MAX)] = 0
    """Presses after which the page had changed and nothing but plain reads had been tried, since one last tried more."""
    quiet_ms: int = 0
    """Time of the last of them."""
    tried: Annotated[int, msgspec.Meta(ge=0, le=7)] = 0
    """The worst class of what a press tried to send; 0 if none ever tried anything."""
    tried_ms: int = 0


class Press(msgspec.Struct, frozen=True, kw_only=True):
    """What one press did. It counts as quiet if it is clear and tried nothing."""

    tried: int = 0
    """The worst class of what it tried to send; 0 for nothing but plain reads."""
    clear: bool = True
    """Whether everything that it caused could be seen, and it did cause something that a person would see, or is ``silent``."""
    silent: bool = False
    """Whether it is the name of something, and nothing was seen or tried."""


Deed = Literal["press", "type", "choose", "enter"]
"""What is done to a control, as far as history tells one from another: a script may listen to each."""


def deed_of(action: Action) -> Deed | Literal[""]:
    """The deed of ``action``; empty for what history does not speak of: a double click, a menu, a key of its own."""
    match action:
        case Check() | Click(button="left", count=1):
            return "press"
        case Fill():
            return "type"
        case Select():
            return "choose"
        case Key(key="Enter", target=target) if target is not None:
            return "enter"
        case _:
            return ""


def element_key(element: Element, page: Observation, key: bytes, deed: Deed = "press") -> bytes:
    """The form of ``element``, 16 bytes: what it is, what it says and where it stands, at the origin of ``page``.

    key: of this installation. Each ``deed`` has forms of its own. The label, an inline handler, and the words of id, class and icon
    (beside a label only those that say what it does) count without case and digits; of what stands around it the roles of the next
    three containers, and the frame. Outside of what is the same everywhere (a navigation, a banner) also the path of the page, with
    its ids and digits replaced. In a form, a dialog or the panel of a tab, and without a label, also the rest of the address and
    the name of the nearest container.
    """
    origin, path = place_of(page.url)
    places = _places(element, page)
    traits = element.traits
    narrow = traits.submits or bool(traits.form_method) or not _NARROW.isdisjoint(places) or not has_label(element)
    placed = _SAME_EVERYWHERE.isdisjoint(places)
    facts = [
        origin,
        element.frame,
        element.role,
        traits.tag,
        traits.input_type,
        _folded(element.name),
        sorted({_folded(token) for token in (marks.meant(traits.tokens) if has_label(element) else traits.tokens)}),
        traits.submits,
        traits.form_method,
        path_form(traits.form_action),
        traits.opens,
        traits.handler,
        places,
        [path, _rest(page.url), _folded(element.context)] if narrow else [path] if placed else [],
        *([] if deed == "press" else [deed]),
    ]
    return hmac.new(key, b"trailmesh-element-v4\x00" + cbor.encode(facts), hashlib.sha256).digest()[:_KEY_BYTES]


def has_label(element: Element) -> bool:
    """Whether its label tells ``element`` from others: “×” or “12” stands on controls that do different things."""
    return sum(letter.isalpha() for letter in element.name) > 1


def _rest(url: str) -> str:
    """Query and fragment of an address, folded: many applications keep all of their pages at one path."""
    return _folded(url.partition("?")[2] or url.partition("#")[2])


def _folded(text: str) -> str:
    return _VOLATILE.sub("#", " ".join(unicodedata.normalize("NFKC", text).casefold().split()))


def _places(element: Element, page: Observation) -> list[str]:
    """Roles of the next containers around ``element``, the nearest first."""
    tree, place = page.tree, page.nodes.get(element.ref, -1)
    if place < 0:
        return []
    node, found = tree.parents[place], list[str]()
    while node >= 0 and len(found) < _PLACES_MAX:
        if tree.roles[node] in _PLACES:
            found.append(tree.roles[node])
        node = tree.parents[node]
    return found


def judge_press(
    refused: Iterable[tuple[str, str]],
    noise: frozenset[str],
    *,
    shows: bool,
    home: str = "",
    asks: bool = False,
    silent: bool = False,
) -> Press:
    """What a press did by what the guard of a probe refused meanwhile, as ``METHOD address`` with the rule that refused it.

    noise: requests that the page also tries when nothing is pressed. Whether the press caused such a one is not known.
    shows: whether the page has changed since. One that shows nothing may have come before the scripts of the page were ready,
    unless it sent a form that reads.
    home: address of the page, if what goes to other sites says nothing. Of a control that says that it is harmless, that mostly
    counts clicks.
    silent: whether one that shows nothing counts as one that reads: a name that is no part of a form.
    asks: whether a dialog asked back. What its other answer does is not known; what only reads asks nothing.
    """
    refused = list(refused)
    # What a search form would have shown is the next page, which a probe does not load.
    believed = bool(home)
    tried, clear = (
        APPROVAL_CLASS if asks and believed else 0,
        not asks and (shows or silent or any(rule == PROBED_PAGE for _, rule in refused)),
    )
    for line, rule in refused:
        level = _tried(line, rule)
        if line in noise or level is None or (home and _elsewhere(line, home)):
            clear = False
        else:
            tried = max(tried, level)
    return Press(tried=tried, clear=clear, silent=silent and clear and not refused)


def _elsewhere(line: str, home: str) -> bool:
    """Whether a request goes to another site than ``home``: to a host whose last two labels are others."""
    address = line.partition(" ")[2]
    hosts = [urlsplit(each).hostname or "" for each in (address, home)]
    return not address.startswith("/") and len({tuple(host.split(".")[-2:]) for host in hosts}) > 1


def _tried(line: str, rule: str) -> int | None:
    """The class of a refused request; 0 if it only reads, None if that cannot be said."""
    if rule == PROBED_PAGE:
        return 0
    if rule.startswith("address:"):
        return 7
    method, _, address = line.partition(" ")
    if rule != "method" and (rule != WINDOW or method == "GET"):
        # Not sent for a reason that says nothing about what it does: another origin, a scheme, a socket, one window too many.
        return None
    address = f"https://site.invalid{address}" if address.startswith("/") else address
    return 7 if method == "DELETE" or destructive_url(address) else APPROVAL_CLASS


def after(past: Past, press: Press, now_ms: int) -> Past:
    """``past`` with one more press."""
    if press.tried:
        tried = max(press.tried, past.tried if _still_counts(past, now_ms) else 0)
        return Past(tried=tried, tried_ms=now_ms)
    if not press.clear:
        return past
    quiet = min(limits.HISTORY_PRESSES_MAX, round(past.quiet * _left(past.quiet_ms, now_ms)) + 1)
    return msgspec.structs.replace(past, quiet=quiet, quiet_ms=now_ms)


def evidence_of(past: Past | None, now_ms: int) -> Evidence | None:
    """What the presses of a form of element say about its class; None if too little is known.

    What a press tried to send counts at once. Presses that tried nothing count from ``HISTORY_PRESSES_MIN`` on, while one of them
    is left by half-lives of ``HISTORY_HALF_LIFE_DAYS``.
    """
    if past is None:
        return None
    if _still_counts(past, now_ms):
        says = "tried to change something" if past.tried < 7 else "tried to delete something"
        return Evidence(source="history", level=past.tried, certain=True, says=f"{says} when it was pressed before")
    if past.quiet < limits.HISTORY_PRESSES_MIN or past.quiet * _left(past.quiet_ms, now_ms) < 1:
        return None
    return Evidence(source="history", level=1, certain=True, says="only read when it was pressed before")


def _still_counts(past: Past, now_ms: int) -> bool:
    return bool(past.tried) and _left(past.tried_ms, now_ms) > _TRIED_LEFT_MIN


def _left(then_ms: int, now_ms: int) -> float:
    """How much of an observation is left. One of the future, after the clock was set back, counts as one of now."""
    age_days = max(0, now_ms - then_ms) / _DAY_MS
    return float(0.5 ** (age_days / limits.HISTORY_HALF_LIFE_DAYS))
