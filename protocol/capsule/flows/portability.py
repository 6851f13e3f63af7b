"""Finds which parts of a login work in another browser, and tells a page with a login from one without. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from protocol import limits
from protocol.capsule.state import CapsuleState, Lost, ObjectStoreRecord
from protocol.capsule.storage_key import site_on_top
from protocol.page.seen.observation import Element, Observation
from protocol.trust.origin import origin_of

Standing = Literal["alive", "dead", "unknown"]
"""The reaction of a site to a login in a fresh browser. ``unknown``: the page looks the same to everybody."""
Verdict = Literal["portable", "offered", "software-bound", "dead", "unknown"]
"""``portable``: the site accepted the login in a fresh browser. ``offered``: it did, but it offers to bind sessions to a device,
and such a session soon ends elsewhere. ``software-bound``: the login names a key that only its own browser has.
"""
_WEB_TOKEN: Final = re.compile(  # each piece is read once, as in ``token_looks.WEB_TOKEN``
    r"(?<![A-Za-z0-9_-])(?:(?!eyJ)[A-Za-z0-9_-])*+eyJ[A-Za-z0-9_-]{4,}+\.(eyJ[A-Za-z0-9_-]{4,}+)\.[A-Za-z0-9_-]*"
)
_KEY: Final = "crypto-key"
_WITHIN: Final = " within "
"""Stands before the top site in ``Lost.what`` if a frame stored the item. No slice holds such storage."""
_SOON_S: Final = 86_400
_LOGOUT: Final = re.compile(
    r"(?:log|sign)[ -]?(?:me )?(?:out|off)|logout|signout"
    r"|abmelden|ausloggen|(?:se )?d[ée]connecter|(?:me )?d[ée]connexion|cerrar sesi[óo]n|salir|esci|disconnetti|sair"
    r"|uitloggen|afmelden|logga ut|log ud|logg ut|wyloguj(?: si[ęe])?",
    re.IGNORECASE,
)

_ALL: Final = r"(?:(?:of |from |on |in )?all (?:(?:my|your|active) )?(?:devices|sessions|browsers))"
_EVERYWHERE: Final = re.compile(  # not “all other devices”, which leaves this login as it is
    rf"(?:(?:log|sign)[ -]?(?:me )?(?:out|off)|logout|signout) (?:everywhere|{_ALL})|end all sessions"
    r"|(?:überall|(?:von|auf|aus) allen (?:geräten|sitzungen)) (?:abmelden|ausloggen)"
    r"|(?:se )?d[ée]connecter (?:partout|de tous les appareils)|cerrar (?:todas las sesiones|sesi[óo]n en todos los dispositivos)"
    r"|(?:esci|disconnetti) da tutti i dispositivi|overal (?:uitloggen|afmelden)",
    re.IGNORECASE,
)


class TravelFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A fact about a login that affects whether, or how long, it works elsewhere."""

    kind: Literal[
        "lost",
        "key-bound",
        "sliced",
        "basic",
        "session-storage",
        "partitioned-storage",
        "partitioned-cookie",
        "ends-soon",
        "ended",
        "in-clear",
        "size",
    ]
    travels: bool
    """True if the other browser has it nevertheless."""
    what: str
    """Its place: hosts and names, never a value."""


def findings(state: CapsuleState, *, now_s: int) -> tuple[TravelFinding, ...]:
    """The findings about ``state``, gravest first."""
    found = [*_bound(state), *_untaken(state), *_cookies(state, now_s)]
    for login in state.basic:
        found.append(TravelFinding(kind="basic", travels=True, what=login.origin))
        if login.origin.startswith("http://"):
            found.append(TravelFinding(kind="in-clear", travels=True, what=f"{login.origin}: basic authentication"))
    for stored in state.storage:
        size = sum(_size(entry) for base in stored.databases for store in base.stores for entry in store.entries)
        if size > limits.CAPSULE_STATE_BYTES_MAX // 4:
            found.append(TravelFinding(kind="size", travels=True, what=f"{stored.origin}: IndexedDB of {size} bytes"))
    return tuple(sorted(found, key=lambda each: each.travels))


def _bound(state: CapsuleState) -> Iterator[TravelFinding]:
    for lost in state.lost:
        if is_carried(state, lost):
            what = f"{lost.origin}: {lost.what}, in version {state.slice.version} of the browser alone"
            yield TravelFinding(kind="sliced", travels=True, what=what)
            continue
        kind: Literal["key-bound", "lost"] = "key-bound" if lost.what.startswith(_KEY) else "lost"
        yield TravelFinding(kind=kind, travels=False, what=f"{lost.origin}: {lost.what}")
    if any(each.what.startswith(_KEY) and is_carried(state, each) for each in state.lost):
        return  # the key travels in the profile; a fresh browser will show if it is the one that the token names
    for cookie in state.cookies:
        if _is_bound(cookie.value):
            yield TravelFinding(kind="key-bound", travels=False, what=f"{cookie.domain}: cookie {cookie.name}")
    for stored in state.storage:
        for item in (*stored.local, *stored.session):
            if _is_bound(item.value):
                yield TravelFinding(kind="key-bound", travels=False, what=f"{stored.origin}: entry {item.name}")


