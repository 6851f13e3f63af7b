"""Removes secrets from the texts of pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from protocol.page.secrets.redaction import redact_text
from protocol.page.secrets.secret_search import Search
from protocol.page.secrets.secrets import Secrets

Mask = Callable[[str], str]


def masker(secrets: Mapping[str, str], passwords: Sequence[str] = ()) -> Mask:
    """A function that replaces the values of secrets and the contents of password fields, in all forms of ``secret_search``."""
    # Without values to search for, the text of a page is returned unchanged.
    nothing = isinstance(secrets, Secrets) and not secrets
    given: Mask = str if nothing else lambda text: redact_text(text, secrets)
    if not passwords:
        return given
    typed = Search({value: value for value in passwords})
    # Given secrets first: a password field may contain one of them, and then its name is shown.
    return lambda text: typed.replace(given(text), lambda _: "‹password›")
