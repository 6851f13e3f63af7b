"""What the owner is asked about an action, and the port to whoever asks and remembers the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from adapters.ports import Leaving
from node.verbs import Caller
from protocol import limits
from protocol.approval.forms import ActionForm, RequestForm, action_exact, action_form, request_words
from protocol.approval.leaving import Fate
from protocol.approval.question import Cover
from protocol.page.actions.action import Action
from protocol.page.secrets.redaction import Redaction, redact_address, redact_text, redacted
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Element, Observation
from protocol.risk.pressing.classes import Risk

STANDS_IN: Final = "it stands in"
"""Begins the evidence that names the row or card of a control."""


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """An action that needs a yes, without secrets."""

    exact: bytes
    form: ActionForm
    page: str
    """Address of the page."""
    level: int
    evidence: tuple[str, ...]
    """Why it has this class; the reason that decided comes first."""
    session: str = ""
    step: int = 0


def seek(
    action: Action,
    element: Element | None,
    observation: Observation,
    risk: Risk,
    secrets: Secrets,
    step: tuple[str, int] = ("", 0),
) -> Sought:
    """What is asked about ``action`` on the page of ``observation``. step: session and index, if it is recorded."""
    plain = redacted(action, Redaction(secrets))
    if element is not None:
        element = msgspec.structs.replace(
            element, name=redact_text(element.name, secrets), context=redact_text(element.context, secrets)
        )
    page = redact_address(observation.url, secrets)
    # The judgement may carry the evidence of several sources; the reason is that of the one that decided.
    says = [risk.reason, *(each.says for each in risk.evidence)]
    if element is not None and element.context:
        says.append(f"{STANDS_IN} “{element.context}”")  # one of many rows may have the same button
    evidence = tuple(dict.fromkeys(redact_text(each, secrets)[: limits.REASON_CHARS_MAX] for each in says))
    return Sought(
        exact=action_exact(plain, element, page),
        form=action_form(plain, element, page),
        page=page[: limits.URL_CHARS_MAX],
        level=risk.level,
        evidence=evidence[: limits.QUESTION_EVIDENCE_MAX],
        session=step[0],
        step=step[1],
    )


def askable(forms: tuple[RequestForm, ...], secrets: Secrets) -> tuple[RequestForm, ...]:
    """Those of ``forms`` in which no secret stands: what the owner reads is stored."""
    return tuple(form for form in forms if redact_text(request_words(form), secrets) == request_words(form))


class Asking(Protocol):
    """Puts questions to the owner for one caller, and knows the answers. Nothing here waits for a person."""

    async def granted(self, sought: Sought) -> Cover | None:
        """What a yes to this action lets through; None without one. A yes for once is used up. Errors: ``store.*``."""

    async def covers(self, sought: Sought) -> tuple[Cover, ...]:
        """Requests that the owner has allowed while this action is performed. Those for once are used up. Errors: ``store.*``."""

    async def stands(self, sought: Sought) -> bool:
        """Whether the owner has said yes to this action. Nothing is used up."""

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), exacts: tuple[bytes, ...] = ()) -> str:
        """Note a question, unless the same one is noted; its id, empty if there are too many. Never raises.

        requests: what the guard refused; without them the question is about the action. exacts: ``request_exact`` of those of which
        all is known.
        """


class HoldAsking(Asking, Protocol):
    """Asks about what is held. Nothing here raises."""

    async def hold(self, sought: Sought, leaving: Leaving, address: str) -> str:
        """Note a question about a request that waits; that of the same request that waits already is joined. Its id; empty if there
        are too many. address: that of ``leaving``, redacted."""

    async def answered(self, question: str) -> None:
        """Return once there is an answer."""

    async def spend(self, question: str) -> bool:
        """Use the yes for the request that waits; False if there is none that holds."""

    async def became(self, question: str, fate: Fate) -> None:
        """Note what became of the request."""


Asks = Callable[[Caller, str], HoldAsking]
"""Who asks for a caller, in a search or (empty) outside of one."""
