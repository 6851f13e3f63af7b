"""What an action or a request could do, before it is done: seven risk classes and the network guard.

| class | what |
| 1 | GET link, tab, expand, search |
| 2 | reading with login state mounted |
| 3 | typing outside search fields, save draft |
| 4 | send, post, publish, book, apply; any submit that is not a GET and not recognised |
| 5 | pay, buy, place order, transfer, card or IBAN fields |
| 6 | password, e-mail, permissions, API key, second factor, authorise |
| 7 | delete, remove, wipe, reset, close account, revoke, bin icon |

First match from 7 down; what is not understood fails closed (class 4). Classes of ``APPROVAL_CLASS`` and above are not performed
without an approval. The network guard is the second wall: it judges each request, whatever caused it.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from protocol.action import Action, Check, Click, Extract, Fill, Goto, Press, Scroll, Select, Wait
from protocol.graphql import is_query
from protocol.observation import Element, Observation

APPROVAL_CLASS = 4


class GuardPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which requests a browser context may send."""

    read_only: bool = True
    """Refuse requests that are not GET or HEAD, unless allowed below or a GraphQL query."""
    allow: tuple[str, ...] = ()
    """``METHOD URL-glob`` pairs that are allowed although not GET, for example ``POST https://shop.example/login``."""
    origins: tuple[str, ...] = ()
    """Origins that may be contacted (``https://host:port``); empty allows every origin."""


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """The class of an action and, in a few words, why."""

    level: int
    """1 to 7."""
    reason: str


# --- words -----------------------------------------------------------------------------------------------------------
# Compared with whole words in lower case; a term of several words must stand in that order, side by side.

_DESTROY = (
    "delete|deletes|deleting|deletion|remove|removes|removing|removal|trash|bin|discard|wipe|erase|destroy|purge|reset|"
    "clear|empty|terminate|deactivate|disable account|close account|close my account|close your account|revoke|"
    "unsubscribe|log out|logout|log off|logoff|sign out|signout|uninstall|drop|kill|shut down|factory|overwrite|"
    "unpublish|ban|leave group|cancel order|cancel my order|cancel subscription|cancel my subscription|cancel booking|"
    "cancel reservation|cancel account|cancel membership|cancel plan|cancel appointment|end subscription"
)
_IDENTITY = (
    "password|passphrase|passwort|passcode|e mail|email|permission|permissions|api key|api keys|access token|secret key|"
    "private key|two factor|2fa|mfa|otp|one time code|verification code|security code for login|authorise|authorize|"
    "authorisation|authorization|grant|allow access|make admin|administrator|superuser|impersonate|recovery code|pin"
)
_PAY = (
    "pay|payment|payments|buy|purchase|order|place order|checkout|check out|transfer|withdraw|deposit|donate|bid|card|"
    "card number|cvc|cvv|iban|bic|sort code|account number|subscribe|upgrade|invest|top up|tip"
)
_SEND = (
    "send|post|publish|book|apply|submit|reply|comment|share|invite|reserve|register|sign up|signup|enrol|enroll|vote|"
    "like|follow|confirm|accept|agree|approve|request|schedule|deploy|merge|release|launch|start|stop|run|execute|"
    "upload|import|report|rsvp|join|create|save|add|update|move|archive|restore|connect|activate|enable"
)
_READ = "search|find|look up|lookup|filter|filters|sort|sort by|order by|group by|refine|show results|view results|go to page"
_BENIGN = (
    "search|find|filter|filters|sort|refine|next|previous|prev|back|forward|first|last|more|less|show|hide|view|details|"
    "detail|tab|expand|collapse|toggle menu|menu|navigation|close|dismiss|cancel|got it|zoom in|zoom out|play|pause|"
    "slide|carousel|preview|help|info|open|read|refresh|reload|top|skip|home|page|older|newer|list|grid|scroll|theme|"
    "dark mode|light mode|language|today|month|week|day|year"
)
# What these phrases name touches the view only. "Remove filter" is among them: it widens a listing; should a page make
# more of it, the request still has to pass the network guard. An item after "remove" is never harmless.
_HARMLESS = re.compile(
    r"\b(?:(?:clear|reset|remove|delete|empty|discard)(?: (?:all|the|this|active|applied|my|price|date|brand|colou?r|size))*"
    r" (?:filters?|search|query|search (?:box|field|term|terms|text)|sorting|sort|selection|zoom|view|facets?|refinements?"
    r"|columns?)"
    r"|(?:order|ordered|sort|sorted|group|grouped|arrange) by(?: [a-z]+){0,3}|(?:sort|sorting|display) order"
    r"|order(?:s)? (?:history|status|details|number|id)|(?:post|zip)(?: )?code|(?:cancel|close)(?= *$)"
    r"|close (?:dialog|dialogue|menu|window|panel|popup|modal|banner|message|search|tab|sidebar|navigation)"
    r"|(?:my|your|all|recent|latest|previous|next|new|older|newer|past|blog|open) (?:orders?|posts?|payments?|comments?|bookings?)"
    r"|e mail address(?= .*help)|drop down|dropdown|start page|add ons?|show (?:more )?comments?|report an accessibility.*)\b"
)
_STRONG_TOKENS = frozenset("delete trash bin destroy wipe erase purge danger destructive".split())
_TOKEN_DESTROY = (
    "delete|remove|trash|bin|wipe|erase|destroy|purge|danger|destructive|logout|unsubscribe|garbage|rubbish"
)
_FIELD_ROLES = frozenset("textbox searchbox spinbutton slider".split())
_TOGGLE_ROLES = frozenset("checkbox radio switch menuitemcheckbox menuitemradio".split())
_VIEW_ROLES = frozenset("tab treeitem columnheader combobox listbox".split())
_QUIET_KEYS = re.compile(
    r"(?:Shift\+|Control\+|Alt\+)?(?:Tab|Escape|Arrow(?:Up|Down|Left|Right)|Page(?:Up|Down)|Home|End)$"
)
_ACTIVATION_KEYS = frozenset({"Enter", "NumpadEnter", "Space", " "})
_SPLIT = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _words(text: str) -> str:
    """``text`` as lower-case words with one space between them; ``deleteItem`` is two words."""
    return _SPLIT.sub(" ", _CAMEL.sub(" ", text).lower()).strip()


