"""Requests that the network guard refused: their record, the error of a refused navigation, and the remedy.

A rule is the answer of ``judge_request`` or ``judge_destination``, or one of the rules below.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import WITHHELD
from protocol.risk.requests.allowed import ALLOWED_REQUEST_PATTERN
from protocol.risk.requests.sites import REFUSED

SOCKET: Final = "socket"
"""Rule: no entry allows the WebSocket."""
SOCKET_FULL: Final = "socket limit"
"""Rule: a WebSocket had too much traffic, or a page opened too many."""
STREAM_FULL: Final = "stream limit"
"""Rule: the EventSources of a page received too much from one address, or were opened at too many addresses."""
WINDOW: Final = "window"
"""Rule: a window beside the page sends nothing."""
CAPSULE: Final = "capsule"
"""Rule: while a capsule is mounted, only its origins may be contacted."""
CAPSULE_CLASS: Final = "capsule class"
"""Rule: while a capsule is mounted, no request of a higher class than it allows may leave."""
UNSEEN: Final = "unseen"
"""Rule: a feature of the browser tried to send it without the guard, and the tunnel refused it."""
UNLISTED: Final = "unlisted"
"""Rule: the recording of the step lists no such request, or lists it once and it has left already."""
UNASKED: Final = "unasked"
"""Rule: no step caused it, so no recording lists it: the page sent it while it loaded, or by a timer. It does not affect the
result.
"""
OPAQUE: Final = "address: opaque"
"""Rule: a control with grave words is taking effect, and the address is unreadable."""
TYPED: Final = "address: typed secret"
"""Rule: the address contains a secret that was typed."""
FILE: Final = "address: file"
"""Rule: the address contains content of a file that was handed to the page."""
CARD: Final = "address: card"
"""Rule: the address contains the number or the code of a card, or an IBAN."""
_GRAVER: Final = "class "
"""Rule, followed by the class: the request was allowed by name, but nobody has approved its class."""
_ALLOWABLE: Final = ("method", "address:")
"""Rules that are checked after the allow list, so ``--allow`` overrides them. The same is true for ``SOCKET``."""
_PASTED: Final = re.compile(r"https?://[A-Za-z0-9._:-]+/[A-Za-z0-9/._~%=+-]*\Z")
_UNALTERABLE: Final = (
    CAPSULE,
    CAPSULE_CLASS,
    "origin",
    REFUSED,
    "private address",
    "address of no site",
    SOCKET_FULL,
    STREAM_FULL,
    UNSEEN,
    UNLISTED,
    UNASKED,
)
"""Rules that ``--allow`` does not override, the most informative first."""
_MEANINGS: Final = {
    "origin": "it is not among the origins that may be visited",
    CAPSULE: "the capsule that is mounted is not for its origin",
    CAPSULE_CLASS: "the capsule that is mounted allows nothing so grave, whoever approves",
    "private address": "it lies on this machine or in a private network, and no origin names it",
    "address of no site": "its address is link-local, of a cloud metadata service, or otherwise of no site",
    "scheme": "only http and https are loaded",
    "address": "its address cannot be read",
    "method": "it is not sent by GET, and not known to read only",
    OPAQUE: "what was pressed sounds grave, and its address says nothing that can be read, so opening it may be the order",
    TYPED: "its address holds a secret that was typed",
    FILE: "its address holds content of a file that was handed to the page",
    CARD: "its address holds the number or the code of a card, or an IBAN",
    SOCKET: "no entry allows the WebSocket",
    SOCKET_FULL: "more went over a WebSocket than is passed on, or a page opened too many",
    STREAM_FULL: "more events came to an EventSource than are passed on, or a page opened too many",
    UNSEEN: "the browser wanted to send it by itself, where no request of the page was judged",
    UNLISTED: "the recording does not list it",
    UNASKED: "no step caused it",
    REFUSED: "the rule of this site in `policy.sites` does not list it (`trailmesh policy explain`)",
}


class Refused(NamedTuple):
    """One refused request, created by ``refused``."""

    method: str
    site: str
    path: str
    rule: str


def refused(method: str, url: str, rule: str) -> Refused:
    """The request without its query, which may contain data of the page."""
    return Refused(method, site_of(url), _path(url), rule)


def site_of(url: str) -> str:
    """Scheme, host and port of any address, without user and password; unreadable parts are left out."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}" if port is None else f"{parts.scheme}://{host}:{port}"


