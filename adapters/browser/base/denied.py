"""Tells, by what comes to the console of a page, which service of the browser was refused to it.

A page could see a script of ours that watches such calls, so there is none. A refusal that the page keeps to itself is not known.
None of notifications is: ``Notification.requestPermission`` only answers “denied”.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_WORKER: Final = "Service Worker registration blocked by Playwright"
"""What Playwright writes to the console in place of a registration, in a context that blocks them."""
_CLIPBOARD: Final = re.compile(r"NotAllowedError: Failed to execute '(read|readText|write|writeText)' on 'Clipboard'")


def denied(said: Iterable[Mapping[str, Any]]) -> str:
    """What was refused, as a note; empty if nothing was. said: what a call of the console was given, or what was thrown."""
    for one in said:
        if one.get("value") == _WORKER:
            return "a service worker of the page was refused: none runs here"
        if one.get("className") == "DOMException" and (found := _CLIPBOARD.match(one.get("description", ""))):
            return f"the clipboard was refused to the page: {found[1]}"
    return ""