def _matcher(terms: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{terms})\b")


_TABLE: tuple[tuple[int, re.Pattern[str]], ...] = (
    (7, _matcher(_DESTROY)),
    (6, _matcher(_IDENTITY)),
    (5, _matcher(_PAY)),
    (4, _matcher(_SEND)),
)
_READ_RE, _BENIGN_RE, _TOKEN_RE = _matcher(_READ), _matcher(_BENIGN), _matcher(_TOKEN_DESTROY)
_SEARCH_RE = _matcher(
    "search|find|query|filter|keyword|keywords|lookup|q|sort|order by|per page|page size|language|currency"
)
# A real link only reads, so its text must be a command to count ("Pay now"), not a topic ("How to pay").
_LINK_COMMAND = re.compile(
    r"(?:(?P<seven>delete|remove|erase|wipe|destroy|purge|trash|revoke|unsubscribe|deactivate|reset|discard|empty|terminate"
    r"|log ?out|sign ?out|close (?:my |your |this )?account|cancel (?:my |your |this )?\w+)\b.*"
    r"|(?P<six>authori[sz]e|grant|allow access|make admin|impersonate)\b.*"
    r"|(?P<five>pay|buy|purchase|place|transfer|withdraw|donate)(?: (?:now|it now|order|this|with|one|all|money|funds)\b.*)?"
    r"|(?P<four>send|post|publish|book|apply|submit|confirm|approve|accept|vote|like|follow|reply)"
    r"(?: (?:now|it|this|message|comment|order|all))?)$"
)
_LINK_LEVELS = {"seven": 7, "six": 6, "five": 5, "four": 4}


# --- actions ---------------------------------------------------------------------------------------------------------


def classify(action: Action, element: Element | None, page: Observation) -> Risk:
    """The risk class of ``action`` on ``element`` (None when it has no target) of ``page``; first match from 7 down."""
    match action:
        case Goto(url=url):
            reason = destructive_url(url)
            return _risk(7, f"address says {reason}") if reason else _risk(1, "opens a page")
        case Scroll() | Wait() | Extract():
            return _risk(1, "reads the page")
        case Press(key=key):
            return _press(key, element, page)
        case _ if element is None:
            return _risk(4, "its element is unknown")
        case Fill():
            return _field(element)
        case Select(option=option):
            return _choice(element, option)
        case Check():
            return _choice(element, "")
        case Click():
            return _click(element)


def _risk(level: int, reason: str) -> Risk:
    return Risk(level=level, reason=reason)


