"""The English words by which controls and addresses are classified. A word in no list is not recognised."""

from __future__ import annotations

import re

# Compared with whole words in lower case; a term of several words must stand in that order, side by side.

_DESTROY = (
    "delete|deletes|deleting|deletion|remove|removes|removing|removal|trash|bin|discard|wipe|erase|destroy|purge|reset|"
    "clear|empty|terminate|deactivate|disable account|close (?:my |your |this )?account|revoke|nuke|"
    "unsubscribe|log out|logout|log off|logoff|sign out|signout|uninstall|drop|kill|shut down|factory|overwrite|"
    r"unpublish|ban|leave group|end subscription|cancel (?:\w+ )?(?:order|subscription|booking|reservation|account|"
    r"membership|plan|appointment|contract|trip|flight|payment|transfer)"
)
_IDENTITY = (
    "password|passphrase|passwort|passcode|e mail|email|permission|permissions|api key|api keys|access token|"
    "secret key|private key|two factor|2fa|mfa|otp|one time code|verification code|security code for login|"
    "authorise|authorize|authorisation|authorization|grant|allow access|make admin|administrator|superuser|"
    "impersonate|recovery code|pin"
)
_PAY = (
    "pay|payment|payments|buy|purchase|order|place order|checkout|check out|transfer|withdraw|deposit|donate|bid|"
    "card number|cvc|cvv|iban|bic|sort code|account number|subscribe|upgrade|invest|top up|tip"
)
_SEND = (
    "send|post|publish|book|apply|submit|reply|comment|share|invite|reserve|register|sign up|signup|enrol|enroll|vote|"
    "like|follow|confirm|accept|agree|approve|request|schedule|deploy|merge|release|launch|start|stop|run|execute|"
    "upload|import|report|rsvp|join|create|save|add|update|replace|move|archive|restore|connect|activate|enable"
)
_READ = "search|find|look up|lookup|filters?|sort|refine|show results|view results|go to page"
# Words that may stand beside a reading one without making more of it ("Apply filters", "Update search").
READING_HELPERS = frozenset({"apply", "update", "submit"})
_BENIGN_START = (
    "search|find|filters?|sort|refine|next|previous|prev|back|forward|first|last|more|less|show|hide|view|details?|tab|"
    "expand|collapse|load more|toggle menu|menu|navigation|close|dismiss|cancel|got it|zoom in|zoom out|play|pause|"
    "carousel|preview|help|info|read|refresh|reload|top|skip|home|page|older|newer|grid|list|scroll|theme|dark mode|"
    "light mode|language|today|month|week|day|year"
)
_BENIGN_END = "details|menu|tab|more|navigation"
# What these phrases name touches the view only. "Remove filter" is among them: it widens a listing; should a page make
# more of it, the request still has to pass the network guard. An item after "remove" is never harmless.
HARMLESS = re.compile(
    r"\b(?:(?:clear|reset|remove)(?: (?:all|the|this|active|applied|my|price|date|brand|colou?r|size))*"
    r" (?:filters?|search|query|search (?:box|field|term|terms|text)|sorting|sort|selection|zoom|view|facets?"
    r"|refinements?|columns?)(?! (?:presets?|rules?|sets?|templates?|groups?|history|lists?|index))"
    r"|(?:order|ordered|sort|sorted|group|grouped|arrange) by(?: [a-z]+){0,3}|(?:sort|sorting|display) order"
    r"|order(?:s)? (?:history|status|details|number|id)|(?:post|zip)(?: )?code|(?:cancel|close)(?= *$)"
    r"|close (?:dialog|dialogue|menu|window|panel|popup|modal|banner|message|search|tab|sidebar|navigation)"
    r"|(?:my|your|all|recent|latest|older|newer|past|blog) (?:orders|posts|payments|comments|bookings)"
    r"|drop down|dropdown|start page|show (?:more )?comments?)\b"
)
STRONG_TOKENS = frozenset(["delete", "trash", "bin", "destroy", "wipe", "erase", "purge", "danger", "destructive"])
_MARKS_DESTROY = (
    "delete|remove|trash|bin|wipe|erase|destroy|purge|danger|destructive|logout|unsubscribe|garbage|rubbish"
)
_SPLIT = re.compile(r"[^a-z0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Letters in circles and squares spell words too, but are symbols to ``str.isalpha``.
_ENCLOSED_LETTER = re.compile("[\u24b6-\u24e9\U0001f110-\U0001f189]")
_PICTURE = re.compile("[\U0001f300-\U0001faff]")


def words_of(text: str) -> str:
    """``text`` as lower-case words with one space between them; ``deleteItem`` is two words."""
    return _SPLIT.sub(" ", _CAMEL.sub(" ", text).lower()).strip()


def unreadable(text: str) -> bool:
    """Whether ``text`` says something that the lists above cannot hold: letters outside a-z, or a picture in place of words.

    Accented Latin letters count: ``words_of`` takes "löschen" apart. Signs such as "×", and pictures beside words, do not.
    """
    if any(character.isalpha() and not character.isascii() for character in text) or _ENCLOSED_LETTER.search(text):
        return True
    return not words_of(text) and bool(_PICTURE.search(text))


def matcher(terms: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{terms})\b")


TABLE: tuple[tuple[int, re.Pattern[str]], ...] = (
    (7, matcher(_DESTROY)),
    (6, matcher(_IDENTITY)),
    (5, matcher(_PAY)),
    (4, matcher(_SEND)),
)
READ = matcher(_READ)
BENIGN = re.compile(rf"(?:{_BENIGN_START})\b|.*\b(?:{_BENIGN_END})$")
"""Compared from the start of a name: the verb stands there."""
BENIGN_TOKENS = matcher(f"{_BENIGN_START}|hamburger|chevron|caret|arrow|times")
TOKEN_DESTROY = matcher(_MARKS_DESTROY)
CARD_FIELD = matcher("card|card number|cvc|cvv|iban|bic|sort code|account number")
SEARCHES = matcher(
    "search|find|query|filter|keyword|keywords|lookup|q|sort|order by|per page|page size|language|currency"
)
# A real link only reads, so its text must be a command to count ("Pay now"), not a topic ("How to pay").
LINK_COMMAND = re.compile(
    r"(?:(?P<seven>delete|remove|erase|wipe|destroy|purge|trash|revoke|unsubscribe|deactivate|reset|discard|empty"
    r"|terminate|log ?out|sign ?out|close (?:my |your |this )?account|cancel (?:my |your |this )?\w+)\b.*"
    r"|(?P<six>authori[sz]e|grant|allow access|make admin|impersonate)\b.*"
    r"|(?P<five>pay|buy|purchase|place|transfer|withdraw|donate)(?: (?:now|it|order|this|one|all|money|funds)\b.*)?"
    r"|(?P<four>send|post|publish|book|apply|submit|confirm|approve|accept|vote|like|follow|reply)"
    r"(?: (?:now|it|this|message|comment|order|all))?)$"
)
LINK_LEVELS = {"seven": 7, "six": 6, "five": 5, "four": 4}
