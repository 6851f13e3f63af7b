"""Asks the owner on behalf of one caller."""

from __future__ import annotations

import logging

from adapters.ports.browser import Leaving
from node.approvals.noting import Noting, Waits
from node.live.acting import Sought
from node.verbs import Caller
from protocol import limits
from protocol.approval.forms import RequestForm
from protocol.approval.leaving import Fate
from protocol.approval.question import Cover
from protocol.errors import MeshError

log = logging.getLogger(__name__)


class Asker:
    """Implements ``node.live.Asking`` for one caller."""

    def __init__(self, approvals: Noting, caller: Caller, search: str) -> None:
        self._approvals, self._caller, self._search = approvals, caller, search

    async def granted(self, sought: Sought) -> Cover | None:
        """Implements ``Asking.granted``."""
        return next(iter(await self._approvals.use(sought, "action", self._caller, self._search)), None)

    async def covers(self, sought: Sought) -> tuple[Cover, ...]:
        """Implements ``Asking.covers``."""
        return await self._approvals.use(sought, "request", self._caller, self._search)

    async def stands(self, sought: Sought) -> bool:
        """Implements ``Asking.stands``."""
        return bool(self._approvals.answered(sought, self._caller, self._search))

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), exacts: tuple[bytes, ...] = ()) -> str:
        """Implements ``Asking.ask``."""
        try:
            return await self._approvals.note(sought, requests, str(self._caller), self._search, exacts)
        except MeshError as error:
            log.warning("a question could not be noted: %s", error)
            return ""

    async def hold(self, sought: Sought, leaving: Leaving, address: str) -> str:
        """Implements ``HoldAsking.hold``."""
        try:
            waits = Waits(address=address[: limits.URL_CHARS_MAX], size=leaving.size)
            exacts, caller = (leaving.exact,), str(self._caller)
            return await self._approvals.note(sought, (leaving.form,), caller, self._search, exacts, waits)
        except MeshError as error:
            log.warning("a question could not be noted: %s", error)
            return ""

    async def answered(self, question: str) -> None:
        """Implements ``HoldAsking.answered``."""
        await self._approvals.until_answered(question)

    async def spend(self, question: str) -> bool:
        """Implements ``HoldAsking.spend``."""
        try:
            return await self._approvals.spend_held(question)
        except MeshError as error:
            log.warning("a yes could not be used: %s", error)
            return False

    async def became(self, question: str, fate: Fate) -> None:
        """Implements ``HoldAsking.became``."""
        try:
            await self._approvals.became(question, fate)
        except MeshError as error:
            log.warning("it could not be noted what became of a request: %s", error)
