"""The errors in the console of a page, by the step that they came in."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from adapters.ports import Page
from protocol import limits
from protocol.page.secrets.redaction import redact_address, redact_text
from protocol.page.secrets.secrets import SecretsAndTokens

_ADDRESS: Final = re.compile(r"https?://[^\s\"'<>()]+")


class Console:
    """Of one page."""

    def __init__(self, page: Page, secrets: SecretsAndTokens) -> None:
        self._page = page
        self._secrets = secrets
        self._before: tuple[str, ...] = ()

    def new(self) -> tuple[str, ...]:
        """The errors since the last call, without secrets and tokens in addresses: of a page at most ``CONSOLE_ERRORS_MAX``."""
        now = tuple(redact_console(each, self._secrets) for each in self._page.console_errors())
        now = tuple(each[: limits.CONSOLE_ERROR_CHARS_MAX] for each in now)
        # By count and not by place: with tabs, a later error of the first one stands before those of the second.
        known = Counter(self._before)
        self._before = now
        new = []
        for each in now:
            if known[each]:
                known[each] -= 1
            else:
                new.append(each)
        return tuple(new)


def redact_console(said: str, secrets: Mapping[str, str]) -> str:
    """An error in the console as it is stored: without secrets, also in the addresses that it names, and tokens in those."""
    # Errors name the addresses of requests, more often than texts of pages do.
    return redact_text(_ADDRESS.sub(lambda found: redact_address(found[0], secrets), said), secrets)
