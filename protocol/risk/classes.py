"""Risk classes of actions, and the network guard for requests: both are decided before anything is performed or sent.

| class | what |
| 1 | GET link, tab, expand, search |
| 2 | reading with login state mounted |
| 3 | typing outside search fields, choosing in a form, save draft |
| 4 | send, post, publish, book, apply; whatever is not understood |
| 5 | pay, buy, place order, transfer, card or IBAN fields |
| 6 | password, e-mail, permissions, API key, second factor, authorise |
| 7 | delete, remove, wipe, reset, close account, revoke, bin icon |

``classify`` gathers evidence and weighs it (``judgement.py``): what an element is and what it would send (``structure.py``,
``keys.py``, ``fields.py``), what stands around it (``surroundings.py``), what it says (``words``). A control that is not
understood is class 4, in doubt. Actions of ``APPROVAL_CLASS`` and above are not performed without an approval. The network guard is
a second, independent check: it judges each request, whatever caused it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

import msgspec

from protocol.page.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    Drag,
    Extract,
    Fill,
    Focus,
    Forward,
    Goto,
    Hover,
    Press,
    Reload,
    Scroll,
    ScrollTo,
    Select,
    Upload,
    Wait,
)
from protocol.page.observation import CHECKABLE_ROLES, Element, Observation
from protocol.risk.addresses import destructive_url, is_asset
from protocol.risk.allowed import allows
from protocol.risk.destinations import judge_destination, literal_address
from protocol.risk.fields import FIELD_ROLES, LIST_ROLES, any_choice, chosen, takes_text, typed
from protocol.risk.graphql import is_query
from protocol.risk.judgement import APPROVAL_CLASS, WRITE_CLASS, Evidence, Risk, raised, settled, worst
from protocol.risk.keys import ENTER, entered, pressed
from protocol.risk.structure import clicked
from protocol.trust.origin import ANY, fits, origin_of

__all__ = ["APPROVAL_CLASS", "WRITE_CLASS", "GuardPolicy", "Risk", "classify", "judge_request"]


class GuardPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which requests a browser context may send."""

    read_only: bool = True
    """Refuse requests that are not GET or HEAD, unless allowed below or a GraphQL query."""
    allow: tuple[str, ...] = ()
    """``METHOD URL-glob`` pairs that are allowed although not GET, for example ``POST https://shop.example/login``."""
    origins: tuple[str, ...] = ()
    """Patterns of the origins that may be contacted (``protocol.trust.origin``); empty allows every origin."""
    private: tuple[str, ...] = (ANY,)
    """Patterns of those among them that may lie on this machine or in a private network (``protocol.risk.destinations``)."""


# --- actions ---------------------------------------------------------------------------------------------------------


def classify(action: Action, element: Element | None, page: Observation, *, history: Evidence | None = None) -> Risk:
    """The risk of ``action`` on ``element`` (None when it has no target) of ``page``.

    history: what clicks on this form of element did on this site before, as this node observed it; None if nothing is known.
    """
    match action:
        case Goto(url=url):
            reason = destructive_url(url)
            return settled(7, f"address says {reason}") if reason else settled(1, "opens a page")
        case Back():
            # It was open in this context before; what the way back would send, the network guard judges as ever.
            return settled(1, "goes back to a page")
        case Forward():
            return settled(1, "goes forward to a page")
        case Reload():
            return settled(1, "loads the page again")
        case Hover() | Focus() | ScrollTo():
            # Scripts of the page may act on it, as they may at any time: what they send, the network guard judges.
            return settled(1, "moves the pointer, the focus or the view")
        case Scroll() | Wait() | Extract() | Assert():
            return settled(1, "reads the page")
        case Press(key=key):
            return pressed(key, element, page, history)
        # Without an element nothing is known about the effect, so it fails closed.
        case _ if element is None:
            return settled(4, "its element is unknown")
        case Fill():
            return _filled(action, element, page)
        case Select(option=option) if element.role in LIST_ROLES:
            return chosen(element, option)
        case Check() if element.role in CHECKABLE_ROLES:
            return chosen(element, "")
        case Select() | Check():
            return _no_control(element)
        case Drag():
            # Where it is dropped counts too: ``drops.dropped``.
            return raised(clicked(element, page), 4, "drags something")
        case Upload():
            # Scripts of the page can read the file at once, whatever is sent later.
            return raised(clicked(element, page), 4, "hands over a file")
        case Click(button="right"):
            return _menu(clicked(element, page, history))
        case Click():
            return clicked(element, page, history)


def _filled(action: Fill, element: Element, page: Observation) -> Risk:
    if action.typed:
        if isinstance(action.value, str) and not action.value.isprintable() and element.traits.tag != "textarea":
            # A line break is the key Enter, and a tab leads to another field.
            return raised(worst(typed(element), entered(ENTER, element, page)), 4, "types keys that act")
        if element.role in LIST_ROLES and not takes_text(element):
            return any_choice(element)
        if not takes_text(element):
            # A blank presses a button.
            return raised(worst(typed(element), clicked(element, page)), 4, "types keys that act")
    if element.role in FIELD_ROLES or element.role in LIST_ROLES:
        return typed(element)
    return _no_control(element)


def _no_control(element: Element) -> Risk:
    # A browser would look for the control of a label around it, which was not judged.
    return raised(typed(element), 4, f"a {element.role} is no control of a form")


def _menu(risk: Risk) -> Risk:
    """A right click opens a menu of the page, whose entries are judged when they are clicked; the page may do more by it."""
    return settled(3, "may open a menu of the page") if risk.level == APPROVAL_CLASS else risk


# --- requests -------------------------------------------------------------------------------------------------------


def judge_request(
    method: str,
    url: str,
    resource_type: str,
    is_navigation: bool,
    body_text: str | None,
    policy: GuardPolicy,
    *,
    announced: str = "",
) -> str | None:
    """Why ``policy`` refuses a request; None if it may be sent.

    resource_type: as the browser names it, lower case (``document``, ``fetch``, ``image`` …).
    body_text: the body if its Content-Type is ``application/json``, which a page can send to another site only after asking
    it; None otherwise.
    announced: of a CORS preflight (no script can make one up) the method it asks for. It brings the site neither a body nor
    cookies, so it may be sent where the request it announces may; of a POST the body is judged when it comes.
    Checks in order: scheme; an address that can be read; origin; a host that is an IP address; the allow list; method; the
    words of the address.
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
        return "origin"
    literal = literal_address(url)
    if literal and (refused := judge_destination(url, literal, policy.private)):
        return refused
    if not policy.read_only:
        return None
    verb = (announced or method).upper()
    if any(allows(entry, verb, url) for entry in policy.allow):
        return None
    word = destructive_url(url)
    # The body of the announced POST is not known yet; the POST itself is judged when it comes.
    if announced and verb == "POST":
        return "method" if word else None
    if verb not in ("GET", "HEAD"):
        # GraphQL reads are sent by POST. A form cannot send JSON, so a navigation is never such a read.
        return None if verb == "POST" and not is_navigation and not word and is_query(body_text) else "method"
    # `/icons/delete.svg` is a picture, not a deletion.
    if word and not is_asset(url, resource_type):
        return f"address: {word}"
    return None