def _press(key: str, element: Element | None, page: Observation) -> Risk:
    if _QUIET_KEYS.match(key):
        return _risk(1, "moves the focus or the view")
    if element is None:
        element = next((item for item in page.elements if "active" in item.states and item.interactive), None)
    if element is None:
        return _risk(4, "a key for an unknown element")
    if key not in _ACTIVATION_KEYS:
        return _field(element) if element.role in _FIELD_ROLES else _risk(4, "a shortcut key")
    if element.role not in _FIELD_ROLES:
        return _click(element)
    if key != "Enter" and key != "NumpadEnter":
        return _field(element)
    if element.traits.tag == "textarea":
        return _field(element)
    submit = _submission(element, recognised=_is_search(element))
    typed = _field(element)
    return max(submit, typed, key=lambda risk: risk.level)


def _field(element: Element) -> Risk:
    """Typing into a field."""
    traits = element.traits
    if traits.input_type == "password" or traits.autocomplete.endswith(("password", "one-time-code")):
        return _risk(6, "a password or one-time code field")
    if traits.autocomplete.startswith("cc-"):
        return _risk(5, "a card field")
    about = _HARMLESS.sub(" ", _words(element.name))
    hints = " ".join(traits.tokens)
    if traits.input_type == "email" or traits.autocomplete == "email" or _TABLE[1][1].search(f"{about} {hints}"):
        return _risk(6, "a field of identity or access")
    if _matcher("card|card number|cvc|cvv|iban|bic|sort code|account number").search(f"{about} {hints}"):
        return _risk(5, "a field of payment")
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
    return bool(_SEARCH_RE.search(_words(element.name)) or _SEARCH_RE.search(" ".join(element.traits.tokens)))


def _choice(element: Element, option: str) -> Risk:
    """Choosing an option, or a check box."""
    named = _by_words(f"{element.name} {option}", (), from_level=5)
    if named:
        return named
    return _risk(1, "sorts or filters") if _is_search(element) else _risk(3, "changes a form")


def _click(element: Element) -> Risk:
    if element.role in _FIELD_ROLES:
        return _risk(1, "sets the focus")
    if element.role in _TOGGLE_ROLES:
        return _choice(element, "")
    if element.traits.input_type == "reset" and element.traits.tag in ("button", "input"):
        return _risk(1, "empties its form on the page")
    if element.role == "link" and _is_address(element.url):
        return _link(element)
    return _button(element)


