"""Asks, while a file is recorded at a terminal, about what its steps send: it waits until the person there has answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adapters.ports import Leaving
from node.live.acting.asking import Asking, Sought, askable
from protocol.approval.forms import RequestForm
from protocol.approval.question import Cover, level_of
from protocol.page.actions.action import Action
from protocol.page.secrets.secrets import Secrets

Allows = Callable[[Action, RequestForm, int], Awaitable[bool]]
"""True if a person allows requests of a form and a class that a step sends, for the rest of the recording."""


class Quiet:
    """Knows the answers of the owner, and asks nothing: the person who is at the terminal is asked there."""

    def __init__(self, asking: Asking) -> None:
        self.granted, self.covers, self.stands = asking.granted, asking.covers, asking.stands

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), exacts: tuple[bytes, ...] = ()) -> str:
        """Nothing is noted."""
        return ""


class Allowing:
    """What a person allows in one recording. Each form is asked about once."""

    def __init__(self, allows: Allows, secrets: Secrets) -> None:
        """secrets: nobody is asked about a request in whose form one stands."""
        self._allows, self._secrets = allows, secrets
        self._answers: dict[RequestForm, bool] = {}

    @property
    def covers(self) -> tuple[Cover, ...]:
        """What lets through what was allowed."""
        allowed = tuple(form for form, yes in self._answers.items() if yes)
        return (Cover(requests=allowed),) if allowed else ()

    async def decides(self, action: Action, level: int, leaving: Leaving) -> bool:
        """True if a request that ``action`` causes may leave. level: the gravest class of the action."""
        form = leaving.form
        if form not in self._answers:
            asks = askable((form,), self._secrets)
            self._answers[form] = bool(asks) and await self._allows(action, form, max(level_of(form), level))
        return self._answers[form]
