"""Gives files to file fields, and to the file choosers that pages open."""

from __future__ import annotations

import mimetypes
from collections.abc import Awaitable, Callable, Sequence

from playwright.async_api import FilePayload, Locator, Page
from playwright.async_api import TimeoutError as PlaywrightTimeoutError

from adapters.ports.browser import GivenFile
from protocol.errors import MeshError
from protocol.page.seen.observation import Element


def payloads(given: Sequence[GivenFile]) -> list[FilePayload]:
    """``given`` as Playwright takes files."""
    return [
        {"name": file.name, "mimeType": mimetypes.guess_type(file.name)[0] or "", "buffer": file.data} for file in given
    ]


async def choose(
    page: Page,
    element: Element,
    target: Locator,
    given: Sequence[GivenFile],
    limit: int,
    require_own_point: Callable[[], Awaitable[None]],
) -> None:
    """Give files to ``element``: a file field, or an element whose click opens a file chooser.

    require_own_point: refuses a click that another control would receive. Errors: ``action.not_possible``, and those of
    Playwright.
    """
    files = payloads(given)
    try:
        if element.traits.input_type == "file":
            await target.set_input_files(files, timeout=limit)
            return
        await require_own_point()
        async with page.expect_file_chooser(timeout=limit) as chooser:
            await target.click(timeout=limit)
        await (await chooser.value).set_files(files, timeout=limit)
    except PlaywrightTimeoutError:
        raise MeshError("action.not_possible", f"the {element.role} opens no file chooser") from None
