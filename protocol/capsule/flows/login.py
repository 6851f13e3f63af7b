"""Judges whether a login is done. It compares pages and browser state before and after, and never relies on one page.

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
    """A page, and the browser state at that moment."""

    seen: Observation | None = None
    """None if the page could not be opened, for example because it led where the browser must not go."""
    held: frozenset[tuple[str, ...]] = frozenset()
    """Cookies and entries of storage with a digest of their values; empty where only pages are compared."""
    failed: str = ""
    """The error code if there is no page."""
    challenged: bool = False
    """True if the site asked for HTTP basic authentication that the state should answer, and got no answer or a wrong one."""
    chain: tuple[str, ...] = ()
    """The sites that the address led to before it was refused."""


def asks_for_login(page: Observation) -> bool:
    """True if ``page`` has a field for a password or one-time code that logs in.

    A password field beside a control to log out does not count: it confirms a change. A code field counts even there, because the
    page of a second factor can have such a control.
    """
    groups = _fields_of_logins(page.elements)
    if any(_takes_code(each) for group in groups for each in group):
        return True
    return any(map(_logs_in, groups)) and logout_control(page) is None


def _fields_of_logins(elements: Iterable[Element]) -> list[list[Element]]:
    """The fields for passwords and codes, in groups: one form, with no submitting control between them."""
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
    """The identity of the form around ``field``."""
    return field.frame, field.traits.form_method, field.traits.form_action


def _takes_code(field: Element) -> bool:
    return "one-time-code" in field.traits.autocomplete.split()


def _logs_in(fields: Sequence[Element]) -> bool:
    """True if the password fields of one group log in. Two with a common word, or one marked as new, set a new password."""
    if not fields or any("new-password" in each.traits.autocomplete.split() for each in fields):
        return False
    named = [_words(each) for each in fields]
    return not any(one & other for one, other in combinations(named, 2))


def _words(field: Element) -> frozenset[str]:
    """The words in the name of a field, which tell a number field beside a password from the password."""
    told = " ".join((field.name, *(value for name, value in field.traits.attributes if name == "name")))
    return frozenset(_WORD.findall(told.casefold()))


def judge_login(before: Look, now: Look, until: Condition | None) -> str:
    """Why the login is not done yet; empty if it is.

    Checks, in order: there is a page; the page meets ``until``, if it is given; no login form is left, if it is not given; the
    browser holds something new.
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
    """The result of comparing two fresh browsers, one with the state and one without."""

    fails: str = ""
    """Why the state is not proven to be a login; empty if it is."""
    dead: bool = False
    """True if the page was seen to refuse the state. Otherwise it may be a login that this page does not show."""
    reasons: tuple[str, ...] = ()
    """The evidence in words; no text of a page."""


def judge_proof(without: Look, given: Look, until: Condition | None) -> Proof:
    """Judge whether the state makes the difference between two pages.

    Checks, in order: the site accepts the credentials for basic authentication; the page opens with the state; it meets ``until``
    with the state and not without it; with the state no login form is left; a stranger gets a demand for basic authentication, a
    login form or another address. Different text proves nothing: pages count visitors and show the time.
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
        # Counts only if the browser was led out of the capsule's origins, as to a login site, and not after a network fault.
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
