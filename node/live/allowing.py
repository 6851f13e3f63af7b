"""Asks, while a file is recorded, about what its steps send: a step of which something was refused is done again with a yes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adapters.ports import Outcome
from node.live.asking import Asking, Sought, askable
from protocol.approval.forms import RequestForm
from protocol.approval.question import Cover, level_of
from protocol.page.action import Action
from protocol.page.secrets import Secrets
from protocol.risk.judgement import Risk
from protocol.risk.pressing import PRESSES

Allows = Callable[[Action, RequestForm, int], Awaitable[bool]]
"""True if a person allows requests of a form and a class that a step sends, for the rest of the recording."""


class Quiet:
    """Knows the answers of the owner, and asks nothing: the person who is at the terminal is asked there."""

    def __init__(self, asking: Asking) -> None:
        self.granted, self.covers, self.stands = asking.granted, asking.covers, asking.stands

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = ()) -> str:
        """Nothing is noted."""
        return ""


class Allowing:
    """What a person allows in one recording. Each form is asked about once."""

    def __init__(self, allows: Allows | None, secrets: Secrets) -> None:
        """secrets: nobody is asked about a request in whose form one stands."""
        self._allows = allows
        self._secrets = secrets
        self._asked: set[RequestForm] = set()
        self._yes: list[RequestForm] = []

    @property
    def covers(self) -> tuple[Cover, ...]:
        """What lets through what was allowed."""
        return (Cover(requests=tuple(self._yes)),) if self._yes else ()

    async def again(self, action: Action, risk: Risk, outcome: Outcome) -> bool:
        """Ask about what was refused while ``action`` was performed; whether it is to be done again, since something was allowed.

        What a page sends while nothing is pressed, it sends by itself: nobody is asked about that, also not later.
        """
        if self._allows is None:
            return False
        fresh = [form for form in askable(outcome.blocked_forms, self._secrets) if form not in self._asked]
        self._asked.update(fresh)
        if not isinstance(action, PRESSES):
            return False
        allowed = [form for form in fresh if await self._allows(action, form, max(level_of(form), risk.gravest))]
        self._yes += allowed
        return bool(allowed)
