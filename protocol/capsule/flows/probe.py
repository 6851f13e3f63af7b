"""By what one page shows whether a site takes a login: found out when the login is captured, asked before each use. Pure.

A capture compares a browser with the login to one without it. What differed is kept, so that later one look is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from protocol import limits
from protocol.capsule.flows.login import Look, asks_for_login
from protocol.capsule.flows.portability import Standing, logout_control
from protocol.goal.condition import Condition, holds
from protocol.page.seen.observation import Observation

Proven = Literal["proven", "unknown"]
"""What a capture found: a fresh browser with the login was taken for who has logged in, or nothing showed whether it was."""


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What tells the page of a login from the page of a stranger. All empty: nobody knows."""

    until: Condition | None = None
    """Holds with the login, and not without it."""
    asks: bool = False
    """A stranger is asked for a password or a code, and who is logged in is not."""
    leads: Annotated[str, msgspec.Meta(max_length=limits.URL_CHARS_MAX)] = ""
    """Where a stranger is led, without query; empty if the page stays where it is."""
    refused: bool = False
    """A stranger is led to where the browser may not go, as to a site that does logins."""
    challenged: bool = False
    """A stranger is asked for HTTP basic authentication, which the login answers."""
    leaves: bool = False
    """The page has a control that logs out, which a stranger does not see."""

    @property
    def decides(self) -> bool:
        """Whether one look at the page tells a login from none."""
        return self.until is not None or self.asks or self.challenged or self.refused or bool(self.leads)


def learned(without: Sequence[Look], given: Observation, until: Condition | None) -> Probe:
    """What tells ``given`` from what browsers without the login got."""
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
    """Whether ``seen`` shows that the site takes the login.

    page: the address that ``probe`` is about; asked: the address that was opened. Of another address, only what can mean
    nothing else counts: the rest is ``unknown``.
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
    """An address without query and fragment: what stands there may be of one visit, or a secret."""
    return url.partition("#")[0].partition("?")[0]