def _is_address(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and not url.endswith("#")


def _link(element: Element) -> Risk:
    reason = destructive_url(element.url)
    if reason:
        return _risk(7, f"link address says {reason}")
    name = _words(element.name)
    harmless = bool(_HARMLESS.search(name))
    token = _token(element.traits.tokens, harmless)
    if token:
        return _risk(7, f"its marks say “{token}”")
    command = None if harmless else _LINK_COMMAND.match(name)
    if command:
        group = next(key for key, value in command.groupdict().items() if value)
        return _risk(_LINK_LEVELS[group], f"link says “{command[group]}”")
    if not name:
        named = _by_words("", element.traits.tokens, from_level=4)
        if named:
            return named
    return _risk(1, "a link")


def _button(element: Element) -> Risk:
    """Anything that acts by a script or a form: named, or recognised, or class 4."""
    traits = element.traits
    if traits.submits:
        reason = destructive_url(traits.form_action)
        if reason:
            return _risk(7, f"form address says {reason}")
    if element.role in _VIEW_ROLES or traits.tag == "summary":
        return _by_words(element.name, traits.tokens, from_level=7) or _risk(1, f"a {element.role}")
    reads = bool(_READ_RE.search(_words(element.name)))
    named = _by_words(element.name, traits.tokens, from_level=5 if reads else 4)
    if named:
        return named
    harmless = bool(_HARMLESS.search(_words(element.name)))
    if traits.submits:
        return _submission(element, recognised=reads or harmless)
    if harmless or _BENIGN_RE.search(_words(element.name)) or "expanded" in element.states:
        return _risk(1, "a control of the view")
    if not element.name and _matcher(f"{_BENIGN}|hamburger|chevron|caret|arrow|times").search(" ".join(traits.tokens)):
        return _risk(1, "a control of the view, by its marks")
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


def _by_words(name: str, tokens: tuple[str, ...], *, from_level: int) -> Risk | None:
    """The highest class of at least ``from_level`` that the words of a control speak of."""
    spoken = _words(name)
    left = _HARMLESS.sub(" ", spoken)
    token = _token(tokens, left != spoken)
    if token:
        return _risk(7, f"its marks say “{token}”")
    if not spoken:
        left = " ".join(tokens)
    for level, terms in _TABLE:
        found = terms.search(left) if level >= from_level else None
        if found:
            return _risk(level, f"says “{found[0]}”")
    return None


def _token(tokens: tuple[str, ...], harmless: bool) -> str:
    """The destructive word among id, class and icon tokens; only the strong ones if the name is a harmless phrase."""
    for token in tokens:
        if (token in _STRONG_TOKENS) if harmless else _TOKEN_RE.fullmatch(token):
            return token
    return ""


# --- requests --------------------------------------------------------------------------------------------------------

_PATH_WORDS = frozenset(
    "delete deletes remove destroy erase purge wipe trash logout logoff signout unsubscribe deactivate revoke terminate "
    "uninstall unpublish discard del rm drop".split()
)
_PATH_SEGMENTS = frozenset({"close", "reset", "cancel", "clear", "empty", "disable", "shutdown", "kill", "ban"})
_PATH_PAIRS = _matcher(
    "log out|sign out|log off|close account|account close|cancel account|cancel order|cancel subscription"
)
_VERB_KEYS = frozenset("action act op operation do cmd command task mode method verb event submit".split())
_CONFIRM_KEYS = frozenset({"confirm", "confirmed", "really", "sure"})
_YES = frozenset({"1", "yes", "y", "true", "on", "ok", ""})
_ASSET = re.compile(r"\.(?:js|mjs|css|png|jpe?g|gif|svg|webp|avif|ico|woff2?|ttf|otf|map)$")
_ASSET_TYPES = frozenset({"image", "script", "stylesheet", "font", "media", "manifest"})
_SEGMENT_WORDS_MAX = 3  # longer segments are titles of articles ("how-to-remove-stains"), not commands


def destructive_url(url: str) -> str:
    """The word for which a GET of ``url`` (or of a path) may destroy something; empty if there is none."""
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return "nothing readable"
    for segment in unquote(parts.path).split("/"):
        words = _words(
            segment.rpartition(".")[0] if segment.endswith((".php", ".html", ".aspx", ".jsp", ".do")) else segment
        )
        listed = words.split()
        if len(listed) > _SEGMENT_WORDS_MAX:
            continue
        found = next((word for word in listed if word in _PATH_WORDS), "")
        if found or words in _PATH_SEGMENTS:
            return found or words
        pair = _PATH_PAIRS.search(words)
        if pair:
            return pair[0]
    for key, value in query:
        found = _query_word(_words(key), _words(value))
        if found:
            return found
    return ""


def _query_word(key: str, value: str) -> str:
    if key in _CONFIRM_KEYS and value in _YES:
        return key
    if set(key.split()) & _PATH_WORDS and "after" not in key:
        return key
    if set(key.split()) & _VERB_KEYS:
        words = value.split()
        if len(words) <= _SEGMENT_WORDS_MAX:
            return next((word for word in words if word in _PATH_WORDS or word in _PATH_SEGMENTS), "")
    return ""


def judge_request(
    method: str, url: str, resource_type: str, is_navigation: bool, body_text: str | None, policy: GuardPolicy
) -> str | None:
    """Why ``policy`` refuses a request; None if it may be sent.

    resource_type: as the browser names it, lower case (``document``, ``fetch``, ``image`` …). body_text: None if unreadable.
    Checks in order: scheme; origin; the allow list; method; the words of the address.
    """
    scheme, _, rest = url.partition(":")
    if scheme.lower() in ("data", "blob") or (scheme == "about" and rest in ("blank", "srcdoc")):
        return None
    if scheme.lower() not in ("http", "https"):
        return "scheme"
    parts = urlsplit(url)
    if policy.origins and f"{parts.scheme}://{parts.netloc}" not in policy.origins:
        return "origin"
    if not policy.read_only:
        return None
    verb = method.upper()
    if any(_allows(entry, verb, url) for entry in policy.allow):
        return None
    word = destructive_url(url)
    if verb not in ("GET", "HEAD"):
        return None if verb == "POST" and not is_navigation and not word and is_query(body_text) else "method"
    if word and not (resource_type in _ASSET_TYPES and not parts.query and _ASSET.search(parts.path.lower())):
        return f"address: {word}"
    return None


def _allows(entry: str, method: str, url: str) -> bool:
    verb, _, glob = entry.partition(" ")
    return verb.upper() == method and bool(glob) and fnmatchcase(url.partition("#")[0], glob.strip())