def is_carried(state: CapsuleState, lost: Lost) -> bool:
    """True if the files of the profile hold a key or Blob of a page that the capture could not take."""
    kept = lost.what.startswith((_KEY, "blob")) and _WITHIN not in lost.what
    return kept and state.slice.has(origin_of(lost.origin))


def _untaken(state: CapsuleState) -> Iterator[TravelFinding]:
    for stored in state.storage:
        if stored.key:
            site = site_on_top(stored.origin, stored.key)
            what = f"{stored.origin} within {site or stored.key}"
            yield TravelFinding(kind="partitioned-storage", travels=bool(site), what=what)
        elif stored.session:
            names = ", ".join(item.name for item in stored.session[:8])
            yield TravelFinding(kind="session-storage", travels=True, what=f"{stored.origin}: {names}")


def _cookies(state: CapsuleState, now_s: int) -> Iterator[TravelFinding]:
    for cookie in state.cookies:
        what = f"{cookie.domain}: cookie {cookie.name}"
        if cookie.expires_s and cookie.expires_s <= now_s:
            yield TravelFinding(kind="ended", travels=False, what=what)
        elif cookie.expires_s and cookie.expires_s <= now_s + _SOON_S:
            yield TravelFinding(kind="ends-soon", travels=True, what=what)
        if cookie.partition:
            yield TravelFinding(kind="partitioned-cookie", travels=True, what=f"{what} within {cookie.partition}")
        if not cookie.secure:
            yield TravelFinding(kind="in-clear", travels=True, what=what)


def _is_bound(value: str) -> bool:
    """True if a web token in ``value`` names a key that its bearer must prove to have (RFC 7800, ``cnf``)."""
    for match in _WEB_TOKEN.finditer(value[: limits.CAPSULE_COOKIE_CHARS_MAX * 4]):
        body = match[1]
        try:
            said: Any = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (ValueError, RecursionError):
            continue
        if isinstance(said, dict) and "cnf" in said:
            return True
    return False


def _size(entry: ObjectStoreRecord) -> int:
    return len(entry.key) + len(entry.value)


def asks_to_log_in(page: Observation) -> bool:
    """True if a page has a field for a password."""
    return any(each.traits.input_type == "password" for each in page.elements)


def standing(
    seen: Observation,
    strangers: Sequence[Observation],
    shows: str = "",
    *,
    answers: bool = False,
    refused: bool = False,
) -> tuple[Standing, str]:
    """The reaction of a site to a login, and its reason.

    seen: the page in a fresh browser with the login. strangers: the page in fresh browsers without it, at least one. shows: a text
    that the page shows only after a login. answers: True if basic authentication let the login pass and strangers were asked for
    it. refused: True if the site refused the credentials for it.
    """
    if refused:
        return "dead", "the site does not take the user name and the password for its basic authentication"
    if shows:
        held = shows in seen.text
        return ("alive", f"the page says “{shows}”") if held else ("dead", f"the page does not say “{shows}”")
    if answers and not asks_to_log_in(seen):
        return "alive", "a browser without the login is asked for basic authentication"
    elsewhere = all(seen.url.partition("?")[0] != each.url.partition("?")[0] for each in strangers)
    if all(map(asks_to_log_in, strangers)):
        if not asks_to_log_in(seen) or elsewhere:
            return "alive", "a browser without the login is asked to log in"
        return "dead", "the page asks to log in"
    if elsewhere:
        return "alive", "a browser without the login is sent elsewhere"
    # If the page differs from visit to visit, a difference here proves nothing.
    if len({each.state for each in strangers}) == 1 and seen.state != strangers[0].state:
        return "alive", "a browser without the login sees another page"
    return "unknown", "a browser without the login sees the same page"


def logout_control(page: Observation, *, everywhere: bool = False) -> Element | None:
    """The control that logs out, if the name of one says so.

    Preferred are, in order: one that ends this login only, or with ``everywhere`` the logins of all devices; links and buttons of
    forms; the first on the page.
    """
    named = [each for each in page.elements if each.role in ("link", "button", "menuitem") and not each.frame]
    found = [(all_of_them, each) for each in named if (all_of_them := _logs_out(each.name)) is not None]
    usual = min(found, key=lambda pair: (pair[0] != everywhere, not _leads(pair[1])), default=None)
    return usual[1] if usual else None


def _logs_out(name: str) -> bool | None:
    """True if a control of this name ends the logins of all devices, False if only this one; None if it does not log out."""
    said = " ".join(name.split())
    if _EVERYWHERE.fullmatch(said):
        return True
    return False if _LOGOUT.fullmatch(said) else None


def _leads(control: Element) -> bool:
    return bool(control.url) or control.traits.submits


def place_of(page: Observation, control: Element) -> int:
    """The place of ``control`` among the elements with its role and name, from 0."""
    alike = [each.ref for each in page.elements if (each.role, each.name) == (control.role, control.name)]
    return alike.index(control.ref)


def verdict_of(found: Standing, notes: Sequence[TravelFinding], *, offered: bool) -> Verdict:
    """The verdict that follows from the standing and the findings."""
    if found == "dead":
        return "dead"
    if any(each.kind == "key-bound" for each in notes):
        return "software-bound"
    if found == "unknown":
        return "unknown"
    return "offered" if offered else "portable"
