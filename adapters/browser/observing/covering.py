"""Covers text in a picture where it is painted.

``DOMSnapshot`` gives each line of text with its place, also in closed shadow trees, frames and pseudo-elements, and after
transforms and scrolling. It is taken before and after the picture: if the places differ, the page moved meanwhile.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from PIL import Image, ImageDraw
from playwright.async_api import CDPSession

from protocol.page.showing.covering import Box, Piece

STYLES: Final = (
    "text-shadow",
    "filter",
    "-webkit-box-reflect",
    "column-count",
    "column-width",
    "border-left-width",
    "border-top-width",
    "padding-left",
    "padding-top",
)
_PAINTED: Final = frozenset({"value", "placeholder", "alt", "label"})
"""Attributes that are painted in the box of their element."""
_FRAMES: Final = frozenset({"iframe", "frame", "fencedframe"})
_PIXELS: Final = re.compile(r"-?[\d.]+(?=px)")
_PADDING_PX: Final = 3
_SHADOW_PX_MAX: Final = 2_000
_DEPTH_MAX: Final = 64


class Placed:
    """The painted content of a page, according to one snapshot."""

    def __init__(self, snapshot: Mapping[str, Any]) -> None:
        self._documents = snapshot["documents"]
        self._strings = snapshot["strings"]
        self.pieces: list[Piece] = []
        """In document order, with boxes in the coordinates of the picture."""
        self.closed: list[Box] = []
        """Frames that the snapshot does not cover: those of other processes."""
        self.doubled = False
        """True if something is painted in another place than the snapshot says, or twice."""
        if self._documents:
            self._read(0, (0.0, 0.0), None, 0)

    def _string(self, index: int) -> str:
        return self._strings[index] if index >= 0 else ""

    def _read(self, number: int, origin: tuple[float, float], whole: Box | None, depth: int) -> None:
        """Read the pieces of a document. whole: the box of its frame, if its content cannot be placed more exactly."""
        document = _Document(self, self._documents[number])
        at = origin[0] - document.scrolled[0], origin[1] - document.scrolled[1]
        self.doubled = self.doubled or document.doubled()
        for text, box in document.texts():
            self.pieces.append(Piece(text, whole or _moved(box, at)))
        for child, box, inner in document.frames():
            outer = whole or _moved(box, at)
            if child is None or depth == _DEPTH_MAX:
                self.closed.append(outer)
            elif whole is not None or inner is None:
                self._read(child, (0.0, 0.0), outer, depth + 1)
            else:
                self._read(child, (at[0] + inner[0], at[1] + inner[1]), None, depth + 1)


class _Document:
    """One document of a snapshot."""

    def __init__(self, placed: Placed, told: Mapping[str, Any]) -> None:
        self._string = placed._string
        self._nodes, self._layout, self._lines = told["nodes"], told["layout"], told["textBoxes"]
        self._of_node = {node: place for place, node in reversed(list(enumerate(self._layout["nodeIndex"])))}
        self.scrolled = told.get("scrollOffsetX", 0.0), told.get("scrollOffsetY", 0.0)

    def texts(self) -> Iterator[tuple[str, Box]]:
        """Each painted text and its box: lines of text, and the content of fields and pictures."""
        found = [*self._text_lines(), *self._fields()]
        for node, text, box in sorted(found, key=lambda one: one[0]):
            yield text, self._grown(node, box)

    def _text_lines(self) -> Iterator[tuple[int, str, Box]]:
        lines = self._lines
        for place, bounds, start, length in zip(
            lines["layoutIndex"], lines["bounds"], lines["start"], lines["length"], strict=True
        ):
            # Offsets count UTF-16 units.
            units = self._string(self._layout["text"][place]).encode("utf-16-le", "replace")
            text = units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace")
            if text.strip():
                yield self._layout["nodeIndex"][place], text, Box(*bounds)

    def _fields(self) -> Iterator[tuple[int, str, Box]]:
        """Text painted in the box of an element that is no text of the document: of fields, lists and pictures."""
        for kind in ("inputValue", "textValue"):
            rare = self._nodes.get(kind, {"index": [], "value": []})
            for node, value in zip(rare["index"], rare["value"], strict=True):
                yield from self._in_box(node, self._string(value))
        for node, attributes in enumerate(self._nodes["attributes"]):
            for name, value in zip(attributes[::2], attributes[1::2], strict=True):
                if self._string(name).lower() in _PAINTED:
                    yield from self._in_box(node, self._string(value))
        for node, name in enumerate(self._nodes["nodeName"]):
            if self._string(name) == "#text" and node not in self._of_node:
                around = self._around(node, "SELECT")
                if around >= 0:
                    yield from self._in_box(around, self._string(self._nodes["nodeValue"][node]))

    def _in_box(self, node: int, text: str) -> Iterator[tuple[int, str, Box]]:
        if node in self._of_node and text.strip():
            yield node, text, Box(*self._layout["bounds"][self._of_node[node]])

    def _around(self, node: int, name: str) -> int:
        parents = self._nodes["parentIndex"]
        for _ in range(4):
            node = parents[node]
            if node < 0 or self._string(self._nodes["nodeName"][node]) == name:
                return int(node)
        return -1

    def _grown(self, node: int, box: Box) -> Box:
        """``box``, enlarged by the parts that stand out of it."""
        padding = _PADDING_PX + self._shadow(node)
        return Box(box.left - padding, box.top - padding, box.width + 2 * padding, box.height + 2 * padding)

    def _shadow(self, node: int) -> float:
        shadow = self._style(node, "text-shadow")
        return min(_SHADOW_PX_MAX, sum(abs(float(each)) for each in _PIXELS.findall(shadow)))

    def doubled(self) -> bool:
        """True if a filter or a reflection paints something twice, or columns or a path move text from its line."""
        return any(
            self._style(node, "-webkit-box-reflect") not in ("", "none")
            or re.search(r"drop-shadow|url", self._style(node, "filter"))
            or self._style(node, "column-count") not in ("", "auto")
            or self._style(node, "column-width") not in ("", "auto")
            or self._string(self._nodes["nodeName"][node]).lower() == "textpath"
            for node in self._of_node
        )

    def _style(self, node: int, name: str) -> str:
        place = self._of_node.get(node)
        styles = self._layout["styles"][place] if place is not None else ()
        return self._string(styles[STYLES.index(name)]) if len(styles) == len(STYLES) else ""

    def frames(self) -> Iterator[tuple[int | None, Box, tuple[float, float] | None]]:
        """Each frame that is shown: the number of its document, if the snapshot has it; its box; its inner corner.

        The corner is None if the content of the frame is turned or scaled.
        """
        owners = self._nodes["contentDocumentIndex"]
        numbers = dict(zip(owners["index"], owners["value"], strict=True))
        for node, place in self._of_node.items():
            number = numbers.get(node)
            if number is None and self._string(self._nodes["nodeName"][node]).lower() not in _FRAMES:
                continue
            box = Box(*self._layout["bounds"][place])
            size: Sequence[float] = self._layout["offsetRects"][place][2:] if self._layout.get("offsetRects") else ()
            plain = len(size) == 2 and abs(size[0] - box.width) < 1 and abs(size[1] - box.height) < 1
            edges = [
                sum(self._pixels(node, f"{kind}-{side}") for kind in ("border", "padding")) for side in ("left", "top")
            ]
            yield number, box, (box.left + edges[0], box.top + edges[1]) if plain else None

    def _pixels(self, node: int, name: str) -> float:
        name = f"{name}-width" if name.startswith("border") else name
        found = _PIXELS.search(self._style(node, name))
        return float(found[0]) if found else 0.0


def _moved(box: Box, by: tuple[float, float]) -> Box:
    return Box(box.left + by[0], box.top + by[1], box.width, box.height)


async def placed(session: CDPSession) -> Placed:
    """The painted content of the page now. Raises Playwright's ``Error``."""
    asked = {"computedStyles": list(STYLES), "includeDOMRects": True}
    snapshot = await session.send("DOMSnapshot.captureSnapshot", asked)
    return await asyncio.to_thread(Placed, snapshot)


def with_boxes(png: bytes, boxes: Sequence[Box], width_px: float) -> bytes:
    """``png``, which shows ``width_px`` CSS pixels across, with ``boxes`` filled in black."""
    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        plain = image.convert("RGB")
    scale = plain.width / width_px
    draw = ImageDraw.Draw(plain)
    for box in boxes:
        left, top = int(box.left * scale), int(box.top * scale)
        right, bottom = int((box.left + box.width) * scale) + 1, int((box.top + box.height) * scale) + 1
        if right > 0 and bottom > 0 and left < plain.width and top < plain.height:
            draw.rectangle((left, top, right, bottom), fill="black")
    out = io.BytesIO()
    plain.save(out, "PNG", compress_level=1)
    return out.getvalue()