def request_line(request: Refused, page_url: str = "") -> str:
    """The request in recorded form: ``METHOD /path`` at the origin of the page, otherwise ``METHOD https://host/path``.

    Without the host, a request for a metadata service would look like one for a missing picture of the site.
    """
    # A WebSocket has a scheme of its own, but the same origin.
    same = bool(page_url) and _as_web(request.site) == site_of(page_url)
    return f"{request.method} {'' if same else request.site}{request.path}"


def navigation_refused(request: Refused, before: Iterable[str] = ()) -> MeshError:
    """The error for a page that the guard did not let the browser open. Its detail names sites without paths.

    before: the sites through which redirects led before.
    """
    site = request.site or "an address that cannot be read"
    chain = [*before, site]
    chain = [each for place, each in enumerate(chain) if not place or each != chain[place - 1]]
    way = f" (it was led there: {' → '.join(chain)})" if len(chain) > 1 else ""
    told = f"the network guard refused {site}: {meaning(request.rule)}{way}"
    more = {"chain": chain} if len(chain) > 1 else {}
    return MeshError("browser.refused", told, origin=request.site, rule=request.rule, **more)


def graver(level: int) -> str:
    """The rule for refusing a request of class ``level`` that was allowed by name."""
    return f"{_GRAVER}{level}"


def may_be_allowed(rule: str) -> bool:
    """True if the owner can allow a request refused by ``rule``, with ``--allow``."""
    return rule == SOCKET or rule.startswith(_ALLOWABLE)


def may_be_approved(rule: str) -> bool:
    """True if a yes of the owner lets a request through that ``rule`` refused."""
    return may_be_allowed(rule) or rule.startswith(_GRAVER)


def may_change(rule: str) -> bool:
    """True if a request refused by ``rule`` may have changed something: only the guard kept it from being sent."""
    return rule == CAPSULE_CLASS or rule.startswith((*_ALLOWABLE, _GRAVER))


def what_helps(requests: Iterable[str], rules: Iterable[str], *, owner: bool, page_url: str = "") -> str:
    """The remedy for refused requests, in a few words; empty if there is none.

    requests, rules: in the same order. owner: True if the caller is the owner of the node, who alone may allow a request.
    page_url: the address of the page, with which the option can be pasted unchanged.

    The first request that ``--allow`` can let through decides; otherwise the first that it cannot; a WebSocket comes last.
    """
    pairs = list(zip(requests, rules, strict=True))
    unapproved = next((rule for _, rule in pairs if rule.startswith(_GRAVER)), "")
    decided = next((rule for rule in _UNALTERABLE if any(rule == of for _, of in pairs)), "")
    allowable = next((request for request, rule in pairs if rule != SOCKET and may_be_allowed(rule)), "")
    if not allowable and not decided:  # many pages work without their WebSocket, so other requests come first
        allowable = next((request for request, rule in pairs if rule == SOCKET), "")
    if unapproved and not allowable:
        return f"approve it with --approve-{unapproved}" if owner else ""
    if allowable and owner:
        return f"allow it with --allow '{allow_entry(allowable, page_url)}'"
    if allowable:
        return ""
    return f"{_MEANINGS[decided]}; --allow does not change that" if decided else ""


def allow_entry(request: str, page_url: str = "") -> str:
    """The value of ``--allow`` for a refused ``METHOD /path``; with ``URL`` in place of an address that cannot be pasted
    safely.
    """
    method, _, address = request.partition(" ")
    address = _as_web(site_of(page_url) + address if page_url and address.startswith("/") else address)
    # The page chose the path, and a person pastes the line into a shell, where `*` would also allow more.
    entry = f"{method} {address}"
    pastes = _PASTED.match(address) and re.search(ALLOWED_REQUEST_PATTERN, entry)
    return entry if pastes else f"{method} URL"


def meaning(rule: str) -> str:
    """The reason for which a rule refuses a request, in words."""
    if rule.startswith(_GRAVER):
        return f"it is of {rule}, which nobody has approved"
    word = rule.removeprefix("address: ")
    return _MEANINGS.get(rule) or f"its address says “{word}”, so opening it may change or delete something"


def _as_web(site: str) -> str:
    return f"http{site[2:]}" if site.startswith(("ws://", "wss://")) else site


def _path(url: str) -> str:
    try:
        path = urlsplit(url).path or "/"
        # Chromium's addresses reach two megabytes. A cut address could end in half a secret, which no search finds.
        return path if len(path) <= limits.URL_CHARS_MAX else f"/{WITHHELD}"
    except ValueError:  # an unreadable address is refused; the record still needs a path
        return "/"
