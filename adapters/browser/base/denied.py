"""Finds, in the console messages of a page, the browser service that the page was refused.

A page could detect a script of ours that watches such calls, so there is none. A refusal that the page does not log stays unknown.
Refused notifications are always unknown: ``Notification.requestPermission`` only answers “denied”.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_WORKER: Final = "Service Worker registration blocked by Playwright"
"""Playwright's console message for a service worker, in a context that blocks their registration."""
_CLIPBOARD: Final = re.compile(r"NotAllowedError: Failed to execute '(read|readText|write|writeText)' on 'Clipboard'")


def denied(said: Iterable[Mapping[str, Any]]) -> str:
    """A note that names the refused service; empty if none was refused. said: the arguments of a console call, or the thrown
    value."""
    for one in said:
        if one.get("value") == _WORKER:
            return "a service worker of the page was refused: none runs here"
        if one.get("className") == "DOMException" and (found := _CLIPBOARD.match(one.get("description", ""))):
            return f"the clipboard was refused to the page: {found[1]}"
    return ""
