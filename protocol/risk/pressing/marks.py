"""Reads the markup of a control: words in its id, class, ``name`` and icon. These are English in pages of any language."""

from __future__ import annotations

import re
from typing import Final

from protocol.risk.addresses.segments import words_in
from protocol.risk.words import say
from protocol.risk.words.text import read

_COLOURS: Final = frozenset({"danger", "destructive"})
"""Words for the colour of a control only. “Cancel” beside “Save” is often as red as “Delete”."""
_DESTROYING: Final = _COLOURS | {
    "delete", "remove", "trash", "bin", "wipe", "erase", "destroy", "purge", "logout", "unsubscribe", "garbage", "rubbish",
}  # fmt: skip
_PAYING: Final = frozenset({"pay", "buy", "purchase", "checkout", "donate"})
_SEARCHING: Final = frozenset({"search", "find", "query", "filter", "keyword", "keywords", "lookup", "q", "sort"})
_CARD: Final = re.compile(r"\b(?:card(?: number)?|cvc|cvv|iban|bic|sort code|account number)\b")
_OTHERS: Final = {
    "card": re.compile(r"card (?:title|text|description|composer|search|front|back|message|recipient|filter|header)"),
    "pin": re.compile(r"(?:map|location|drop|push) pin(?: \w+)?|pin (?:board|map|drop)"),
}
"""Names of other cards (parts of a layout, greeting cards) and of pins on a map."""
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


def destroying(tokens: tuple[str, ...], label: str) -> str:
    """The word among ``tokens`` that marks something destructive; a colour counts only if there is no other word; empty if none.

    “Clear search” often has the class ``remove``.
    """
    found = [token for token in tokens if token in _DESTROYING]
    if found == ["remove"] and say(label).kind in ("view", "search"):
        return ""
    return min(found, key=paints, default="")


def paints(token: str) -> bool:
    """True if ``token`` is only about the colour of a control."""
    return token in _COLOURS


def paying(tokens: tuple[str, ...]) -> str:
    """The word among ``tokens`` that marks a payment; empty if none does."""
    return next((token for token in tokens if token in _PAYING), "")


def searching(tokens: tuple[str, ...]) -> bool:
    """True if ``tokens`` mark a field or list that searches or sorts."""
    return not _SEARCHING.isdisjoint(tokens)


def mail_address(label: str) -> bool:
    """True if the ``label`` of a field asks for an e-mail address: “Your e-mail address”."""
    said = " ".join(re.findall(r"\w+", read(label)))
    return said in _MAILS or _MAIL.fullmatch(said) is not None


def of_field(tokens: tuple[str, ...], attributes: tuple[tuple[str, str], ...] = ()) -> int:
    """6 if ``tokens`` mark a field of identity or access, 5 for a field of payment, 0 otherwise. attributes: as in ``Traits``."""
    named = [" ".join(words_in(value)) for name, value in attributes if name in ("id", "name")]
    other = {word for word, fits in _OTHERS.items() if any(map(fits.fullmatch, named)) and word not in named}
    text = " ".join(token for token in tokens if token not in other)
    return 6 if _SECRET.search(text) else 5 if _CARD.search(text) else 0
