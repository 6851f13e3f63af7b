"""Texts of a page in the form in which a recording holds them, to be compared with it. Pure.

A recording has the names of secrets in place of their values, and tokens in place of personal data. So a page is compared with it
in the same form. Nothing of this leaves the node for that reason: a record that leaves is redacted where it leaves
(``protocol.page.secrets.redaction.redacted``), also if it was made comparable before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from protocol.kinds import mapped
from protocol.page.secrets.redaction import Redaction, redact_address, redact_snapshot, redact_text

T = TypeVar("T")


def comparable(record: T, secrets: Mapping[str, str]) -> T:
    """``record`` with each of its texts as a recording holds it."""
    return mapped(record, Redaction(secrets))


def comparable_text(text: str, secrets: Mapping[str, str]) -> str:
    """``text`` as a recording holds it. secrets: with the tokens of personal data where a page says it, not an author."""
    return redact_text(text, secrets)


def comparable_address(url: str, secrets: Mapping[str, str]) -> str:
    """``url`` as a recording holds it: without tokens too."""
    return redact_address(url, secrets)


def comparable_snapshot(text: str, secrets: Mapping[str, str]) -> str:
    """The text of a page as a recording holds it, cut as there."""
    return redact_snapshot(text, secrets)
