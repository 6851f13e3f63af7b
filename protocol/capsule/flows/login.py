"""Judges whether somebody is logged in: by a comparison of what a browser shows and holds before and after, never by one page.

Sites say "welcome" to strangers and set cookies for everybody. So a login counts only if the page was different without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

import msgspec

from protocol.capsule.flows.portability import logout_control
from protocol.goal.condition import Condition, holds
from protocol.page.secrets.secrets import takes_no_text
from protocol.page.seen.observation import Element, Observation
from protocol.trust.origin import origin_of

_WORD: Final = re.compile(r"[^\W\d_]{4,}")


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A page, and what the browser holds at that moment."""

    seen: Observation | None = None
    """None if the page could not be opened: an address that needs a login may lead where the browser must not go."""
    held: frozenset[tuple[str, ...]] = frozenset()
    """Cookies and entries of storage with a digest of their values; empty where only pages are compared."""
    failed: str = ""
    """The code of the error, if there is no page."""
    challenged: bool = False
    """Whether the site asked for HTTP basic authentication that the state is to answer, and nothing answered, or not rightly."""
    chain: tuple[str, ...] = ()
    """The sites that the address led to until it was refused."""


def asks_for_login(page: Observation) -> bool:
    """Whether ``page`` has a field for a password or a one-time code that a person could fill in to log in.

    A page with a control to log out asks for a password to change something. A second factor can have one: its code counts.
    """
    groups = _fields_of_logins(page.elements)
    if any(_takes_code(each) for group in groups for each in group):
        return True
    return any(map(_logs_in, groups)) and logout_control(page) is None


def _fields_of_logins(elements: Iterable[Element]) -> list[list[Element]]:
    """The fields for passwords and codes, those together that stand in one form with nothing between them that submits it."""
    groups: list[list[Element]] = [[]]
    for each in elements:
        secret = each.traits.input_type == "password" or _takes_code(each)
        if each.traits.submits:
            groups.append([])
        elif secret and each.interactive and takes_no_text(each.traits):
            if groups[-1] and _form(groups[-1][-1]) != _form(each):
                groups.append([])
            groups[-1].append(each)
    return groups


def _form(field: Element) -> tuple[str, str, str]:
    """What tells the form around ``field`` from others."""
    return field.frame, field.traits.form_method, field.traits.form_action


def _takes_code(field: Element) -> bool:
    return "one-time-code" in field.traits.autocomplete.split()


def _logs_in(fields: Sequence[Element]) -> bool:
    """Whether the password fields of one group log in. Two that are named alike, or one that says so, set a new password."""
    if not fields or any("new-password" in each.traits.autocomplete.split() for each in fields):
        return False
    named = [_words(each) for each in fields]
    return not any(one & other for one, other in combinations(named, 2))


def _words(field: Element) -> frozenset[str]:
    """Words of what a field is called. Beside a password, a field for a number has a word of its own."""
    told = " ".join((field.name, *(value for name, value in field.traits.attributes if name == "name")))
    return frozenset(_WORD.findall(told.casefold()))


def judge_login(before: Look, now: Look, until: Condition | None) -> str:
    """Why the login is not done yet; empty if it is.

    Checks, in order: there is a page; ``until``, if it is given; no form of a login is left, unless ``until`` holds; the browser
    holds something that it did not hold before.
    """
    if now.seen is None:
        return f"the page could not be read ({now.failed})"
    if until is not None and not holds(until, now.seen):
        return "the page does not meet the condition of --until"
    if until is None and asks_for_login(now.seen):
        return "the page still asks for a password or a code"
    if not now.held - before.held:
        return "the browser holds no cookie and no entry of storage that it did not hold before"
    return ""


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What the comparison of two fresh browsers gave: one with the state, and one without."""

    fails: str = ""
    """Why the state does not prove to be a login; empty if it does."""
    dead: bool = False
    """Whether the page was seen to refuse the state; otherwise it may be a login that this page does not show."""
    reasons: tuple[str, ...] = ()
    """What shows it, in words; no text of a page."""


def judge_proof(without: Look, given: Look, until: Condition | None) -> Proof:
    """Whether the state is what makes the difference.

    Checks, in order: the site takes what answers its basic authentication; the page opens with the state; ``until`` holds with
    the state and not without it; no form of a login is left with the state; a stranger gets something else: basic
    authentication, a form of a login, or another address. Other text proves nothing: pages count visitors and show the time.
    """
    if given.challenged:
        said = "the site does not take the user name and the password for its basic authentication"
        return Proof(fails=f"with the state, {said}", dead=True)
    if given.seen is None:
        return Proof(fails=f"with the state, the page does not open ({given.failed}){_led(given.chain)}")
    if until is not None:
        if not holds(until, given.seen):
            return Proof(fails="with the state, the page does not meet the condition", dead=True)
        if without.seen is not None and holds(until, without.seen):
            return Proof(fails="the condition also holds without the login: name something that only it shows")
        return Proof(reasons=("the condition holds with the state, and not without it",))
    if asks_for_login(given.seen):
        return Proof(fails="with the state, the page still asks for a password or a code", dead=True)
    reasons = _differences(without, given.seen)
    if not reasons:
        return Proof(
            fails="the page is the same without the login: name an address that needs it, or what only it shows"
        )
    return Proof(reasons=reasons)


def _led(chain: tuple[str, ...]) -> str:
    if not chain:
        return ""
    return f": {' → '.join(chain)}. If the login needs that site, name it with --origin"


def _differences(without: Look, given: Observation) -> tuple[str, ...]:
    seen = without.seen
    if without.challenged:
        return ("without the state, the site asks for basic authentication",)
    if seen is None:
        # Only where it was led out of the origins of the capsule, as to a site that does logins: no fault of a network.
        return ("without the state, the page leads to another site",) if without.failed == "browser.refused" else ()
    said = []
    if asks_for_login(seen):
        said.append("without the state, the page asks for a password or a code")
    if origin_of(seen.url) != origin_of(given.url):
        said.append("without the state, the page leads to another site")
    elif _plain(seen.url) != _plain(given.url):
        said.append("without the state, the page leads to another address")
    return tuple(said)


def _plain(url: str) -> str:
    return url.partition("#")[0].partition("?")[0]
