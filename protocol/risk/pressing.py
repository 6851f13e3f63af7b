"""Where a press needs no yes: what it does inside its page changes nothing for anybody, and each message out is judged by itself.

A control says “Delete” in some language, or says nothing: the guard holds its POST all the same. So a press is refused for what its
control says only where something else than a read may leave, or where no message tells of the deed
(docs/adr/0066-judge-what-leaves.md).
"""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.page.action import Action, Check, Click, Drag, Fill, Press, Secret, Select
from protocol.page.observation import Element
from protocol.risk.judgement import GRAVE_CLASS, Risk
from protocol.risk.requests import GuardPolicy

PRESSES: Final = Click | Check | Fill | Select | Press | Drag


def said(risk: Risk) -> int:
    """The gravest class that anything about an action speaks for, 1 to 7, also what decided nothing."""
    return max([risk.level, *(each.level for each in risk.evidence)])


def only_reads(guard: GuardPolicy) -> bool:
    """True if ``guard`` lets nothing but reads leave. A page may send to any site, so the rules of all sites count."""
    return guard.read_only and not guard.allow and not any(rule.post or rule.connect for rule in guard.sites)


def reading(guard: GuardPolicy) -> GuardPolicy:
    """``guard`` without what may be sent by name."""
    sites = tuple(msgspec.structs.replace(rule, post=(), connect=()) for rule in guard.sites)
    return msgspec.structs.replace(guard, read_only=True, allow=(), sites=sites)


def needs_yes(action: Action, element: Element | None, risk: Risk, guard: GuardPolicy) -> str:
    """Why ``action`` needs a yes where its class does; empty if it needs none, whatever its class."""
    if not isinstance(action, PRESSES) or (isinstance(action, Fill) and isinstance(action.value, Secret)):
        return "it is more than a press"
    if not only_reads(guard):
        return "requests that write are allowed here"
    if said(risk) < GRAVE_CLASS:
        return ""
    return "a GET may be an order without saying so" if _reads_by_address(action, element) else ""


def _reads_by_address(action: Action, element: Element | None) -> bool:
    """Whether a press sends a GET: its address may be an order without saying so."""
    if element is None or not isinstance(action, Click | Press):
        return False
    by_get = element.traits.submits and element.traits.form_method == "get"
    return bool(by_get or element.url)
