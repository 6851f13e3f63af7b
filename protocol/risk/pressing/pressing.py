"""Decides when a press needs no yes: its effect inside the page changes nothing for anybody, and each outgoing message is judged
by itself.

A control may say “Delete” in any language, or nothing: the guard holds its POST all the same. So a press is refused for its text
only if a message other than a read may leave unjudged, or if no message shows the operation (docs/adr/0066-judge-what-leaves.md).
"""

from __future__ import annotations

from typing import Final

import msgspec

from protocol.page.actions.action import Action, Check, Click, Drag, Evaluate, Fill, Press, Secret, Select, Upload
from protocol.page.seen.observation import Element
from protocol.risk.addresses.letters import decoded
from protocol.risk.addresses.opaque import is_opaque
from protocol.risk.addresses.segments import words_in
from protocol.risk.judgement import APPROVAL_CLASS, GRAVE_CLASS, WRITE_CLASS, Risk
from protocol.risk.requests.requests import GuardPolicy
from protocol.risk.requests.sites import rule_at
from protocol.risk.words import asks

BY_ADDRESS: Final = "a GET may be an order without saying so"
MANY: Final = "what may be sent here can be any command"
_ONE_ADDRESS: Final = frozenset(
    {
        "graphql",
        "gql",
        "rpc",
        "jsonrpc",
        "json-rpc",
        "xmlrpc",
        "xmlrpc.php",
        "trpc",
        "livewire",
        "batch",
        "$batch",
        "_batch",
    }
)
"""Segments of addresses that accept every command of a site."""
CHOSEN: Final = "a search presses nothing that sounds like it"
UNSURE: Final = "the capsule lets nothing be pressed that is not known to read only"
_TITLE_WORD_CHARS: Final = 4
PRESSES: Final = Click | Check | Fill | Select | Press | Drag | Upload | Evaluate
_UNREAD: Final = Upload | Evaluate
"""Actions of which no text says what they lead to."""


def only_reads(guard: GuardPolicy) -> bool:
    """True if ``guard`` lets only reads leave. A page may send to any site, so the rules of all sites count."""
    return guard.read_only and not guard.allow and not any(rule.post or rule.connect for rule in guard.sites)


def reading(guard: GuardPolicy) -> GuardPolicy:
    """``guard`` without the requests that it allows by name."""
    sites = tuple(msgspec.structs.replace(rule, post=(), connect=()) for rule in guard.sites)
    return msgspec.structs.replace(guard, read_only=True, allow=(), sites=sites)


def carries_many(guard: GuardPolicy) -> bool:
    """True if the owner has allowed a way out with many kinds of commands, so that a message tells too little about its effect: a
    socket, an entry with a wildcard, or an address that accepts every command of a site.
    """
    entries = (*guard.allow, *(entry for rule in guard.sites for entry in rule.post))
    opened = any("*" in entry or not _ONE_ADDRESS.isdisjoint(entry.lower().split("/")) for entry in entries)
    return not guard.read_only or opened or any(rule.connect for rule in guard.sites)


def needs_yes(action: Action, element: Element | None, risk: Risk, guard: GuardPolicy, *, chosen_at: str = "") -> str:
    """The reason why ``action`` needs a yes for its class; empty if it needs none, whatever its class.

    chosen_at: the page's address if a program chose the action, as a search does. A program presses no control with grave words.
    """
    if not isinstance(action, PRESSES) or (isinstance(action, Fill) and isinstance(action.value, Secret)):
        return "it is more than a press"
    if risk.gravest >= GRAVE_CLASS and carries_many(guard):
        return MANY
    if isinstance(action, _UNREAD) and (carries_many(guard) or any(entry.startswith("WS ") for entry in guard.allow)):
        return MANY  # nobody looks into what a socket carries
    index = rule_at(guard.sites, chosen_at)
    if chosen_at and index is not None and not guard.sites[index].probe:
        return "the rule of this site keeps searches from pressing what is not understood"
    if risk.gravest < GRAVE_CLASS or not _is_said(element, risk):
        return ""
    if chosen_at:
        return "" if element is not None and _is_text(element) else CHOSEN
    return BY_ADDRESS if _reads_by_address(action, element) else ""


def surely_reads(action: Action, risk: Risk) -> bool:
    """True if ``action`` is no press, or if the browser guarantees that the press only reads: it follows a link, sends a form that
    states a GET, or opens a part of the page.
    """
    return not isinstance(action, PRESSES) or (risk.sure and risk.level < WRITE_CLASS)


def raised(risk: Risk, why: str) -> Risk:
    """The risk to show when a yes is needed for the reason ``why``. For a GET that may be an order, and for a search, the text
    counts even for a link or a form that only reads.
    """
    if why == UNSURE:
        return msgspec.structs.replace(risk, level=max(risk.level, APPROVAL_CLASS))
    if why not in (BY_ADDRESS, CHOSEN) or risk.gravest <= risk.level:
        return risk
    gravest = max(risk.evidence, key=lambda each: each.level)
    return msgspec.structs.replace(risk, level=gravest.level, reason=gravest.says)


def is_grave(action: Action, risk: Risk) -> bool:
    """True if ``action`` is a press with any grave evidence, hands over a file or runs a script. An unreadable address may then
    be an order, or hold the file.
    """
    return isinstance(action, _UNREAD) or (isinstance(action, PRESSES) and risk.gravest >= GRAVE_CLASS)


def _is_said(element: Element | None, risk: Risk) -> bool:
    """True if certain evidence is grave, or if uncertain evidence comes from more than one word: “Out” alone tells too little."""
    certain = risk.level >= GRAVE_CLASS or any(each.certain and each.level >= GRAVE_CLASS for each in risk.evidence)
    return certain or element is None or len(words_in(element.name)) > 1 or not element.name.isascii()


def _reads_by_address(action: Action, element: Element | None) -> bool:
    """True if a press sends a GET to an address that looks like a page but may be an order. An unreadable address does not count,
    because it is stopped when it leaves; nor does an address that repeats the link's text or is a question, because it belongs
    to a text.
    """
    if element is None or not isinstance(action, Click | Press | Upload):
        return False
    if element.traits.submits and element.traits.form_method == "get":
        return True
    return bool(element.url) and not is_opaque(element.url) and not _is_title(element)


def _is_text(element: Element) -> bool:
    """True if ``element`` is a link to a text with the link's words as its title, or to the answer to a question."""
    return bool(element.link) and not is_opaque(element.url) and _is_title(element)


def _is_title(element: Element) -> bool:
    named = {word for word in words_in(element.name) if len(word) >= _TITLE_WORD_CHARS}
    return asks(element.name) or (bool(named) and named <= set(words_in(decoded(element.url))))
