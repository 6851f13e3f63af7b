"""Asks the person at the terminal about the requests of a step while a file is recorded; the step waits for the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from adapters.ports.browser import Leaving
from node.live.acting.asking import Asking, Sought, askable
from protocol.approval.forms import RequestForm
from protocol.approval.question import Cover, level_of
from protocol.page.actions.action import Action
from protocol.page.secrets.secrets import Secrets

Allows = Callable[[Action, RequestForm, int], Awaitable[bool]]
"""True if the person allows requests of this form and class for the rest of the recording."""


class Quiet:
    """Knows the owner's earlier answers but never asks the owner: the person at the terminal is asked instead."""

    def __init__(self, asking: Asking) -> None:
        self.granted, self.covers, self.stands = asking.granted, asking.covers, asking.stands

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), exacts: tuple[bytes, ...] = ()) -> str:
        """Nothing is noted."""
        return ""


class Allowing:
    """The answers of a person during one recording. Each form is asked about once."""

    def __init__(self, allows: Allows, secrets: Secrets) -> None:
        """secrets: a request whose form contains one of them is refused without a question."""
        self._allows, self._secrets = allows, secrets
        self._answers: dict[RequestForm, bool] = {}

    @property
    def covers(self) -> tuple[Cover, ...]:
        """The cover of all requests that the person has allowed."""
        allowed = tuple(form for form, yes in self._answers.items() if yes)
        return (Cover(requests=allowed),) if allowed else ()

    async def decides(self, action: Action, level: int, leaving: Leaving) -> bool:
        """True if the request ``leaving``, caused by ``action``, may leave. level: the highest risk class of the action."""
        form = leaving.form
        if form not in self._answers:
            asks = askable((form,), self._secrets)
            self._answers[form] = bool(asks) and await self._allows(action, form, max(level_of(form), level))
        return self._answers[form]
