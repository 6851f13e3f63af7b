"""Which fields hold what nobody else may read: passwords, one-time codes, payment cards. Pure."""

from __future__ import annotations

from typing import Final

from protocol.page.observation import Element
from protocol.page.redaction import secret_key

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
"""Name of the secret by the last word of ``autocomplete`` (HTML, autofill detail tokens)."""
CARD_WORDS: Final = frozenset({"cvc", "cvv", "csc", "cardnumber", "iban", "ssn", "creditcard", "ccnum"})
"""Words of a field's id or name that say what ``autocomplete`` would."""


def secret_name(element: Element) -> str:
    """The name of the secret that an author would give what is typed into ``element``; empty for any other field."""
    traits = element.traits
    known = _BY_AUTOCOMPLETE.get(traits.autocomplete.split()[-1] if traits.autocomplete.split() else "")
    if known:
        return known
    if traits.input_type == "password":
        return "password"
    named = [value for name, value in traits.attributes if name in ("id", "name")]
    if traits.tag in ("input", "textarea") and any(secret_key(value) or _is_card(value) for value in named):
        return "secret"
    return ""


def _is_card(value: str) -> bool:
    folded = "".join(char for char in value.lower() if char.isalnum())
    return any(word in folded for word in CARD_WORDS)
