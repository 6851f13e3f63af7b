"""Reads the form and the size of a screenshot from its first bytes.

A screenshot is PNG, or WebP in its simple lossless form (RFC 9649, section 2.6): one still picture without metadata. A bundle from
elsewhere can contain any bytes as a screenshot, and a small file can claim any number of pixels. So nothing decodes or shows a
picture before its size was read here.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from protocol import limits

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_PNG_HEAD: Final = b"\x00\x00\x00\x0dIHDR"
_WEBP_SIGNATURE: Final = 0x2F
_WEBP_SIDE_BITS: Final = 14


class PictureForm(NamedTuple):
    """The form and the size of a picture, according to its first bytes."""

    media_type: Literal["image/png", "image/webp"]
    width_px: int
    height_px: int


def form_of(picture: bytes, *, pixels_max: int = limits.PICTURE_PIXELS_MAX) -> PictureForm | None:
    """The form of ``picture``; None if it has neither form, or more than ``pixels_max`` pixels, or none."""
    form = _png(picture) or _webp(picture)
    if form is None or not 0 < form.width_px * form.height_px <= pixels_max:
        return None
    return form


def _png(picture: bytes) -> PictureForm | None:
    if not picture.startswith(_PNG + _PNG_HEAD) or len(picture) < 24:
        return None
    width, height = (int.from_bytes(picture[place : place + 4], "big") for place in (16, 20))
    return PictureForm("image/png", width, height)


def _webp(picture: bytes) -> PictureForm | None:
    named = picture[:4] == b"RIFF" and picture[8:16] == b"WEBPVP8L"
    if not named or len(picture) < 25 or picture[20] != _WEBP_SIGNATURE:
        return None
    sides = int.from_bytes(picture[21:25], "little")
    most = (1 << _WEBP_SIDE_BITS) - 1
    return PictureForm("image/webp", (sides & most) + 1, (sides >> _WEBP_SIDE_BITS & most) + 1)
