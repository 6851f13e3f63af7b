"""The probe of a login: the signs by which one page shows if the site accepts it. It is learned at the capture and used before each
use. Pure.

A capture compares a browser with the login to one without it. The differences are kept, so that later one look is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from protocol import limits
from protocol.capsule.flows.login import Look, asks_for_login
from protocol.capsule.flows.portability import Standing, logout_control
from protocol.goal.condition import Condition, holds
from protocol.kinds import PageAddress
from protocol.page.seen.observation import Observation

Proven = Literal["proven", "unknown"]
"""The result of a capture: the site accepted the login in a fresh browser, or nothing showed if it did."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """The differences between the page of a login and the page of a stranger. If all are empty, none is known."""

    until: Condition | None = None
    """A condition that the page meets only with the login."""
    asks: bool = False
    """True if only a stranger is asked for a password or a code."""
    leads: Annotated[PageAddress, msgspec.Meta(max_length=limits.URL_CHARS_MAX)] = ""
    """The address to which a stranger is redirected, without query; empty if there is no redirect."""
    refused: bool = False
    """True if a stranger is redirected to where the browser may not go, for example to a login site."""
    challenged: bool = False
    """True if a stranger is asked for HTTP basic authentication, which the login answers."""
    leaves: bool = False
    """True if the page has a control that logs out, which a stranger does not see."""

    @property
    def decides(self) -> bool:
        """True if one look at the page can tell a login from none."""
        return self.until is not None or self.asks or self.challenged or self.refused or bool(self.leads)


def learned(without: Sequence[Look], given: Observation, until: Condition | None) -> Probe:
    """The differences between ``given`` and the looks of browsers without the login."""
    if until is not None:
        return Probe(until=until)
    seen = [look.seen for look in without if look.seen is not None]
    asks = len(seen) == len(without) and all(map(asks_for_login, seen)) and not asks_for_login(given)
    led = {plain(page.url) for page in seen}
    leads = led.pop() if len(led) == 1 else ""
    left = logout_control(given) is not None and not any(map(logout_control, seen))
    refused = bool(without) and all(look.failed == "browser.refused" for look in without)
    leads = "" if leads == plain(given.url) else leads
    challenged = bool(without) and all(look.challenged for look in without)
    return Probe(asks=asks, leads=leads, refused=refused, challenged=challenged, leaves=left)


def judge_page(probe: Probe, page: str, asked: str, seen: Observation) -> Standing:
    """Judge by ``seen`` whether the site accepts the login. page: the address that ``probe`` is about. asked: the address that was
    opened.

    If it is another one, only unambiguous signs count: anything else is ``unknown``.
    """
    there = plain(asked) == plain(page)
    if probe.until is not None:
        held = holds(probe.until, seen)
        return "alive" if held else "dead" if there else "unknown"
    led = bool(probe.leads) and plain(seen.url) == probe.leads != plain(asked)
    if led and (there or asks_for_login(seen)):
        return "dead"
    if there and probe.asks and asks_for_login(seen):
        return "dead"
    if (there and probe.decides) or (probe.leaves and logout_control(seen) is not None):
        return "alive"
    return "unknown"


def plain(url: str) -> str:
    """An address without query and fragment, which may belong to one visit or hold a secret."""
    return url.partition("#")[0].partition("?")[0]
