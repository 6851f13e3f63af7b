"""Where a press needs no yes: what it does inside its page changes nothing for anybody, and each message out is judged by itself.

A control says “Delete” in some language, or says nothing: the guard holds its POST all the same. So a press is refused for what its
control says only where the guard cannot judge each message singly, or does not see what acts (docs/adr/0066-judge-what-leaves.md).
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from protocol.page.action import Action, Check, Click, Drag, Fill, Press, Secret, Select
from protocol.page.observation import Element
from protocol.risk.judgement import GRAVE_CLASS, Risk
from protocol.risk.requests import GuardPolicy
from protocol.risk.sites import rule_at

_ONE_ADDRESS: Final = frozenset({"graphql", "gql", "rpc", "jsonrpc", "xmlrpc", "trpc", "livewire", "batch", "$batch", "soap"})
"""Segments of addresses at which one site takes all its commands: which one is sent stands in the body."""
_PRESSES: Final = Click | Check | Fill | Select | Press | Drag


def said(risk: Risk) -> int:
    """The gravest class that anything about an action speaks for, 1 to 7, also what decided nothing."""
    return max([risk.level, *(each.level for each in risk.evidence)])


def channel(guard: GuardPolicy, url: str) -> str:
    """What lets many commands leave the page at ``url`` unjudged, in a few words; empty if each message is judged by itself."""
    if not guard.read_only:
        return "writes are not judged here"
    index = rule_at(guard.sites, url)
    rule = None if index is None else guard.sites[index]
    if any(entry.upper().startswith("WS ") for entry in guard.allow) or (rule is not None and rule.connect):
        return "a WebSocket is allowed, over which anything is sent"
    sends = (*guard.allow, *(rule.post if rule is not None else ()))
    if wide := next((entry for entry in sends if "*" in entry), ""):
        return f"“{wide}” allows more than one address"
    if one := next((entry for entry in sends if _ONE_ADDRESS & _segments(entry)), ""):
        return f"“{one}” takes every command of the site"
    return ""


def _segments(entry: str) -> frozenset[str]:
    """Those of the path of ``METHOD address``, in lower case, without endings."""
    path = urlsplit(entry.partition(" ")[2].strip()).path.lower()
    return frozenset(each.partition(".")[0] for each in path.split("/"))


def needs_yes(action: Action, element: Element | None, risk: Risk, guard: GuardPolicy, url: str, *, chosen: bool) -> str:
    """Why ``action`` on the page at ``url`` needs a yes where its class does; empty if it needs none, whatever its class.

    chosen: a program chose it, as in a search: that presses nothing of grave words.
    """
    if not isinstance(action, _PRESSES) or (isinstance(action, Fill) and isinstance(action.value, Secret)):
        return "it is more than a press"
    if said(risk) < GRAVE_CLASS:
        return ""
    if chosen:
        return "a search presses nothing that sounds like it"
    if _reads_by_address(action, element):
        return "a GET may be an order without saying so"
    return channel(guard, url)


def _reads_by_address(action: Action, element: Element | None) -> bool:
    """Whether a press sends a GET: its address may be an order without saying so."""
    if element is None or not isinstance(action, Click | Press):
        return False
    by_get = element.traits.submits and element.traits.form_method == "get"
    return bool(by_get or element.url)
