"""Risk classes of actions, which are decided before anything is performed.

| class | what |
| 1 | GET link, tab, expand, search |
| 2 | reading with login state mounted |
| 3 | typing outside search fields, save draft |
| 4 | send, post, publish, book, apply; any submit that is not a GET and not recognised |
| 5 | pay, buy, place order, transfer, card or IBAN fields |
| 6 | password, e-mail, permissions, API key, second factor, authorise |
| 7 | delete, remove, wipe, reset, close account, revoke, bin icon |

The first match from 7 down decides. A control that is not recognised fails closed (class 4). Actions of ``APPROVAL_CLASS`` and
above are not performed without an approval. The network guard is a second, independent check: it judges each request, whatever
caused it (``protocol/risk/requests.py``).
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
    CloseTab,
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
    SwitchTab,
    Upload,
    Wait,
)
from protocol.page.keys import EDITING_KEYS, MOVING_KEYS, Stroke, read_key
from protocol.page.observation import CHECKABLE_ROLES, INTERACTIVE_ROLES, Element, Observation
from protocol.risk.addresses import destructive_url
from protocol.risk.words import (
    BENIGN,
    BENIGN_TOKENS,
    CARD_FIELD,
    HARMLESS,
    LINK_COMMAND,
    LINK_LEVELS,
    READ,
    READING_HELPERS,
    SEARCHES,
    STRONG_TOKENS,
    TABLE,
    TOKEN_DESTROY,
    unreadable,
    words_of,
)

WRITE_CLASS = 3
"""From this class on an action may change something on the site; lower classes only read."""
APPROVAL_CLASS = 4


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """The class of an action and, in a few words, why."""

    level: int
    """1 to 7."""
    reason: str


_FIELD_ROLES = frozenset(["textbox", "searchbox", "spinbutton", "slider"])
_VIEW_ROLES = frozenset(["tab", "treeitem", "columnheader", "combobox", "listbox"])
_LIST_ROLES = frozenset(["combobox", "listbox", "option"])
_VALUE_TYPES = frozenset(["date", "datetime-local", "month", "week", "time", "number", "range"])
"""Types of fields in which an arrow key changes the value."""
_TEXT_COMMANDS = frozenset("az")
"""With Control: select all, undo."""
# A header of a table sorts; a ``summary`` expands. Anything else without a role of a control only contains controls.
_CLICKED_ROLES = INTERACTIVE_ROLES | {"columnheader"}


# --- actions ---------------------------------------------------------------------------------------------------------


def classify(action: Action, element: Element | None, page: Observation) -> Risk:
    """The risk class of ``action`` on ``element`` (None when it has no target) of ``page``; first match from 7 down."""
    match action:
        case Goto(url=url):
            reason = destructive_url(url)
            return _risk(7, f"address says {reason}") if reason else _risk(1, "opens a page")
        case Back():
            # It was open in this context before; what the way back would send, the network guard judges as ever.
            return _risk(1, "goes back to a page")
        case Forward():
            return _risk(1, "goes forward to a page")
        case Reload():
            return _risk(1, "loads the page again")
        case SwitchTab() | CloseTab():
            # What a page sends as it is closed, the network guard judges.
            return _risk(1, "leaves a tab")
        case Hover() | Focus() | ScrollTo():
            # Scripts of the page may act on it, as they may at any time: what they send, the network guard judges.
            return _risk(1, "moves the pointer, the focus or the view")
        case Scroll() | Wait() | Extract() | Assert():
            return _risk(1, "reads the page")
        case Press(key=key):
            return _press(key, element, page)
        # Without an element nothing is known about the effect, so it fails closed.
        case _ if element is None:
            return _risk(4, "its element is unknown")
        # On anything else a browser would look for the control of a label around it, which was not judged.
        case Fill(value=str(text), typed=True) if not text.isprintable() and element.traits.tag != "textarea":
            # A line break is the key Enter, and a tab leads to another field.
            return max(_field(element), _enter(_ENTER, element), _risk(4, "types keys that act"), key=_level)
        case Fill(typed=True) if element.role in _LIST_ROLES and not _takes_text(element):
            return _any_choice(element)
        case Fill(typed=True) if not _takes_text(element):
            # A blank presses a button.
            return max(_field(element), _click(element), _risk(4, "types keys that act"), key=_level)
        case Fill() if element.role in _FIELD_ROLES or element.role in _LIST_ROLES:
            return _field(element)
        case Select(option=option, also=also) if element.role in _LIST_ROLES:
            return max((_choice(element, label) for label in (option, *also)), key=_level)
        case Check() if element.role in CHECKABLE_ROLES:
            return _choice(element, "")
        case Drag():
            # Where it is dropped counts too: ``drops.dropped``.
            return max(_click(element), _risk(4, "drags something"), key=_level)
        case Upload():
            # Scripts of the page can read the file at once, whatever is sent later.
            return max(_click(element), _risk(4, "hands over a file"), key=_level)
        case Fill() | Select() | Check():
            return max(_field(element), _risk(4, f"a {element.role} is no control of a form"), key=_level)
        case Click(button="right"):
            return _menu(element)
        case Click():
            return _click(element)


def _risk(level: int, reason: str) -> Risk:
    return Risk(level=level, reason=reason)


def _level(risk: Risk) -> int:
    return risk.level


_ENTER = Stroke(frozenset(), "Enter")
_UNREADABLE = _risk(4, "its label is in letters or symbols that the word lists do not cover")


def _press(key: str, element: Element | None, page: Observation) -> Risk:
    stroke = read_key(key)
    if stroke is None:
        return _risk(4, "a key that is not known")
    if stroke.name in ("Tab", "Escape"):
        return _risk(1, "moves the focus or closes a view")
    if element is None:
        # A key without a target goes to the element that has the focus.
        element = next((item for item in page.elements if "active" in item.states and item.interactive), None)
    if stroke.name in MOVING_KEYS:
        return _move(element)
    if element is None:
        return _risk(4, "a key for an unknown element")
    if stroke.name == "Enter":
        return _enter(stroke, element)
    if _takes_text(element):
        return _edit(stroke, element)
    if stroke.name == "Space":
        return _click(element)
    if element.role in _LIST_ROLES and not stroke.commands and len(stroke.name) == 1:
        return _any_choice(element)  # a letter chooses the option that begins with it
    return _risk(4, "a shortcut key")


def _menu(element: Element) -> Risk:
    """A right click: it opens a menu of the page, whose entries are judged when they are clicked; the page may do more by it."""
    risk = _click(element)
    return _risk(3, "may open a menu of the page") if risk.level == APPROVAL_CLASS else risk


def _takes_text(element: Element) -> bool:
    return element.role in _FIELD_ROLES or (element.role == "combobox" and element.traits.tag in ("input", "textarea"))


def _edit(stroke: Stroke, element: Element) -> Risk:
    """A key of typing, in a field. An access key (Alt) or a shortcut can set off anything on the page."""
    harmless = "Alt" not in stroke.modifiers and (stroke.name in _TEXT_COMMANDS or stroke.name in EDITING_KEYS)
    return _risk(4, "a shortcut key") if stroke.commands and not harmless else _field(element)


def _move(element: Element | None) -> Risk:
    if element is not None:
        if element.role in _LIST_ROLES and not (element.traits.tag in ("input", "textarea") and not element.options):
            return _any_choice(element)
        if element.role in CHECKABLE_ROLES - {"checkbox", "switch", "menuitemcheckbox"}:
            return max(_choice(element, ""), _risk(3, "chooses another one"), key=_level)
        if element.role in ("slider", "spinbutton") or element.traits.input_type in _VALUE_TYPES:
            return max(_field(element), _risk(3, "changes a value"), key=_level)
    return _risk(1, "moves the focus or the view")


def _any_choice(element: Element) -> Risk:
    """A key that chooses in a list: which option it will be is not known, so the worst one counts."""
    choices = [_choice(element, option) for option in element.options]
    return max([*choices, _choice(element, ""), _risk(3, "chooses in a list")], key=_level)


def _enter(stroke: Stroke, element: Element) -> Risk:
    """Enter, with whatever modifiers: it activates a control, and submits the form of a field."""
    traits = element.traits
    submitted = _submission(element, recognised=_is_search(element) and not unreadable(element.name))
    if _takes_text(element):
        # In a text area it begins a line; with Control and its like it usually sends.
        submits = traits.tag != "textarea" or stroke.commands
        return max(_field(element), submitted, key=_level) if submits else _field(element)
    # A check box, a radio button and a list submit their form as a text field does.
    in_form = element.role in CHECKABLE_ROLES | _LIST_ROLES and traits.form_method
    return max(_click(element), submitted, key=_level) if in_form else _click(element)


def _field(element: Element) -> Risk:
    """Typing into a field."""
    traits = element.traits
    if traits.input_type == "password" or traits.autocomplete.endswith(("password", "one-time-code")):
        return _risk(6, "a password or one-time code field")
    if traits.autocomplete.startswith("cc-"):
        return _risk(5, "a card field")
    about = HARMLESS.sub(" ", words_of(element.name))
    hints = " ".join(traits.tokens)
    if traits.input_type == "email" or traits.autocomplete == "email" or TABLE[1][1].search(f"{about} {hints}"):
        return _risk(6, "a field of identity or access")
    if CARD_FIELD.search(f"{about} {hints}"):
        return _risk(5, "a field of payment")
    # A native search field is one whatever its label says. A role or a CSS class is only what the page calls it.
    native_search = traits.tag == "input" and traits.input_type == "search"
    if unreadable(element.name) and not native_search and not _reads_by_get(element):
        return _UNREADABLE
    if _is_search(element):
        return _risk(1, "a search or filter field")
    return _risk(3, "typing")


def _is_search(element: Element) -> bool:
    if element.role == "searchbox" or element.traits.input_type == "search":
        return True
    if element.traits.form_method == "post":
        return False
    if element.traits.form_method == "get" and element.traits.form_action:
        return True
    return bool(SEARCHES.search(words_of(element.name)) or SEARCHES.search(" ".join(element.traits.tokens)))


def _reads_by_get(element: Element) -> bool:
    """Whether its form states that it sends a GET, to an address that is judged harmless."""
    traits = element.traits
    return traits.form_method == "get" and bool(traits.form_action) and not destructive_url(traits.form_action)


def _choice(element: Element, option: str) -> Risk:
    """Choosing an option, or a check box."""
    named = by_words(f"{element.name} {option}", (), from_level=5)
    if named and not (named == _UNREADABLE and _reads_by_get(element)):
        return named
    return _risk(1, "sorts or filters") if _is_search(element) else _risk(3, "changes a form")


def _click(element: Element) -> Risk:
    readable = not unreadable(element.name)
    if element.role == "slider":
        return _choice(element, "")
    if element.role in _FIELD_ROLES and (readable or element.traits.tag in ("input", "textarea")):
        return _risk(1, "sets the focus")
    if element.role in CHECKABLE_ROLES:
        return _choice(element, "")
    if readable and element.traits.input_type == "reset" and element.traits.tag in ("button", "input"):
        return _risk(1, "empties its form on the page")
    if element.role != "link":
        return _button(element)
    try:
        scheme = urlsplit(element.url).scheme
    except ValueError:
        return max(_risk(4, "its address cannot be read"), _button(element), key=_level)
    return _link(element) if scheme in ("http", "https") and not element.url.endswith("#") else _button(element)


def _link(element: Element) -> Risk:
    reason = destructive_url(element.url)
    if reason:
        return _risk(7, f"link address says {reason}")
    name = words_of(element.name)
    harmless = bool(HARMLESS.search(name))
    token = _token(element.traits.tokens, harmless)
    if token:
        return _risk(7, f"its id, class or icon says “{token}”")
    command = None if harmless else LINK_COMMAND.match(name)
    if command:
        group = next(key for key, value in command.groupdict().items() if value)
        return _risk(LINK_LEVELS[group], f"link says “{command[group]}”")
    if not name:
        named = by_words("", element.traits.tokens, from_level=4)
        if named:
            return named
    return _risk(1, "a link")


def _button(element: Element) -> Risk:
    """Anything that acts by a script or a form: named, or recognised, or class 4."""
    traits = element.traits
    if traits.submits:
        # The address of the form decides before the label: a harmless label may send a destructive request.
        reason = destructive_url(traits.form_action)
        if reason:
            return _risk(7, f"form address says {reason}")
    if element.role not in _CLICKED_ROLES and traits.tag != "summary":
        # What lies in its middle gets the click, and has a name and a class of its own.
        named = by_words(element.name, traits.tokens, from_level=4)
        return named or _risk(4, f"a {element.role} only contains controls: act on one of them")
    if element.role in _VIEW_ROLES or traits.tag == "summary":
        return by_words(element.name, traits.tokens, from_level=7) or _risk(1, f"a {element.role}")
    name = words_of(element.name)
    reads = bool(HARMLESS.search(name) or READ.search(name))
    named = by_words(element.name, traits.tokens, from_level=4, reads=reads)
    if named:
        return named
    if traits.submits:
        return _submission(element, recognised=reads)
    if reads or BENIGN.match(name) or "expanded" in element.states:
        return _risk(1, "a control of the view")
    if not name and BENIGN_TOKENS.search(" ".join(traits.tokens)):
        return _risk(1, "a control of the view, by its id, class or icon")
    return _risk(4, "not understood")


def _submission(element: Element, *, recognised: bool) -> Risk:
    traits = element.traits
    if destructive_url(traits.form_action):
        return _risk(7, "form address looks destructive")
    if recognised:
        return _risk(1, "searches, sorts or filters")
    if traits.form_method == "dialog":
        return _risk(4, "answers a dialog")
    if traits.form_method == "get" and traits.form_action:
        return _risk(1, "a form that only reads")
    return _risk(4, "submits a form that is not understood")


def by_words(name: str, tokens: tuple[str, ...], *, from_level: int, reads: bool = False) -> Risk | None:
    """The highest class of at least ``from_level`` that the words of a control speak of; 4 or more if some are unreadable.

    reads: the name is about searching or filtering, so that "apply" in it does not count.
    """
    unread = unreadable(name)
    spoken = words_of(name)
    left = HARMLESS.sub(" ", spoken)
    token = _token(tokens, left != spoken)
    if token:
        return _risk(7, f"its id, class or icon says “{token}”")
    if not spoken:
        left = " ".join(tokens)
    if spoken == "save draft" and not unread:
        return _risk(3, "saves a draft")
    for level, terms in TABLE:
        if level < from_level and not unread:
            break
        for found in terms.finditer(left):
            if not (level == 4 and reads and found[0] in READING_HELPERS):
                return _risk(level, f"says “{found[0]}”")
    return _UNREADABLE if unread else None


def _token(tokens: tuple[str, ...], harmless: bool) -> str:
    """The destructive word among id, class and icon tokens; only the strong ones if the name is a harmless phrase."""
    for token in tokens:
        if (token in STRONG_TOKENS) if harmless else TOKEN_DESTROY.fullmatch(token):
            return token
    return ""
