"""Risk classes of actions, decided before anything is performed.

| class | what |
| 1 | GET link, tab, expand, search |
| 2 | reading with login state mounted |
| 3 | typing outside search fields, choosing in a form |
| 4 | everything else that acts |
| 5 | pay, buy, place order, transfer, card or IBAN fields |
| 6 | password, new e-mail address, permissions, API key, second factor, authorise | | 7 | delete, remove, wipe, reset, close
account, revoke, bin icon |

``classify`` begins with the kind of the action (``structure.py``, ``keys.py``, ``fields.py``), and weighs the grave evidence
(``judgement.py``): the text of the element (``words``, ``marks.py``), the request that it would send, and its surroundings
(``surroundings.py``). If each outgoing message is judged by itself, the class of a press needs no yes (``pressing.py``).
"""

from __future__ import annotations

import msgspec

from protocol.page.actions.action import (
    Action,
    Assert,
    Back,
    Check,
    Click,
    CloseTab,
    Drag,
    Emulate,
    Evaluate,
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
    SwitchTab,
    Upload,
    Wait,
)
from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation
from protocol.risk.addresses.addresses import destructive_url
from protocol.risk.judgement import APPROVAL_CLASS, WRITE_CLASS, Risk, raised, settled, worst
from protocol.risk.pressing.fields import (
    FIELD_ROLES,
    LIST_ROLES,
    any_choice,
    chosen,
    sent_by_a_button,
    takes_text,
    typed,
)
from protocol.risk.pressing.keys import ENTER, entered, pressed
from protocol.risk.pressing.structure import clicked

__all__ = ["APPROVAL_CLASS", "WRITE_CLASS", "Risk", "classify"]


def classify(action: Action, element: Element | None, page: Observation) -> Risk:
    """The risk of ``action`` on ``element`` (None if it has no target) of ``page``."""
    risk = _judged(action, element, page)
    if element is not None and element.traits.label:
        # A person who presses the label reads its text.
        risk = worst(risk, _judged(action, msgspec.structs.replace(element, name=element.traits.label), page))
    return risk


def _judged(action: Action, element: Element | None, page: Observation) -> Risk:
    match action:
        case Goto(url=url):
            reason = destructive_url(url)
            return settled(7, f"address says {reason}") if reason else settled(1, "opens a page")
        case Back():
            # The page was open in this context before; the network guard judges the requests on the way back.
            return settled(1, "goes back to a page")
        case Forward():
            return settled(1, "goes forward to a page")
        case Reload():
            return settled(1, "loads the page again")
        case SwitchTab() | CloseTab():
            # The network guard judges the requests of a page that is being closed.
            return settled(1, "leaves a tab")
        case Hover() | Focus() | ScrollTo():
            # Scripts of the page may react to it, as they may at any time; the network guard judges their requests.
            return settled(1, "moves the pointer, the focus or the view")
        case Scroll() | Wait() | Extract() | Assert():
            return settled(1, "reads the page")
        case Emulate():
            return settled(1, "changes what the page is told of its browser")
        case Evaluate():
            return settled(4, "runs a script")
        case Press(key=key):
            return pressed(key, element, page)
        # Without an element nothing is known about the effect, so the class is that of an unknown action.
        case _ if element is None:
            return settled(4, "its element is unknown")
        case Fill():
            return _filled(action, element, page)
        case Select(option=option, also=also) if element.role in LIST_ROLES:
            later = sent_by_a_button(element, page)
            return worst(*(chosen(element, label, sent_later=later) for label in (option, *also)))
        case Check() if element.role in CHECKABLE_ROLES:
            return chosen(element, "", sent_later=sent_by_a_button(element, page))
        case Select() | Check():
            return _no_control(element)
        case Drag():
            # The element that the drag ends on counts too (``drag.dropped``).
            return raised(clicked(element, page), 4, "drags something")
        case Upload():
            # Scripts of the page can read the file at once, whether or not a form is sent later. Each request that it causes has
            # this class at least.
            return raised(clicked(element, page), 4, "hands over a file")
        case Click(button="right"):
            return _menu(clicked(element, page))
        case Click():
            return clicked(element, page)


def _filled(action: Fill, element: Element, page: Observation) -> Risk:
    if action.typed:
        if isinstance(action.value, str) and not action.value.isprintable():
            # A line break is the key Enter, and a tab moves to another field.
            sent = worst(typed(element), entered(ENTER, element, page))
            return sent if element.traits.tag == "textarea" else raised(sent, 4, "types keys that act")
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
    """A right click opens a menu of the page, whose entries are judged when they are clicked. The page may also do more."""
    return settled(3, "may open a menu of the page") if risk.level == APPROVAL_CLASS else risk
