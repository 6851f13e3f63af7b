"""Waits for the end of a navigation, even if the new page requested another document in its place."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

from adapters.browser.egress import Activity, NetworkGuard

_POLL_S: Final = 0.25


async def until_opened(work: Coroutine[Any, Any, object], activity: Activity, guard: NetworkGuard) -> None:
    """Return when ``work``, a navigation of Playwright, is done. Also return when the new page stays because the document that it
    requested in its place was refused.

    A script that submits a form while the page is still being parsed ends the parsing, and such a page never reports that it is
    complete. If the navigation itself was refused, no page comes, so its own end is waited for, however late it is reported.
    """
    task, before = asyncio.ensure_future(work), activity.documents
    try:
        while not task.done():
            await asyncio.wait({task}, timeout=_POLL_S)
            came = activity.documents > before
            if came and guard.document is not None and not activity.navigating and not task.done():
                return
        await task
    finally:
        if not task.done():
            task.cancel()
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
