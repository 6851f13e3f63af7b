"""Compares two screenshots and marks their differences. Bytes that are no picture give no comparison and no error.

A bundle from elsewhere can contain any bytes as a screenshot, so size and format are checked before decoding.
"""

from __future__ import annotations

import io
from typing import Final

import msgspec
from PIL import Image, ImageChops

from protocol.recording.records.picture import form_of

_FORMATS: Final = ("PNG", "WEBP")
_SAME_UP_TO: Final = 24
"""Differences of a colour channel (0 to 255) up to this one are not marked: edges of letters vary that much between two
machines.
"""
_MARK: Final = (214, 40, 40)
_FADED: Final = 0.75
_COLOURS: Final = 64


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Two screenshots, compared pixel by pixel."""

    per_mille: int
    """Share of pixels that differ, in thousandths, rounded up: 0 exactly if none differs."""
    marked: bytes = b""
    """PNG of the replay's picture, faded, with the differences in red; empty if nothing differs."""


def compare_pictures(recorded: bytes, met: bytes) -> Compared | None:
    """The comparison of two pictures; None if one of them cannot be read. Pictures of different sizes are aligned at the upper
    left corner.
    """
    if recorded == met:
        return Compared(per_mille=0)
    old, new = _opened(recorded), _opened(met)
    if old is None or new is None:
        return None
    size = (max(old.width, new.width), max(old.height, new.height))
    old, new = _on_canvas(old, size), _on_canvas(new, size)
    red, green, blue = ImageChops.difference(old, new).split()
    strongest = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    mask = strongest.point([255 if value > _SAME_UP_TO else 0 for value in range(256)])
    differing = mask.histogram()[255]
    if not differing:
        return Compared(per_mille=0)
    faded = Image.blend(new.convert("L").convert("RGB"), Image.new("RGB", size, "white"), _FADED)
    faded.paste(_MARK, mask=mask)
    out = io.BytesIO()
    faded.quantize(_COLOURS).save(out, "PNG", optimize=True)
    return Compared(per_mille=-(-1_000 * differing // (size[0] * size[1])), marked=out.getvalue())


def _opened(data: bytes) -> Image.Image | None:
    if form_of(data) is None:  # a small file can claim any number of pixels, and then use that much memory
        return None
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            return image.convert("RGB")
    except (OSError, SyntaxError, ValueError):
        return None


def _on_canvas(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    if image.size == size:
        return image
    canvas = Image.new("RGB", size, "black")
    canvas.paste(image)
    return canvas
