"""The requests of one page that wait for a yes (docs/adr/0067-hold-what-leaves.md).

Requests of scripts stay paused in the browser. A paused document request would block the page, so it is refused and stored. It is
sent again with its own method, headers and body, while the page still shows the document that requested it.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final

from adapters.ports.browser import Leaving
from protocol import limits
from protocol.approval.forms import UNREAD, request_form
from protocol.approval.leaving import Fate, request_exact
from protocol.recording.records.manifest import Effect
from protocol.trust.origin import origin_of

_ANSWERS_S: Final = 1.0  # a page that is silent for this long is waiting for a synchronous request


class Held:
    """One waiting request, until its fate is known."""

    def __init__(self, leaving: Leaving, event: Mapping[str, Any], body: str, *, document: bool) -> None:
        loop = asyncio.get_running_loop()
        self.leaving, self.event, self.document = leaving, event, document
        self.body = body.encode("utf-8", "surrogateescape")
        self.decision: asyncio.Future[bool] = loop.create_future()
        """Resolves to True when the request may leave."""
        self.fate: asyncio.Future[Fate] = loop.create_future()
        self.told = self.gone = False
        """``told``: an outcome has reported it. ``gone``: it was let go."""

    @property
    def key(self) -> tuple[str, str]:
        return self.event["request"]["method"], self.event["request"]["url"]

    def end(self, fate: Fate) -> None:
        """Set its final fate; a second call changes nothing."""
        if not self.fate.done():
            self.fate.set_result(fate)
        if not self.decision.done():
            self.decision.set_result(False)


async def _never() -> bool:
    return True


_NUMBERS: Final = itertools.count(1)
"""One sequence for all pages: no number occurs twice among the tabs of a session."""


class WaitingRequests:
    """The waiting requests of one page."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}
        self._holds = False
        self._ending: Counter[tuple[str, str]] = Counter()
        """Refused requests that had been held. The browser reports each of them as failed; such a report is ignored."""
        self._new = asyncio.Event()
        self._until = 0.0
        """The time until which late requests of the last action are held."""
        self._resent: Held | None = None
        """The document that is about to be sent again."""
        self.answers: Callable[[], Awaitable[bool]] = _never
        """Resolves to True if the page answers."""
        self.blocks: Callable[[Held], None] = lambda held: None
        """Called with a request that blocks its page, after which it is refused."""

    # --- the action at hand ---

    def begin(self, *, holds: bool) -> None:
        """An action begins. holds: requests that it causes and that need a yes are held."""
        self._holds, self._until = holds, float("inf")

    def end(self, *, late: bool) -> None:
        """The action has ended. late: requests that it causes from now on are held as well."""
        self._until = time.monotonic() + (limits.HELD_LATE_S if late else 0)

    @property
    def due(self) -> bool:
        """True while a request that needs a yes is held."""
        return self._holds and time.monotonic() < self._until

    def told(self) -> tuple[Leaving, ...]:
        """The waiting requests that no outcome has reported."""
        new = [each for each in self._held.values() if not each.told and not each.fate.done()]
        for each in new:
            each.told = True
        return tuple(each.leaving for each in new)

    async def late(self) -> tuple[Leaving, ...]:
        """Requests that began to wait after the last action ended, once there are any; empty after the time for them."""
        while not (new := self.told()) and (left := self._until - time.monotonic()) > 0:
            self._new.clear()
            try:
                async with asyncio.timeout(left):
                    await self._new.wait()
            except TimeoutError:
                break
        return new

    # --- refusals of the guard ---

    def take(
        self, event: Mapping[str, Any], kind: str, body: str | None, effect: Effect, *, main: bool, at: str
    ) -> bool:
        """Hold a request that the guard refuses because a yes is missing. False if its kind cannot wait, or too many wait.

        main: it belongs to the main frame of the page, and to no worker. at: the address of the page.
        """
        document = kind == "document"
        waiting = sum(not each.fate.done() for each in self._held.values())
        if not self.due or body is None or waiting >= limits.HELD_PER_PAGE_MAX:
            return False
        if not (main if document else kind in ("xhr", "fetch")):
            return False
        request, number = event["request"], next(_NUMBERS)
        method, url, headers = request["method"], request["url"], request["headers"]
        # Sent again, it would look as if the person had opened the address: the site could not see that another site sent it.
        if (document and origin_of(url) != origin_of(at)) or len(url) > limits.URL_CHARS_MAX:
            return False
        content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
        leaving = Leaving(
            number=number,
            url=url,
            form=request_form(effect.method, url, content_type, body, effect.chosen),
            exact=request_exact(method, url, headers, body),
            effect=effect,
            document=document,
            size=len(body.encode("utf-8", "surrogateescape")),
        )
        if leaving.form.body == UNREAD:
            return False
        self._held[number] = held = Held(leaving, event, body, document=document)
        held.fate.add_done_callback(lambda _: self._forget())
        self._new.set()
        return True

    def _forget(self) -> None:
        """Drop the oldest requests of known fate; somebody may still ask for the newest ones."""
        over = [number for number, each in self._held.items() if each.fate.done()]
        for number in over[: -limits.HELD_PER_PAGE_MAX]:
            del self._held[number]

    def waits(self, event: Mapping[str, Any]) -> Held | None:
        """The held request of ``event``, if it stays paused."""
        found = (each for each in self._held.values() if each.event is event and not each.document)
        return next(found, None)

    async def until_told(self, held: Held) -> bool:
        """Wait for the decision about a paused request. True if it may leave."""
        if held.event.get("resourceType") == "XHR" and not await self._answers() and not held.fate.done():
            held.end("refused")
            self.blocks(held)
        goes = await held.decision
        if not goes and held.fate.done() and held.fate.result() == "refused":
            self._ending[held.key] += 1
        return goes

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(_ANSWERS_S):
                return await self.answers()
        except TimeoutError:
            return False

    # --- fates of the requests ---

    def gave_up(self, method: str, url: str, body: bytes | None) -> bool:
        """The page gave up a request, or it failed; a request that was sent may have arrived. Returns True if it was still
        waiting.
        """
        if self._ending[method, url]:
            self._ending[method, url] -= 1
            return True
        # Only the oldest one, because a page may give up a request and send it again.
        found = next((each for each in self._alike(method, url, body) if not each.document), None)
        if found is not None:
            found.end("unknown" if found.gone else "withdrawn")
        return found is not None and not found.gone

    def answered(self, method: str, url: str, body: bytes | None) -> None:
        """The site has answered a request."""
        found = next((each for each in self._alike(method, url, body) if each.gone), None)
        if found is not None:
            found.end("sent")

    def _alike(self, method: str, url: str, body: bytes | None) -> Iterator[Held]:
        """Requests of unknown fate that an event may be about, oldest first. body: None if the event has none."""
        for each in self._held.values():
            same = each.key == (method, url) and (not (body and each.body) or each.body == body)
            if same and not each.fate.done():
                yield each

    def left(self) -> None:
        """The page shows another document: held requests of the last one are withdrawn."""
        for each in self._held.values():
            if not each.gone:
                each.end("withdrawn")

    def close(self) -> None:
        """The page is gone."""
        for each in self._held.values():
            each.end("unknown" if each.gone else "withdrawn")

    # --- answers to callers ---

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of the known requests."""
        return frozenset(self._held)

    async def fate(self, number: int) -> Fate:
        """The fate of a request, once it is known."""
        held = self._held.get(number)
        return await asyncio.shield(held.fate) if held else "withdrawn"

    def refuse(self, number: int) -> None:
        """Refuse a request: it does not leave."""
        if (held := self._held.get(number)) and not held.gone:
            held.end("refused")

    async def let_go(self, number: int, send: Callable[[str], Awaitable[bool]]) -> Fate:
        """Let a request go, once. Returns its fate. send: opens the address of a document, and returns whether the site
        answered."""
        held = self._held.get(number)
        if held is None or held.fate.done() or held.gone:
            return held.fate.result() if held and held.fate.done() else "withdrawn"
        held.gone = True
        if held.document:
            await self._anew(held, send)
        else:
            held.decision.set_result(True)
        try:
            async with asyncio.timeout(limits.HELD_ANSWER_S):
                return await asyncio.shield(held.fate)
        except TimeoutError:
            held.end("unknown")
            return "unknown"

    async def _anew(self, held: Held, send: Callable[[str], Awaitable[bool]]) -> None:
        self._resent, answered = held, False
        try:
            answered = await send(held.leaving.url)
        finally:
            left, self._resent = self._resent is None, None
            held.end("sent" if left and answered else "unknown" if left else "refused")

    def resends(self, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The request to send in place of the one in ``event``; None unless that is a document being sent again."""
        held = self._resent
        if held is None or event.get("resourceType") != "Document" or event["request"]["url"] != held.leaving.url:
            return None
        self._resent = None
        request: Mapping[str, Any] = held.event["request"]
        return request
