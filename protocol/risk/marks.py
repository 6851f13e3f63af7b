"""What the markup of a control says: words of its id, class, ``name`` and icon. They are English in pages of any language.

They are what the page claims. They raise a class; they lower it only where a control has no label at all.
"""

from __future__ import annotations

import re
from typing import Final

from protocol.risk.segments import words_in
from protocol.risk.words.text import read

_DESTROYING: Final = frozenset(
    {
        "delete", "remove", "trash", "bin", "wipe", "erase", "destroy", "purge", "danger", "destructive", "logout",
        "unsubscribe", "garbage", "rubbish",
    }
)  # fmt: skip
_ALWAYS: Final = frozenset({"delete", "trash", "bin", "destroy", "wipe", "erase", "purge", "danger", "destructive"})
"""Those that count although the label is harmless: “Clear search” often has the class ``remove``."""
_COLOURS: Final = frozenset({"danger", "destructive"})
"""Those that only say how a control is painted. “Cancel” beside “Save” is often as red as “Delete”."""
_PAYING: Final = frozenset({"pay", "buy", "purchase", "checkout", "donate"})
_CHANGING: Final = frozenset(
    {"send", "submit", "save", "publish", "post", "upload", "like", "follow", "share", "subscribe"}
)
_VIEWING: Final = frozenset(
    {
        "search", "find", "filter", "filters", "sort", "next", "previous", "prev", "back", "forward", "first", "last", "more",
        "less", "show", "hide", "view", "expand", "collapse", "menu", "navigation", "close", "dismiss", "zoom", "play",
        "carousel", "preview", "help", "refresh", "hamburger", "chevron", "caret", "arrow", "theme",
    }
)  # fmt: skip
_ARROWS: Final = frozenset({"arrow", "caret", "chevron"})
_UP: Final = frozenset({"up", "upward"})
_OF_VIEWS: Final = frozenset({"top", "scroll", "totop", "collapse", "accordion", "sort", "expand", "menu", "dropdown"})
"""Beside one of these an arrow up moves the view."""
_STARTING: Final = frozenset({"play", "refresh", "forward"})
_OF_MEDIA: Final = frozenset({
    "media", "carousel", "slider", "player", "video", "audio", "swiper", "slick", "gallery", "history", "vjs", "plyr", "jp", "ytp",
    "mejs", "youtube", "podcast", "lightbox", "hero",
})  # fmt: skip
_MOVED: Final = frozenset({"seek", "volume", "progress", "zoom", "price", "before", "after", "position"})
"""What the names of sliders of players and of lists of goods are about."""
_SEARCHING: Final = frozenset({"search", "find", "query", "filter", "keyword", "keywords", "lookup", "q", "sort"})
_CARD: Final = re.compile(r"\b(?:card(?: number)?|cvc|cvv|iban|bic|sort code|account number)\b")
_OTHERS: Final = {
    "card": re.compile(r"card (?:title|text|description|composer|search|front|back|message|recipient|filter|header)"),
    "pin": re.compile(r"(?:map|location|drop|push) pin(?: \w+)?|pin (?:board|map|drop)"),
}
"""An ``id`` or a ``name`` of cards that a page is laid out in, or that are sent at Christmas; and of pins on a map."""
_SECRET: Final = re.compile(
    r"\b(?:password|passphrase|passwort|passcode|api key|access token|secret key|private key|two factor|2fa|mfa|otp|"
    r"totp|one time code|verification code|recovery code|pin)\b"
)
_BESIDE_MAIL: Final = (
    r"(?:your|my|the|enter|new|current|confirm|repeat|again|optional|required|work|business|personal|contact|primary|"
    r"user)"
)
_MAIL_LABELS: Final = (
    "E-Mail-Adresse", "Ihre E-Mail", "Ihre E-Mail-Adresse", "E-mailadres", "Uw e-mailadres", "E-post", "E-postadresse",
    "E-postadress", "Sähköposti", "Sähköpostiosoite", "Adresse e-mail", "Votre e-mail", "Adresse électronique", "Courriel",
    "Adresse courriel", "Correo electrónico", "Correo", "Tu correo electrónico", "Dirección de correo electrónico",
    "Correu electrònic", "Endereço de e-mail", "Seu e-mail", "Correio eletrónico", "Indirizzo email", "Indirizzo e-mail",
    "La tua email", "Posta elettronica", "Adres e-mail", "Adresa e-mail", "E-mailová adresa", "E-pošta", "E-mail cím",
    "E-posta", "E-posta adresi", "Alamat email", "Địa chỉ email", "Эл. почта", "Электронная почта", "Адрес эл. почты",
    "Электронный адрес", "Електронна пошта", "Имейл", "Ηλεκτρονικό ταχυδρομείο", "メールアドレス", "メール",
    "邮箱", "电子邮件", "电子邮箱",
    "電子郵件", "電子信箱", "이메일", "이메일 주소", "البريد الإلكتروني", "דואר אלקטרוני", "אימייל", "ईमेल", "อีเมล",
)  # fmt: skip
_MAILS: Final = frozenset(" ".join(re.findall(r"\w+", read(label))) for label in _MAIL_LABELS)
_MAIL: Final = re.compile(rf"(?:{_BESIDE_MAIL} )*e ?mail(?: address)?(?: {_BESIDE_MAIL})*")


