"""Writes the storage that a context begins with, before any script of a site runs in it.

Only a document of an origin can write its storage. So the first page shows one blank document of each origin, without scripts; its
request is answered here and never reaches the site. Storage that is partitioned by a site on top is written in a frame inside a
blank document of that site. Afterwards the page is blank again.
"""

from __future__ import annotations

import asyncio
import base64
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from playwright.async_api import BrowserContext, CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from adapters.browser.base.faults import is_gone
from adapters.browser.state.storage_scripts import WRITE
from protocol.capsule.storage_key import site_on_top
from protocol.errors import MeshError

_BLANK: Final = "about:blank"
_NOTHING: Final = ""
_PIECE_CHARS: Final = 256 * 1024
_GIVEN: Final = "globalThis.trailmeshGiven"
"""A name in an isolated world: no script of a page can see it, and it disappears with the blank document."""
_TRIES: Final = 100
_PAUSE_S: Final = 0.001
_PAUSE_S_MAX: Final = 0.01
_ANSWER: Final = [
    {"name": "Content-Type", "value": "text/html"},
    {"name": "Content-Security-Policy", "value": "default-src 'none'; frame-src *"},
]


async def seeded(context: BrowserContext, origins: Sequence[Mapping[str, Any]]) -> Page:
    """A blank page of ``context``, in which the storage of ``origins`` was written, each as in a ``storage_state``.

    Errors: ``browser.state`` for storage that the browser does not take; ``browser.launch``; those of Playwright.
    """
    page = await context.new_page()
    try:
        session = await context.new_cdp_session(page)
        seeding = _Seeding(page, session)
        await seeding.start()
        for origin in origins:
            await seeding.write(origin)
        await seeding.end()
    except BaseException:
        await asyncio.shield(page.close())
        raise
    return page


class _Seeding:
    """A page that shows blank documents, over its session of the DevTools protocol."""

    def __init__(self, page: Page, session: CDPSession) -> None:
        self._page, self._session = page, session
        self._asked: dict[str, str] = {}
        """The addresses that are answered, with their answers; all others are refused."""
        self._shown: asyncio.Queue[str] = asyncio.Queue()
        """Names of the documents that the main frame shows, as they come; ``_NOTHING`` once the page has crashed."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Answer the page's requests from now on."""
        self._page.once("crash", lambda _: self._shown.put_nowait(_NOTHING))
        self._session.on("Fetch.requestPaused", self._paused)
        self._session.on("Page.frameNavigated", self._navigated)
        await asyncio.gather(
            self._session.send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}), self._session.send("Page.enable")
        )

    def _navigated(self, event: Mapping[str, Any]) -> None:
        if "parentId" not in event["frame"]:
            self._shown.put_nowait(event["frame"]["loaderId"])

    def _paused(self, event: Mapping[str, Any]) -> None:
        task = asyncio.ensure_future(self._answer(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, event: Mapping[str, Any]) -> None:
        request = {"requestId": event["requestId"]}
        try:
            body = self._asked.get(event["request"]["url"]) if event["resourceType"] == "Document" else None
            if body is not None:
                coded = base64.b64encode(body.encode()).decode()
                answer = request | {"responseCode": 200, "responseHeaders": _ANSWER, "body": coded}
                await self._session.send("Fetch.fulfillRequest", answer)
            else:
                await self._session.send("Fetch.failRequest", request | {"errorReason": "BlockedByClient"})
        except PlaywrightError:
            return  # the page has gone, or gave the request up

    async def show(self, url: str, *, frame: str = "") -> str:
        """Show the blank document at ``url``; returns the name of its frame. frame: the address of a blank frame in it.

        Errors: ``browser.launch``.
        """
        self._asked = {url: f'<iframe src="{html.escape(frame)}"></iframe>' if frame else "", frame: ""}
        begun = await self._session.send("Page.navigate", {"url": url})
        if "loaderId" not in begun or begun.get("errorText"):
            raise MeshError("browser.launch", "the browser shows no blank document to write storage in")
        while (shown := await self._shown.get()) != begun["loaderId"]:
            if shown == _NOTHING:
                raise MeshError("browser.crashed", "the page crashed in which storage was written")
        return str(begun["frameId"])

    async def end(self) -> None:
        """Make the page as blank as a new one, without a history."""
        await self.show(_BLANK)
        for tries in range(1, _TRIES + 1):
            try:
                await self._session.send("Page.resetNavigationHistory")
            except PlaywrightError as error:
                # The renderer announces a document before the browser knows it.
                if is_gone(error) or tries == _TRIES:
                    raise
                await asyncio.sleep(min(tries * _PAUSE_S, _PAUSE_S_MAX))
            else:
                break
        await self._session.detach()

    async def write(self, stored: Mapping[str, Any]) -> None:
        """Write all storage of one origin. Errors: ``browser.state``, ``browser.launch``."""
        address, key = f"{stored['origin']}/", stored.get("storageKey", "")
        if not key:
            await _write(self._session, await self.show(address), stored)
            return
        site = f"{site_on_top(stored['origin'], key)}/"
        async with self._page.expect_event("framenavigated", lambda frame: frame.url == address) as arrived:
            await self.show(site, frame=address)
        session = await self._page.context.new_cdp_session(await arrived.value)
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        found = (await session.send("Storage.getStorageKeyForFrame", {"frameId": frame}))["storageKey"]
        if found != key:
            raise MeshError("browser.state", f"the browser does not keep the storage of {address} within {site} apart")
        await _write(session, frame, stored)
        await session.detach()


async def _write(session: CDPSession, frame: str, stored: Mapping[str, Any]) -> None:
    """Write ``stored`` in the blank document that ``frame`` shows. Errors: ``browser.state``."""
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
    asked = {"contextId": world["executionContextId"], "awaitPromise": True, "returnByValue": True}
    # As text, because a name like ``__proto__`` has another meaning in a script than in JSON. In pieces, because a message is
    # encoded at once in the event loop, and a login can have megabytes.
    text = await asyncio.to_thread(_encoded, stored)
    for at in range(0, len(text), _PIECE_CHARS):
        piece = json.dumps(text[at : at + _PIECE_CHARS])
        await session.send("Runtime.evaluate", asked | {"expression": f"void ({_GIVEN} = ({_GIVEN} ?? '') + {piece})"})
    answer = (await session.send("Runtime.evaluate", asked | {"expression": f"({WRITE})({_GIVEN})"}))["result"].get(
        "value"
    )
    if answer != "":
        raise MeshError(
            "browser.state",
            f"the browser does not take the {answer if isinstance(answer, str) else 'storage'} of {stored['origin']}",
        )


def _encoded(stored: Mapping[str, Any]) -> str:
    """``stored`` as JSON. Value by value: a single call would block every thread until it is done."""
    return "".join(json.JSONEncoder().iterencode(stored))
