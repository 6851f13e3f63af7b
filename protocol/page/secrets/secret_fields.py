"""Recognises fields for secrets: passwords, one-time codes, payment cards. Pure.

``adapters/browser/watching/watch_script.py`` applies the same test in a page, with the same words.
"""

from __future__ import annotations

import re
from typing import Final

from protocol.page.seen.observation import Element, Traits

_BY_AUTOCOMPLETE: Final = {
    "one-time-code": "code",
    "current-password": "password",
    "new-password": "new_password",
    "cc-number": "card_number",
    "cc-csc": "card_code",
    "cc-exp": "card_expiry",
    "cc-exp-month": "card_expiry_month",
    "cc-exp-year": "card_expiry_year",
    "cc-name": "card_name",
    "cc-given-name": "card_given_name",
    "cc-additional-name": "card_additional_name",
    "cc-family-name": "card_family_name",
    "cc-type": "card_type",
}
"""Name of the secret by a word of ``autocomplete`` (HTML, autofill detail tokens)."""
_TEXT_ROLES: Final = frozenset({"textbox", "searchbox", "spinbutton"})
WORDS: Final = frozenset(
    [
        "apikey",
        "code",
        "credential",
        "credentials",
        "csc",
        "cvc",
        "cvv",
        "iban",
        "jwt",
        "otp",
        "pass",
        "passphrase",
        "passwd",
        "password",
        "pin",
        "pwd",
        "secret",
        "ssn",
        "token",
    ]
)
"""A field with one of these words in its id or name is a field for secrets, whatever its type."""
PARTS: Final = ("passw", "secret", "token", "apikey", "accesskey", "credential", "cardnumber", "creditcard", "cardno")
"""The same, even within a longer word."""
LABEL: Final = (
    r"passw|passphrase|passcode|kennwort|mot de passe|contrase|wachtwoord|пароль|密码|密碼|パスワード|비밀번호"
    r"|\b(?:pin|otp|cvc2?|cvv2?|csc|iban|cryptogramme)\b"
    r"|\b(?:card|karten|security|verification|authentication|login|sms|access|one.?time)[ -]?(?:number|nummer|code)\b"
)
"""The same for the label of a field. “Code” alone is not enough, because a postal code or a voucher code is no secret. The
expression means the same in JavaScript.
"""
_LABEL: Final = re.compile(LABEL, re.IGNORECASE)
_LAST_WORDS: Final = frozenset(
    "2fa apikey csc cvc cvv mfa otp passcode passphrase passwd password pin pwd secret totp".split()  # noqa: SIM905
)
_LAST_PARTS: Final = (
    *(
        "accesskey",
        "accesstoken",
        "apikey",
        "authcode",
        "cardcode",
        "cardno",
        "cardnumber",
        "clientsecret",
        "creditcard",
    ),
    *("onetimecode", "otpcode", "secretkey", "securitycode", "smscode", "verificationcode"),
)
_BESIDE: Final = frozenset(
    {"again", "confirm", "confirmation", "field", "input", "new", "repeat", "text", "value", "verify"}
)
"""Words that may follow the word for the field's purpose."""
_BORDER: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_NAME: Final = re.compile(r"[^A-Za-z0-9]+")
_NAME_CHARS_MAX: Final = 32


def secret_name(element: Element) -> str:
    """The name that an author would give to the secret typed into ``element``; empty for any other field."""
    traits = element.traits
    hint = next((word for word in traits.autocomplete.lower().split() if word in _BY_AUTOCOMPLETE), "")
    if hint:  # not always the last word: "webauthn" may follow
        return _BY_AUTOCOMPLETE[hint]
    named = [value for name, value in traits.attributes if name in ("id", "name")]
    takes_text = traits.tag in ("input", "textarea") or element.role in _TEXT_ROLES
    if traits.input_type == "password" or (takes_text and (any(map(_speaks, named)) or _LABEL.search(element.name))):
        return name_for(element.name)
    return ""


def name_for(label: str) -> str:
    """A name for the secret of a field with this label: two fields of a form are two secrets."""
    return _NAME.sub("_", label.lower()).strip("_")[:_NAME_CHARS_MAX].strip("_") or "password"


def _speaks(text: str) -> bool:
    folded = text.lower()
    joined = _BORDER.sub("", folded)
    words = {word.lower() for word in _BORDER.split(text)}
    return bool(words & WORDS) or any(part in folded or part in joined for part in PARTS)


def is_named_secret(traits: Traits) -> bool:
    """True if the id or the name of a field ends with a word that only fields for secrets have.

    Narrower than ``secret_name``: a ``zip_code`` or a ``password_reset_email`` takes no secret.
    """
    return traits.tag in ("input", "textarea") and any(
        _ends_secret(value) for name, value in traits.attributes if name in ("id", "name")
    )


def _ends_secret(text: str) -> bool:
    words = [word.lower().rstrip("0123456789") or word for word in _BORDER.split(text) if word]
    while len(words) > 1 and (words[-1] in _BESIDE or words[-1].isdigit()):
        words.pop()
    return bool(words) and (words[-1] in _LAST_WORDS or "".join(words).endswith(_LAST_PARTS))
