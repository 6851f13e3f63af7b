"""The network guard's judgement: which requests a browser may send, whatever caused them."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec

from protocol.risk.addresses.addresses import destructive_url
from protocol.risk.addresses.opaque import holds_card, is_opaque
from protocol.risk.reads import reads_by_form
from protocol.risk.requests.allowed import allows
from protocol.risk.requests.destinations import judge_destination, literal_address
from protocol.risk.requests.refused import CAPSULE, CARD, OPAQUE, TYPED
from protocol.risk.requests.sites import REFUSED, SiteRule, judge_site
from protocol.trust.origin import ANY, fits, origin_of

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "PROPFIND", "QUERY", "REPORT", "SEARCH"})
"""Methods that only read: those that the HTTP method registry of IANA calls safe, without TRACE, which no page can send."""


EVERY_CLASS: Final = 7
"""The highest class: nothing is graver."""


class GuardPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which requests a browser context may send."""

    read_only: bool = True
    """Refuse requests by other methods than ``SAFE_METHODS``, unless allowed below or known to read by their form."""
    allow: tuple[str, ...] = ()
    """``METHOD URL-glob`` pairs that are allowed although not GET, for example ``POST https://shop.example/login``."""
    origins: tuple[str, ...] = ()
    """Patterns of the origins that may be contacted (``protocol.trust.origin``); empty allows every origin."""
    private: tuple[str, ...] = (ANY,)
    """Patterns of those among them that may lie on this machine or in a private network
    (``protocol.risk.requests.destinations``)."""
    sites: tuple[SiteRule, ...] = ()
    """The owner's rules for single sites."""
    capsule: bool = False
    """True if ``origins`` were narrowed to those of a capsule: what is refused for its origin is then told so."""
    class_max: int = EVERY_CLASS
    """The gravest class of a request that changes something and may leave, whoever allows it: the policy of a mounted capsule. Up
    to 3 nothing but reads leave, since every other request is of class 4 at least."""


def judge_request(
    method: str,
    url: str,
    resource_type: str,
    is_navigation: bool,
    body_text: str | None,
    policy: GuardPolicy,
    *,
    announced: str = "",
    content_type: str = "application/json",
    replaced_by: str = "",
    commanded: bool = False,
    grave: bool = False,
    tells: bool = False,
) -> str | None:
    """Why ``policy`` refuses a request; None if it may be sent.

    resource_type: as the browser names it, lower case (``document``, ``fetch``, ``image`` …).
    body_text, content_type: the body, None if it is none of text or too long, and what the request says of it.
    announced: of a CORS preflight (no script can make one up) the method it asks for. It brings the site neither a body nor
    cookies, so it may be sent where the request it announces may; of a POST the body is judged when it comes.
    replaced_by: the method that a header puts in the place of the real one (``X-HTTP-Method-Override``). A site that knows the
    header does that, any other one what the real method says; so both must be permitted.
    commanded: whether a header names what a POST does (``Next-Action``). Its address and its body do not tell then.
    grave: whether a control of grave words is at work, so that an address that nobody can read may be its order.
    tells: whether a secret that was typed stands in the address.
    Checks in order: scheme; an address that can be read; origin; a host that is an IP address; the allow list; the rule of the
    site; method; the address.
    """
    scheme, _, rest = url.partition(":")
    # These load nothing from the network.
    if scheme.lower() in ("data", "blob") or (scheme == "about" and rest in ("blank", "srcdoc")):
        return None
    if scheme.lower() not in ("http", "https"):
        return "scheme"
    try:
        urlsplit(url)
    except ValueError:
        return "address"
    if policy.origins and not fits(policy.origins, origin_of(url)):
        return CAPSULE if policy.capsule else "origin"
    literal = literal_address(url)
    if literal and (refused := judge_destination(url, literal, policy.private)):
        return refused
    if not policy.read_only:
        return None
    verbs = {verb.strip().upper() for verb in (announced or method, replaced_by) if verb}
    if all(any(allows(entry, verb, url) for entry in policy.allow) for verb in verbs):
        return None
    by_site = {judge_site(policy.sites, verb, url, resource_type) for verb in verbs}
    if REFUSED in by_site:
        return REFUSED
    if by_site == {""}:
        return None
    if not verbs <= SAFE_METHODS | {"POST"} or (replaced_by and "POST" in verbs):
        return "method"
    word = destructive_url(url, resource_type)
    if "POST" not in verbs:
        return f"address: {word}" if word else _hidden_order(url, grave=grave, tells=tells)
    # The body of the announced POST is not known yet; the POST itself is judged when it comes.
    reads = not word and not commanded and (bool(announced) or _reads(url, is_navigation, content_type, body_text))
    return None if reads else "method"


def _hidden_order(url: str, *, grave: bool, tells: bool) -> str | None:
    """The rule for which an address may not be asked for although it says no order."""
    if tells or holds_card(url):
        return TYPED if tells else CARD
    return OPAQUE if grave and is_opaque(url) else None


def _reads(url: str, is_navigation: bool, content_type: str, body: str | None) -> bool:
    """True if a POST only reads. A navigation sends a form; what looks like anything else there was made to look so."""
    if is_navigation and content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return False
    return bool(reads_by_form("POST", url, content_type, body))
