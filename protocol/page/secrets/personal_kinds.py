"""Kinds of personal data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Kind = Literal["email", "phone", "card", "iban", "id"]
KINDS: Final[Mapping[Kind, str]] = {
    "email": "e-mail address",
    "phone": "telephone number",
    "card": "card number",
    "iban": "account number",
    "id": "national number",
}

Found = tuple[int, int, Kind, str]
"""Start, end, kind and normalised value."""
