"""Held requests of one page: asks about each, and lets it go once the owner has said yes (docs/adr/0067-hold-what-leaves.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from adapters.ports import Clock, Leaving, Page
from node.base import Tasks, any_of
from node.live.acting.asking import STANDS_IN, HoldAsking, Sought
from node.verbs.live.live import HeldRequest
from protocol.approval.forms import action_words, request_words
from protocol.approval.leaving import Fate
from protocol.approval.question import level_of
from protocol.errors import MeshError
from protocol.page.secrets.redaction import redact_address, redact_text
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.names import legible

Turn = Callable[[], AbstractAsyncContextManager[None]]
"""Nobody else drives the page within."""
Sent = Callable[[int, Leaving], Awaitable[None]]
"""Told that what a step sent has left, by its index."""

Learn = Callable[[], Awaitable[None]]
"""Learns what a site has made for a login. Errors: ``browser.*``, ``input.too_large``."""


class Holder:
    """Asks about the requests of one page that wait, and lets them go or holds them back."""

    def __init__(self, page: Page, asking: HoldAsking, clock: Clock, turn: Turn, sent: Sent, wait_s: int) -> None:
        self._page, self._asking, self._clock, self._turn, self._sent = page, asking, clock, turn, sent
        self.wait_s = wait_s
        self._waiting: dict[str, list[Leaving]] = {}
        """By question: the request, and each time that the page asked for it again."""
        self._tasks = Tasks()
        self._late: asyncio.Task[None] | None = None
        self.late = False
        """True if a request began to wait after the last action had ended."""

    async def ask(self, sought: Sought, leaving: tuple[Leaving, ...], secrets: Secrets) -> tuple[HeldRequest, ...]:
        """Ask about each of ``leaving``, which ``sought`` caused, and let it wait."""
        return tuple([await self._ask(sought, each, secrets) for each in leaving])

    def watch(self, sought: Sought, secrets: Secrets, learn: Learn) -> None:
        """``sought`` has ended: what it causes late is asked about too, until ``begin``.

        learn: adds to ``secrets`` what the site made meanwhile.
        """
        self._late = self._tasks.start(self._asks_late(sought, secrets, learn), "watching what leaves late")

    async def _asks_late(self, sought: Sought, secrets: Secrets, learn: Learn) -> None:
        while leaving := await self._page.late():
            self.late = True
            try:
                await learn()
            except MeshError:  # a question might show a login
                for each in leaving:
                    self._page.keep_back(each.number)
            else:
                await self.ask(sought, leaving, secrets)

    def begin(self) -> None:
        """The next action begins."""
        if self._late is not None:
            self._late.cancel()
            self._late = None
        self.late = False

    async def _ask(self, sought: Sought, leaving: Leaving, secrets: Secrets) -> HeldRequest:
        words, address = request_words(leaving.form), redact_address(leaving.url, secrets)
        question = ""
        if redact_text(words, secrets) == words:  # what the owner reads is stored
            question = await self._asking.hold(sought, leaving, address)
        if not question:
            self._page.keep_back(leaving.number)
        elif question in self._waiting:
            self._waiting[question].append(leaving)
        else:
            self._waiting[question] = [leaving]
            self._tasks.start(self._decide(question, sought.step), f"waiting for {question}")
        return HeldRequest(
            question=question,
            method=leaving.form.method,
            address=legible(address),
            fields=tuple(legible(redact_text(each, secrets)) for each in (*leaving.form.query, *leaving.form.fields)),
            size=leaving.size,
            risk=max(sought.level, level_of(leaving.form)),
            control=legible(action_words(sought.form)),
            row=legible(next((each for each in sought.evidence if each.startswith(STANDS_IN)), "")),
            page=legible(sought.page),
            waits_s=self.wait_s if question else 0,
        )

    async def _decide(self, question: str, step: int) -> None:
        fate: Fate = "withdrawn"
        try:
            leaving = self._waiting[question][0]
            fate = await self._fate(question)
            if fate == "sent":
                await self._sent(step + 1, leaving)  # a question names the step that shows the page
        finally:
            for each in self._waiting.pop(question):
                self._page.keep_back(each.number)  # sent once, however often the page has asked for it
            await asyncio.shield(self._asking.became(question, fate))

    async def _fate(self, question: str) -> Fate:
        await any_of(self._asking.answered(question), self._clock.sleep(self.wait_s))
        if await self._asking.spend(question):
            return await self._let_go(question)
        return "refused" if await self._left(question) else "withdrawn"

    async def _left(self, question: str) -> Leaving | None:
        """The last one that the page has not given up."""
        for each in reversed(self._waiting[question]):
            fate = asyncio.ensure_future(self._page.fate(each.number))
            await asyncio.wait({fate}, timeout=0)
            if not fate.done():
                fate.cancel()
                return each
        return None

    async def _let_go(self, question: str) -> Fate:
        last = await self._left(question)
        if last is None:
            return "withdrawn"
        if not last.document:
            return await self._page.let_go(last.number)
        try:
            async with self._turn():
                return await self._page.let_go(last.number)
        except MeshError:  # the session has ended, or another call does not
            return "withdrawn"

    async def close(self) -> None:
        """Nothing waits any more."""
        await self._tasks.close()
