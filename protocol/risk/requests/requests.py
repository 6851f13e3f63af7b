"""The network guard's judgement of the requests that a browser may send."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import msgspec

from protocol.kinds import Plain
from protocol.risk.addresses.addresses import destructive_url
from protocol.risk.addresses.opaque import holds_card, is_opaque
from protocol.risk.reads import reads_by_form
from protocol.risk.requests.allowed import allows
from protocol.risk.requests.destinations import judge_destination, literal_address
from protocol.risk.requests.refused import CAPSULE, CARD, FILE, OPAQUE, TYPED
from protocol.risk.requests.sites import REFUSED, SiteRule, judge_site
from protocol.trust.origin import ANY, fits, origin_of

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "PROPFIND", "QUERY", "REPORT", "SEARCH"})
"""Methods that only read: the safe methods of IANA's HTTP method registry, without TRACE, which no page can send."""


EVERY_CLASS: Final = 7
"""The highest class."""


class GuardPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The requests that a browser context may send."""

    read_only: bool = True
    """Refuse requests with methods other than ``SAFE_METHODS``, unless they are allowed below or known to only read by their
    form.
    """
    allow: tuple[Plain, ...] = ()
    """``METHOD URL-glob`` pairs that are allowed although they are not GET, for example ``POST https://shop.example/login``."""
    origins: tuple[Plain, ...] = ()
    """Patterns of the origins that may be contacted (``protocol.trust.origin``); empty allows every origin."""
    private: tuple[Plain, ...] = (ANY,)
    """Patterns of the origins among them that may be on this machine or in a private network
    (``protocol.risk.requests.destinations``).
    """
    sites: tuple[SiteRule, ...] = ()
    """The owner's rules for single sites."""
    capsule: bool = False
    """True if ``origins`` were narrowed to those of a capsule; a refusal for its origin then says so."""
    class_max: int = EVERY_CLASS
    """The highest class of a request that changes something and may leave, whoever allows it. The policy of a mounted capsule sets
    it. Up to class 3 only reads leave, because every other request has at least class 4.
    """


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
    carries: bool = False,
) -> str | None:
    """The reason why ``policy`` refuses a request; None if it may be sent.

    resource_type: the browser's name for it, in lower case (``document``, ``fetch``, ``image`` …).
    body_text, content_type: the body and its declared type; the body is None if it is no text or too long.
    announced: for a CORS preflight, which no script can forge, the method that it announces. A preflight carries neither a body
    nor cookies, so it may be sent if the announced request may; the body of an announced POST is judged later.
    replaced_by: the method in a header that overrides the real one (``X-HTTP-Method-Override``). Sites that ignore the header use
    the real method, so both methods must be permitted.
    commanded: True if a header selects the operation of a POST (``Next-Action``), so that its address and body do not tell.
    grave: True if a control with grave words is taking effect, so that an unreadable address may be its order.
    tells: True if the address contains a secret that was typed. carries: True if address or body hold content of a file that was
    handed to the page.
    Checks in order: scheme; a readable address; origin; an IP address as host; the allow list; the rule of the site; method; the
    address.
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
        return f"address: {word}" if word else _hidden_order(url, grave=grave, tells=tells, carries=carries)
    # The body of the announced POST is not known yet; the POST itself is judged when it comes.
    reads = not (word or commanded or carries) and (
        bool(announced) or _reads(url, is_navigation, content_type, body_text)
    )
    return None if reads else "method"


def _hidden_order(url: str, *, grave: bool, tells: bool, carries: bool) -> str | None:
    """The rule that refuses an address although it contains no order."""
    if tells or holds_card(url):
        return TYPED if tells else CARD
    if carries:
        return FILE
    return OPAQUE if grave and is_opaque(url) else None


def _reads(url: str, is_navigation: bool, content_type: str, body: str | None) -> bool:
    """True if a POST only reads. A navigation sends a form, so any other body in a navigation was forged."""
    if is_navigation and content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        return False
    return bool(reads_by_form("POST", url, content_type, body))
