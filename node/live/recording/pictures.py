"""Compresses screenshots without loss: WebP instead of Chromium's PNG.

Pictures are half to three quarters of a recording, and WebP takes about half of the bytes of PNG for web pages
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
"""The method of libwebp, from 0 (fast) to 6 (small)."""
_EFFORT: Final = 75
"""The effort of libwebp, from 0 to 100."""
_SIDE_PX_MAX: Final = 16_383
"""The largest side of a WebP picture."""

_WORTH_BYTES: Final = 1_024
"""Below this size, compression gains nothing."""


def data_address(picture: bytes) -> str:
    """A picture as a ``data:`` address for a page; empty if it is no picture, or too large to show."""
    form = form_of(picture, pixels_max=limits.VIEWPORT_PX_MAX**2)
    return f"data:{form.media_type};base64,{base64.b64encode(picture).decode()}" if form else ""


def compacted(png: bytes) -> bytes:
    """The picture of ``png`` as lossless WebP; ``png`` itself if WebP is larger or cannot be written.

    It takes about 30 ms of CPU time for a page of 1280 x 800 pixels, mostly without holding Python's lock, so call it in a thread.
    """
    from PIL import Image  # imported on first use, because many commands take no picture

    form = form_of(png)
    if form is None or max(form.width_px, form.height_px) > _SIDE_PX_MAX:
        return png
    try:
        with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
            # A page is opaque; three bytes for each pixel instead of four save a sixth of the time.
            plain = image if image.mode == "RGB" else image.convert("RGBA")
            out = io.BytesIO()
            # exact: keep the colour of invisible pixels too.
            plain.save(out, "WEBP", lossless=True, method=_METHOD, quality=_EFFORT, exact=True)
    except (OSError, SyntaxError, ValueError):
        return png
    return min(out.getvalue(), png, key=len)


class Pictures:
    """Compresses and stores the pictures of one recording, one at a time, while the next step is performed."""

    def __init__(self, keep: Callable[[int, bytes], Awaitable[None]]) -> None:
        """keep: stores the picture of the step with the given index."""
        self._keep = keep
        self._task: asyncio.Task[None] | None = None

    async def add(self, index: int, png: bytes) -> None:
        """Start with the picture of a step when the one before is stored. Errors: those of ``done``."""
        await self.done()
        self._task = asyncio.create_task(self._work(index, png), name="storing a picture")

    async def _work(self, index: int, png: bytes) -> None:
        image = await asyncio.to_thread(compacted, png) if len(png) >= _WORTH_BYTES else png
        if len(image) <= limits.SCREENSHOT_BYTES_MAX:
            await self._keep(index, image)

    async def done(self) -> None:
        """Wait until all pictures are stored. Errors: those of ``keep``, each once."""
        task = self._task
        if task is None:
            return
        # Waited for, not awaited: a caller that gives up must not cancel the storing of a picture.
        await asyncio.wait({task})
        self._task = None
        task.result()
