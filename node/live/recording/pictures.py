"""Makes screenshots smaller without changing a pixel: lossless WebP in the place of Chromium's PNG.

Half to three quarters of a recording are pictures, and WebP takes about half of the bytes of PNG for pages
(docs/adr/0039-lossless-pictures.md).
"""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Awaitable, Callable
from typing import Final

from protocol import limits
from protocol.recording.records.picture import form_of

_METHOD: Final = 1
"""Of libwebp, 0 (fast) to 6 (small)."""
_EFFORT: Final = 75
"""0 to 100."""
_SIDE_PX_MAX: Final = 16_383
"""What WebP can hold."""

_WORTH_BYTES: Final = 1_024
"""Of a smaller picture there is nothing to gain."""


def data_address(picture: bytes) -> str:
    """A picture as an address (``data:``) for a page; empty if it is none, or too large to be shown."""
    form = form_of(picture, pixels_max=limits.VIEWPORT_PX_MAX**2)
    return f"data:{form.media_type};base64,{base64.b64encode(picture).decode()}" if form else ""


def compacted(png: bytes) -> bytes:
    """The picture of ``png`` as lossless WebP; ``png`` itself where that is smaller, or cannot be written so.

    It takes some 30 ms of a processor for a page of 1280 x 800 pixels, most of it without Python's lock: call it in a thread.
    """
    from PIL import Image  # on first use: many commands take no picture

    form = form_of(png)
    if form is None or max(form.width_px, form.height_px) > _SIDE_PX_MAX:
        return png
    try:
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            # A page is opaque; that each pixel has three bytes and not four saves a sixth of the time.
            plain = image if image.mode == "RGB" else image.convert("RGBA")
            out = io.BytesIO()
            # exact: also the colour of pixels that cannot be seen.
            plain.save(out, "WEBP", lossless=True, method=_METHOD, quality=_EFFORT, exact=True)
    except (OSError, SyntaxError, ValueError):
        return png
    return min(out.getvalue(), png, key=len)


class Pictures:
    """Makes the pictures of one recording small and stores them, one at a time, while its next step is performed."""

    def __init__(self, keep: Callable[[int, bytes], Awaitable[None]]) -> None:
        """keep: stores the picture of the step with this index."""
        self._keep = keep
        self._task: asyncio.Task[None] | None = None

    async def add(self, index: int, png: bytes) -> None:
        """Begin with the picture of a step, once the one before is stored. Errors: those of ``done``."""
        await self.done()
        self._task = asyncio.create_task(self._work(index, png), name="storing a picture")

    async def _work(self, index: int, png: bytes) -> None:
        image = await asyncio.to_thread(compacted, png) if len(png) >= _WORTH_BYTES else png
        if len(image) <= limits.SCREENSHOT_BYTES_MAX:
            await self._keep(index, image)

    async def done(self) -> None:
        """Wait until all are stored. Errors: those of ``keep``, each once."""
        task = self._task
        if task is None:
            return
        # Not awaited itself: a caller who gives up waiting takes no picture away from the recording.
        await asyncio.wait({task})
        self._task = None
        task.result()
