"""The question that the owner is asked about an action, and the port that asks it and remembers the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Protocol

import msgspec

from adapters.ports.browser import Leaving
from node.verbs import Caller
from protocol import limits
from protocol.approval.forms import ActionForm, RequestForm, action_exact, action_form, request_words
from protocol.approval.leaving import Fate
from protocol.approval.question import Cover
from protocol.kinds import Done, PageAddress, PageText, Plain
from protocol.page.actions.action import Action
from protocol.page.secrets.redaction import Redaction, redacted, says_secret
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Element, Observation
from protocol.risk.pressing.classes import Risk

STANDS_IN: Final = "it stands in"
"""Begins the line of evidence that names the row or card around a control."""


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """An action that needs a yes, without secrets."""

    exact: bytes
    form: ActionForm
    page: Done
    """Address of the page."""
    level: int
    evidence: tuple[Done, ...]
    """Why it has this class; the reason that decided comes first."""
    session: Plain = ""
    step: int = 0


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """The subject of a question. It is redacted before its forms are made, because they are hashed."""

    action: Action
    name: PageText
    context: PageText
    page: PageAddress
    says: tuple[Annotated[PageText, msgspec.Meta(max_length=limits.REASON_CHARS_MAX)], ...]


def seek(
    action: Action,
    element: Element | None,
    observation: Observation,
    risk: Risk,
    secrets: Secrets,
    step: tuple[str, int] = ("", 0),
) -> Sought:
    """The question about ``action`` on the page of ``observation``. step: session and index, if it is recorded."""
    # The judgement may carry the evidence of several sources, but the reason comes from the source that decided.
    says = [risk.reason, *(each.says for each in risk.evidence)]
    if element is not None and element.context:
        says.append(f"{STANDS_IN} “{element.context}”")  # one of many rows may have the same button
    name, context = (element.name, element.context) if element is not None else ("", "")
    raw = _About(action=action, name=name, context=context, page=observation.url, says=tuple(says))
    about = redacted(raw, Redaction(secrets))
    if element is not None:
        element = msgspec.structs.replace(element, name=about.name, context=about.context)
    return Sought(
        exact=action_exact(about.action, element, about.page),
        form=action_form(about.action, element, about.page),
        page=about.page[: limits.URL_CHARS_MAX],
        level=risk.level,
        evidence=tuple(dict.fromkeys(about.says))[: limits.QUESTION_EVIDENCE_MAX],
        session=step[0],
        step=step[1],
    )


def askable(forms: tuple[RequestForm, ...], secrets: Secrets) -> tuple[RequestForm, ...]:
    """The ``forms`` that contain no secret. The owner's question is stored, so it must not contain one."""
    return tuple(form for form in forms if not says_secret(request_words(form), secrets))


class Asking(Protocol):
    """Asks the owner on behalf of one caller, and knows the answers. No method waits for a person."""

    async def granted(self, sought: Sought) -> Cover | None:
        """The requests that the owner's yes to this action lets through; None without a yes. A yes for one time is used up.
        Errors: ``store.*``.
        """

    async def covers(self, sought: Sought) -> tuple[Cover, ...]:
        """Requests that the owner has allowed during this action. A yes for one time is used up. Errors: ``store.*``."""

    async def stands(self, sought: Sought) -> bool:
        """True if the owner has said yes to this action. Nothing is used up."""

    async def ask(self, sought: Sought, requests: tuple[RequestForm, ...] = (), exacts: tuple[bytes, ...] = ()) -> str:
        """Note a question, unless the same one is noted already. Returns its id; empty if there are too many. Never raises.

        requests: those that the guard refused; if empty, the question is about the action itself. exacts: ``request_exact`` of the
        requests that are fully known.
        """


class HoldAsking(Asking, Protocol):
    """Asks about held requests. No method raises."""

    async def hold(self, sought: Sought, leaving: Leaving, address: str) -> str:
        """Note a question about a held request. A question that already waits for the same request is joined. Returns its id;
        empty if there are too many. address: the redacted address of ``leaving``.
        """

    async def answered(self, question: str) -> None:
        """Return when the question is answered."""

    async def spend(self, question: str) -> bool:
        """Use up the yes for the held request; False if no valid yes exists."""

    async def became(self, question: str, fate: Fate) -> None:
        """Note the fate of the request."""


Asks = Callable[[Caller, str], HoldAsking]
"""Creates the asker for a caller and a search; the search is empty outside of one."""
