"""Screenshots as they are stored: smaller, and not a pixel different."""

from __future__ import annotations

import asyncio
import io
import random
import time
from typing import Any

import pytest
from PIL import Image, ImageDraw

from benchmarks.loop import longest_block
from node.live.recording import compacted, data_address
from node.live.recording.pictures import Pictures
from protocol import limits
from protocol.errors import MeshError
from protocol.recording.records.picture import form_of
from tests.tables import each


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def page(size: tuple[int, int] = (1280, 800)) -> Image.Image:
    """Boxes and letters, and a photograph in a corner: what a page looks like."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    chance = random.Random(7)
    for row in range(0, size[1], 20):
        draw.text((20, row), "".join(chance.choices("abcdefghij klm", k=120)), fill=(30, 30, row % 256))
    image.paste(Image.frombytes("RGB", (64, 64), chance.randbytes(64 * 64 * 3)), (8, 8))
    return image


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def test_a_picture_is_stored_as_smaller_webp_without_a_changed_pixel() -> None:
    given = page()
    stored = compacted(png(given))
    assert len(stored) < 0.8 * len(png(given))
    assert opened(stored).format == "WEBP"
    assert opened(stored).convert("RGB").tobytes() == given.tobytes()


@each("mode", ["RGBA", "P", "L"])
def test_no_pixel_changes_whatever_form_the_picture_has(mode: str) -> None:
    given = page((200, 100)).convert(mode)
    if mode == "RGBA":
        given.putpixel((3, 3), (200, 100, 50, 0))  # a colour that nobody sees
        given.putpixel((4, 4), (200, 100, 50, 120))
    stored = opened(compacted(png(given)))
    assert stored.format == "WEBP"
    assert stored.convert("RGBA").tobytes() == given.convert("RGBA").tobytes()


@each("given", [b"", b"no picture", b"\x89PNG\r\n\x1a\n", png(Image.new("RGB", (16_384, 2)))[:-30]])
def test_what_cannot_be_read_stays_as_it_is(given: bytes) -> None:
    assert compacted(given) is given


def test_a_picture_that_webp_cannot_hold_stays_a_png() -> None:
    given = png(Image.new("RGB", (16_384, 2)))
    assert compacted(given) is given


def test_a_picture_with_too_many_pixels_is_not_decoded() -> None:
    side = int(limits.PICTURE_PIXELS_MAX**0.5)
    largest, larger = (png(Image.new("1", (side, height))) for height in (side, side + 1))
    assert opened(compacted(largest)).format == "WEBP"
    assert compacted(larger) is larger


def test_the_size_of_a_picture_is_read_from_its_first_bytes() -> None:
    """Guard: protocol/recording/records/picture.py, form_of."""
    given = png(Image.new("RGB", (301, 99), "navy"))
    assert form_of(given[:24]) == ("image/png", 301, 99)
    assert form_of(compacted(given)[:25]) == ("image/webp", 301, 99)
    assert form_of(given, pixels_max=301 * 99) and not form_of(given, pixels_max=301 * 99 - 1)
    assert form_of(given[:23]) is None and form_of(compacted(given)[:24]) is None


@each("more", [{"lossless": False}, {"lossless": True, "save_all": True, "append_images": [Image.new("RGB", (9, 9))]}])
def test_a_webp_that_is_lossy_or_moves_is_no_screenshot(more: dict[str, Any]) -> None:
    out = io.BytesIO()
    page((9, 9)).save(out, "WEBP", **more)
    assert out.getvalue().startswith(b"RIFF")
    assert form_of(out.getvalue()) is None


async def test_the_event_loop_goes_on_while_a_picture_is_made_small() -> None:
    """By the loop's own processor time, so that a busy machine does not count; it waits with the thread that encodes."""
    given = png(page())
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.001)

    task = asyncio.create_task(count())
    with longest_block(time.thread_time) as longest:
        await asyncio.to_thread(compacted, given)
    task.cancel()
    assert longest[0] < 0.05
    assert turns > 3


def test_a_picture_of_either_form_has_an_address_and_nothing_else_has() -> None:
    small = compacted(png(page((60, 40))))
    assert data_address(png(page((60, 40)))).startswith("data:image/png;base64,iVBOR")
    assert data_address(small).startswith("data:image/webp;base64,UklGR")
    for other in (b"", b"RIFF\x00\x00\x00\x00WAVEfmt ", b"<svg onload=alert(1)>"):
        assert data_address(other) == ""


async def test_a_picture_is_stored_beside_what_follows_and_the_end_waits_for_it() -> None:
    may, kept = asyncio.Event(), []

    async def keep(index: int, image: bytes) -> None:
        await may.wait()
        kept.append((index, opened(image).format))

    pictures = Pictures(keep)
    await pictures.add(1, png(page((40, 20))))
    second = asyncio.create_task(pictures.add(2, png(page((40, 20)))))
    await asyncio.sleep(0)
    assert not second.done(), "no more than one waits in memory"
    may.set()
    await second
    await pictures.done()
    assert kept == [(1, "WEBP"), (2, "WEBP")]
    await pictures.done()


async def test_a_picture_that_cannot_be_stored_is_an_error_once() -> None:
    async def keep(index: int, image: bytes) -> None:
        raise MeshError("store.full")

    pictures = Pictures(keep)
    await pictures.add(1, b"picture")
    with pytest.raises(MeshError, match=r"store\.full"):
        await pictures.add(2, b"picture")
    await pictures.done()


async def test_who_gives_up_waiting_for_a_picture_takes_it_from_nobody() -> None:
    may, kept = asyncio.Event(), []

    async def keep(index: int, image: bytes) -> None:
        await may.wait()
        kept.append(index)

    pictures = Pictures(keep)
    await pictures.add(1, b"picture")
    waiting = asyncio.create_task(pictures.done())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    may.set()
    await pictures.done()
    assert kept == [1]
