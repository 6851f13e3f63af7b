"""Holds the requests of one page: asks about each, and releases it after the owner's yes (docs/adr/0067-hold-what-leaves.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import msgspec

from adapters.ports.browser import Leaving, Page
from adapters.ports.clock import Clock
from node.base.tasks import Tasks, any_of
from node.live.acting.asking import STANDS_IN, HoldAsking, Sought
from node.verbs.live.live import HeldRequest
from protocol.approval.forms import action_words, request_words
from protocol.approval.leaving import Fate
from protocol.approval.question import level_of
from protocol.errors import MeshError
from protocol.kinds import mapped
from protocol.page.secrets.redaction import Redaction, redacted, says_secret
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.names import Legible

Turn = Callable[[], AbstractAsyncContextManager[None]]
"""Inside the block, nobody else drives the page."""
Sent = Callable[[int, Leaving], Awaitable[None]]
"""Called with the index of a step when a held request of that step has left."""

Learn = Callable[[], Awaitable[None]]
"""Learns the values that a site has made for a login. Errors: ``browser.*``, ``input.too_large``."""


class Holder:
    """Asks about the held requests of one page, and releases or drops each of them."""

    def __init__(self, page: Page, asking: HoldAsking, clock: Clock, turn: Turn, sent: Sent, wait_s: int) -> None:
        self._page, self._asking, self._clock, self._turn, self._sent = page, asking, clock, turn, sent
        self.wait_s = wait_s
        self._waiting: dict[str, list[Leaving]] = {}
        """By question: the held request, and every repetition of it by the page."""
        self._tasks = Tasks()
        self._late: asyncio.Task[None] | None = None
        self.late = False
        """True if a request was held after the last action had ended."""
        self._untold: list[tuple[int, HeldRequest]] = []
        """Requests that were held late, of which no caller was told, and when."""

    async def ask(self, sought: Sought, leaving: tuple[Leaving, ...], secrets: Secrets) -> tuple[HeldRequest, ...]:
        """Hold each of the requests ``leaving`` that ``sought`` caused, and ask about it."""
        return tuple([await self._ask(sought, each, secrets) for each in leaving])

    def watch(self, sought: Sought, secrets: Secrets, learn: Learn) -> None:
        """The action ``sought`` has ended. Until ``begin``, also ask about requests that it causes late.

        learn: adds to ``secrets`` the values that the site has made meanwhile.
        """
        self._late = self._tasks.start(self._asks_late(sought, secrets, learn), "watching what leaves late")

    async def _asks_late(self, sought: Sought, secrets: Secrets, learn: Learn) -> None:
        while leaving := await self._page.late():
            self.late = True
            try:
                await learn()
            except MeshError:  # a question might show a value of a login
                for each in leaving:
                    self._page.keep_back(each.number)
            else:
                now_ms = self._clock.now_ms()
                self._untold += [(now_ms, each) for each in await self.ask(sought, leaving, secrets)]

    def untold(self) -> tuple[HeldRequest, ...]:
        """The requests that were held after their action had ended, each returned once, with the seconds that are left."""
        late, self._untold = self._untold, []
        now_ms = self._clock.now_ms()
        return tuple(
            msgspec.structs.replace(each, waits_s=max(0, each.waits_s - (now_ms - since_ms) // 1000))
            for since_ms, each in late
        )

    def begin(self) -> None:
        """The next action begins; late requests of the last one are no longer watched."""
        if self._late is not None:
            self._late.cancel()
            self._late = None
        self.late = False

    async def _ask(self, sought: Sought, leaving: Leaving, secrets: Secrets) -> HeldRequest:
        held = redacted(_held(sought, leaving), Redaction(secrets))
        question = ""
        # The owner's question is stored, so it must contain no secret.
        if not says_secret(request_words(leaving.form), secrets):
            question = await self._asking.hold(sought, leaving, held.address)
        if not question:
            self._page.keep_back(leaving.number)
        elif question in self._waiting:
            self._waiting[question].append(leaving)
        else:
            self._waiting[question] = [leaving]
            self._tasks.start(self._decide(question, sought.step), f"waiting for {question}")
        # A secret may be spread with invisible characters: they are made visible once it is out.
        shown = mapped(held, Legible())
        return msgspec.structs.replace(shown, question=question, waits_s=self.wait_s if question else 0)

    async def _decide(self, question: str, step: int) -> None:
        fate: Fate = "withdrawn"
        try:
            leaving = self._waiting[question][0]
            fate = await self._fate(question)
            if fate == "sent":
                await self._sent(step, leaving)
        finally:
            for each in self._waiting.pop(question):
                self._page.keep_back(each.number)  # sent only once, however often the page has repeated it
            await asyncio.shield(self._asking.became(question, fate))

    async def _fate(self, question: str) -> Fate:
        await any_of(self._asking.answered(question), self._clock.sleep(self.wait_s))
        if await self._asking.spend(question):
            return await self._let_go(question)
        return "refused" if await self._left(question) else "withdrawn"

    async def _left(self, question: str) -> Leaving | None:
        """The last repetition of the request that the page still waits for; None if the page has given up all of them."""
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
        except MeshError:  # the session has ended, or another call is running too long
            return "withdrawn"

    async def close(self) -> None:
        """Stop holding; nothing waits any more."""
        await self._tasks.close()


def waiting(error: MeshError, held: tuple[HeldRequest, ...]) -> MeshError:
    """``error`` of an action that waits for the answer to a request that is ``held``, with all of them."""
    if not held:
        return error
    question = next((each.question for each in held if each.question), "")
    names = ", ".join(f"{each.method} {each.address}" for each in held)
    fate = f"is held until the owner answers: `trailmesh approve yes {question}`" if question else "was refused"
    told = [msgspec.to_builtins(each) for each in held]
    detail = {**error.detail, "held": told, **({"question": question} if question else {})}
    return MeshError(error.code, f"{error.message}; what it sent {fate} ({names})", **detail)


def _held(sought: Sought, leaving: Leaving) -> HeldRequest:
    """The request of ``leaving``, which ``sought`` caused; not redacted."""
    return HeldRequest(
        question="",
        method=leaving.form.method,
        address=leaving.url,
        fields=(*leaving.form.query, *leaving.form.fields),
        size=leaving.size,
        risk=max(sought.level, level_of(leaving.form)),
        control=action_words(sought.form),
        row=next((each for each in sought.evidence if each.startswith(STANDS_IN)), ""),
        page=sought.page,
        waits_s=0,
    )