def destroying(tokens: tuple[str, ...], *, harmless: bool) -> str:
    """The word among ``tokens`` that marks something destructive, empty if none. harmless: the label is a view."""
    counted = _ALWAYS if harmless else _DESTROYING
    found = [token for token in tokens if token in counted]
    return min(found, key=paints, default="")


def paints(token: str) -> bool:
    """Whether ``token`` only says how a control is painted."""
    return token in _COLOURS


def nameless(tokens: tuple[str, ...]) -> tuple[int, str]:
    """Class and word of a control without a label, by ``tokens``; (0, "") if they say nothing."""
    for level, counted in ((5, _PAYING), (4, _CHANGING), (1, _VIEWING)):
        for token in tokens:
            if token in counted:
                return (0, "") if level == 1 and _acts_too(token, tokens) else (level, token)
    return 0, ""


def _acts_too(token: str, tokens: tuple[str, ...]) -> bool:
    """Whether an icon is also that of something that acts: an arrow up votes or sends, “play” starts what a row is of."""
    if token in _ARROWS:
        return not _UP.isdisjoint(tokens) and _OF_VIEWS.isdisjoint(tokens)
    return token in _STARTING and _OF_MEDIA.isdisjoint(tokens)


def crosses(tokens: tuple[str, ...]) -> bool:
    """Whether they are those of a cross of Bulma: ``<button class="delete is-small">``."""
    return set(tokens) <= _OF_CROSSES


_OF_CROSSES: Final = frozenset({"delete", "is", "small", "medium", "large", "close", "modal"})


def of_chooser(tokens: tuple[str, ...]) -> bool:
    """Whether they are of a list or a calendar of a library, which one button empties: ``MuiAutocomplete-clearIndicator``."""
    return "clear" in tokens and not _CHOOSERS.isdisjoint(tokens)


_CHOOSERS: Final = frozenset({"autocomplete", "picker", "select", "clearable", "datepicker", "combobox"})


def of_media(tokens: tuple[str, ...], name: str) -> bool:
    """Whether a slider moves along a film, a picture or a range of prices: nothing is set by it."""
    return not _OF_MEDIA.isdisjoint(tokens) or not _MOVED.isdisjoint([*tokens, *read(name).split()])


def searching(tokens: tuple[str, ...]) -> bool:
    """Whether ``tokens`` mark a field or list that searches or sorts."""
    return not _SEARCHING.isdisjoint(tokens)


def mail_address(label: str) -> bool:
    """Whether ``label``, of small letters and blanks, is one for an e-mail address: “e mail”, “your e mail address”."""
    return label in _MAILS or _MAIL.fullmatch(label) is not None


def of_field(tokens: tuple[str, ...], attributes: tuple[tuple[str, str], ...] = ()) -> int:
    """6 if ``tokens`` mark a field of identity or access, 5 for one of payment, 0 otherwise. attributes: as ``Traits`` has them."""
    named = [" ".join(words_in(value)) for name, value in attributes if name in ("id", "name")]
    other = {word for word, fits in _OTHERS.items() if any(map(fits.fullmatch, named)) and word not in named}
    text = " ".join(token for token in tokens if token not in other)
    return 6 if _SECRET.search(text) else 5 if _CARD.search(text) else 0
