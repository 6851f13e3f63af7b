"""Asks Chromium for the content of closed shadow trees, which neither Playwright's snapshot nor a script of ours can read.

Opening each tree as its page attaches it would be simpler, but the page could detect it: a script may ask if its tree is open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from adapters.browser.finding.finding import ElementFinder
from adapters.browser.observing import scripts
from adapters.browser.observing.worlds import Worlds
from protocol.page.seen.names import fold
from protocol.page.seen.observation import Cut
from protocol.page.seen.whole import letters_of

_Captured = tuple[Mapping[str, Any], Sequence[str]]
_ELEMENT, _TEXT = 1, 3
_FRAMES_ASKED_MAX: Final = 20
_CONTROLS: Final = frozenset(
    {
        "A",
        "AREA",
        "AUDIO",
        "BUTTON",
        "CANVAS",
        "EMBED",
        "IMG",
        "INPUT",
        "METER",
        "OBJECT",
        "PROGRESS",
        "SELECT",
        "TEXTAREA",
    }
    | {"VIDEO", "svg"}
)
_FRAMES: Final = frozenset({"IFRAME", "FRAME"})
_CALLED_BY: Final = frozenset(
    {"alt", "aria-label", "aria-valuetext", "class", "data-testid", "id", "label", "placeholder", "title", "value"}
)
_SPOKEN: Final = ("alt", "aria-label", "title")
_FIELDS: Final = frozenset({"INPUT", "METER", "PROGRESS", "SELECT", "TEXTAREA"})
_SPEAKING: Final = frozenset({"aria-label", "aria-labelledby", "role", "tabindex"})
_WRAPPERS: Final = frozenset({"ARTICLE", "DIV", "FOOTER", "HEADER", "MAIN", "NAV", "SECTION", "SLOT", "SPAN"})
_UNPAINTED: Final = frozenset({"OPTION", "title"})
"""The name of a list or a drawing, which the page does not show as text."""


class Closed:
    """The closed shadow trees of one page."""

    def __init__(self, page: Page, session: CDPSession, worlds: Worlds, finding: ElementFinder) -> None:
        self._page = page
        self._finding = finding
        self._session = session
        self._worlds = worlds

    async def of_page(self, *, framed: bool) -> Cut | None:
        """As ``adapters.ports.Page.closed``. framed: in every frame, not only in the main one."""
        documents = await _captured(self._session)
        if not framed:
            return await asyncio.to_thread(_cut, documents[:1], framed=False)
        if len(documents) < len(self._page.frames):
            for frame in self._page.frames[1 : _FRAMES_ASKED_MAX + 1]:
                # Only a frame in another process has a session of its own.
                with contextlib.suppress(PlaywrightError):
                    session = await self._page.context.new_cdp_session(frame)
                    documents = [*documents, *await _captured(session)]
                    await session.detach()
        return await asyncio.to_thread(_cut, documents, framed=True)

    async def of_element(self, internal: str, *, said: bool) -> Cut | None:
        """As ``of_page``, within the element with this Playwright ref. said: only parts with words or content."""
        with contextlib.suppress(PlaywrightError):  # it has gone: its reader will report that
            session, held = await self._held(internal)
            try:
                return await _within(session, held, said=said) if held else None
            finally:
                if session is not self._session:
                    await session.detach()
        return None

    async def _held(self, internal: str) -> tuple[CDPSession, str]:
        """The session of the process of an element, and its object id there; empty if that cannot be found."""
        handle = self._finding.held.get(internal)
        if handle is None:
            if held := await self._worlds.object(scripts.by_ref("e => e", json.dumps(internal))):
                return self._session, held
            handles = await self._finding.at(internal).element_handles()
            handle = handles[0] if handles else None
        frame = await handle.owner_frame() if handle else None
        if handle is None or frame is None:
            return self._session, ""
        node = scripts.NODE_AT.replace("PATH", json.dumps(await handle.evaluate(scripts.PATH_TO)), 1)
        if frame == self._page.main_frame:
            return self._session, await self._worlds.object(node, self._worlds.main_frame)
        session = await self._page.context.new_cdp_session(frame)
        tree = await session.send("Page.getFrameTree")
        world = await session.send("Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"]})
        found = await session.send("Runtime.evaluate", {"expression": node, "contextId": world["executionContextId"]})
        return session, str(found["result"].get("objectId", ""))


async def _within(session: CDPSession, held: str, *, said: bool) -> Cut | None:
    node = (await session.send("DOM.describeNode", {"objectId": held, "depth": -1, "pierce": True}))["node"]
    if not _has_closed(node):
        return None
    documents = await _captured(session)
    return await asyncio.to_thread(_cut, documents, framed=True, top=node["backendNodeId"], said=said)


def _has_closed(top: Mapping[str, Any]) -> bool:
    # Not by recursion: a page can nest deeper than the call stack allows.
    pending = [top]
    while pending:
        node = pending.pop()
        if node.get("shadowRootType") == "closed":
            return True
        pending += [*node.get("children", ()), *node.get("shadowRoots", ())]
        if "contentDocument" in node:
            pending.append(node["contentDocument"])
    return False


def _has_trees(captured: _Captured) -> bool:
    document, strings = captured
    return any(strings[kind] == "closed" for kind in document["nodes"]["shadowRootType"]["value"])


async def _captured(session: CDPSession) -> list[_Captured]:
    """The documents of a process, the outermost first, and the texts that they refer to by number."""
    taken = await session.send("DOMSnapshot.captureSnapshot", {"computedStyles": ["visibility"]})
    return [(document, taken["strings"]) for document in taken["documents"]]


class _Document:
    """A document in Chromium's layout: light children stand where they are shown, in the slots of a shadow tree."""

    def __init__(self, captured: _Captured, top: int = 0) -> None:
        """top: the node whose inside alone is read; 0 for the whole document."""
        document, self._strings = captured
        self._nodes = document["nodes"]
        self._layout = document["layout"]
        self._parents: list[int] = self._nodes["parentIndex"]
        types = self._nodes["shadowRootType"]
        self._types = {at: self._strings[kind] for at, kind in zip(types["index"], types["value"], strict=True)}
        tops = [] if not top else [at for at, node in enumerate(self._nodes["backendNodeId"]) if node == top]
        self._top = -1 if not top else tops[0] if tops else len(self._parents)
        self._names: list[int] = self._nodes["nodeName"]
        self._inside = self._closed()
        """For each node: True if it stands in a closed tree, or in an open one within such a tree, …"""
        self._around: list[bool] = []
        """… and True if it is shown in an element that does, and may take its name from it. Parents stand before children."""
        for parent in self._parents:
            self._around.append(
                parent >= 0 and (self._around[parent] or (self._inside[parent] and not self._is_plain(parent)))
            )

    def _name(self, at: int) -> str:
        return self._strings[self._names[at]]

    def _closed(self) -> list[bool]:
        inside: list[bool] = []
        for at, parent in enumerate(self._parents):
            kind = self._types.get(at, "")
            if kind == "open" and parent >= 0 and self._types.get(parent) == "closed" and self._name(parent) == "SLOT":
                # The content of an open tree is shown in the slot of a closed one: it stands where that tree's host stands.
                while parent >= 0 and self._types.get(parent) == "closed":
                    parent = self._parents[parent]
            inside.append(kind == "closed" or (kind == "open" and parent >= 0 and inside[parent]))
        return inside

    def _is_plain(self, at: int) -> bool:
        """True for a mere wrapper. The text in its slots is read at its place in the page's markup."""
        return self._name(at) in _WRAPPERS and not self._attributes(at).keys() & _SPEAKING

    def _is_within(self, at: int) -> bool:
        if self._top < 0:
            return True
        while at > self._top:
            at = self._parents[at]
        return at == self._top

    def shown(self) -> Iterator[tuple[int, str]]:
        """The texts, and the controls without text, in closed trees, by node."""
        laid = self._layout
        visible = [bool(style) and self._strings[style[0]] == "visible" for style in laid["styles"]]
        for place, at in enumerate(laid["nodeIndex"]):
            if not (self._inside[at] and visible[place] and self._is_within(at)):
                continue
            text = self._strings[laid["text"][place]] if laid["text"][place] >= 0 else ""
            if text.strip():
                yield at, text
            elif self._nodes["nodeType"][at] == _ELEMENT and self._is_control(at):
                _, _, width, height = laid["bounds"][place]
                if width * height > 0:
                    yield at, ""

    def _is_control(self, at: int) -> bool:
        return self._name(at) in _CONTROLS | _FRAMES or bool(self._attributes(at).keys() & _SPEAKING)

    def speaks(self, at: int, text: str) -> bool:
        """True if ``shown`` gives words, the content of a field or the name of a picture, not just a shape."""
        called = any(self._attributes(at).get(name, "").strip() for name in _SPOKEN) if not text else False
        return bool(fold(text)) or called or self._name(at) in _FIELDS

    def has_frame(self, at: int) -> bool:
        """True for a frame, which can contain anything."""
        return self._name(at) in _FRAMES

    def _is_unpainted(self, at: int) -> bool:
        """True for text that ``shown`` leaves out."""
        return not self._inside[at] or self._name(self._parents[at]) in _UNPAINTED

    def _attributes(self, at: int) -> dict[str, str]:
        flat = [self._strings[each] if each >= 0 else "" for each in self._nodes["attributes"][at]]
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def callings(self) -> Iterator[str]:
        """Further names of elements in closed trees: attributes, contents of fields, options, light text in slots."""
        values = self._nodes["nodeValue"]
        for at, kind in enumerate(self._nodes["nodeType"]):
            if kind == _ELEMENT and (self._inside[at] or self._around[at]):
                yield self._name(at)
                yield from (value for name, value in self._attributes(at).items() if name in _CALLED_BY)
            elif kind == _TEXT and self._around[at] and values[at] >= 0 and self._is_unpainted(at):
                yield self._strings[values[at]]
        for held in (self._nodes["inputValue"], self._nodes["textValue"]):
            for at, value in zip(held["index"], held["value"], strict=True):
                if self._inside[at] and self._attributes(at).get("type", "").lower() != "password":
                    yield self._strings[value]


def _cut(captured: Sequence[_Captured], *, framed: bool, top: int = 0, said: bool = False) -> Cut | None:
    """The omitted parts of these documents, or of the node ``top`` in one of them. framed: also frames in closed trees, which
    may contain anything. said: only parts with words or content.
    """
    count, called, anything = 0, list[str](), False
    for document in (_Document(each, top) for each in captured if _has_trees(each)):
        found = [(at, text) for at, text in document.shown() if framed or not document.has_frame(at)]
        found = [(at, text) for at, text in found if not said or document.speaks(at, text)]
        count += len(found)
        anything = anything or any(document.has_frame(at) for at, _ in found)
        texts = "".join(text for _, text in found)
        called += [texts, *document.callings()] if found else []
    if not count:
        return None
    letters = None if anything else "\n".join(letters_of(each) for each in called)
    return Cut(bound="closed", left_out=count, letters=letters)
