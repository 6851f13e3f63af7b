"""Brings an action to its end at a site that turns it away for now: waits as long as the site asks, or until a person has looked.

Only a task waits: it says so in its events, and it can be cancelled. The caller of any other work is told in a note, and decides.
A page is only ever loaded again by its address; what was sent to a site is never sent twice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from adapters.ports.browser import ActionOutcome
from adapters.ports.outcomes import both
from node.live.acting.allowance import Waits, navigate, waits_of_task
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Goto, Reload
from protocol.page.seen.observation import Observation
from protocol.page.seen.turned_away import Putoff, TurnedAway, turned_away
from protocol.trust.origin import origin_of

Perform = Callable[[Action], Awaitable[ActionOutcome]]
Look = Callable[[], Awaitable[Observation]]
Picture = Callable[[], Awaitable[bytes]]
_NOT_AGAIN: Final = "the page came from a form, which is not sent again"


async def let_in(action: Action, perform: Perform, look: Look, picture: Picture) -> ActionOutcome:
    """The outcome of ``action``, once its site shows the page.

    perform: performs an action on the page. look: observes it. picture: takes a picture of it, without secrets.
    Errors: those of ``perform``; of a task ``site.busy``, ``site.person``, ``task.budget``.
    """
    waits = waits_of_task()
    outcome, attempt = await _answered(action, perform, waits)
    while turned := turned_away(outcome.observation, outcome.status, outcome.putoffs):
        if waits is None:
            return _noted(outcome, f"{turned.why}: nothing was repeated")
        if turned.kind == "person":
            if not await waits.person(turned, await picture()):
                return outcome
        else:
            await waits.later(turned, attempt)
            attempt += 1
        if outcome.leaving:
            return outcome  # a held request belongs to this document
        if not turned.document or turned.kind == "person":
            seen = await look()
            outcome = msgspec.structs.replace(outcome, observation=seen, putoffs=())
            if not turned.document or turned_away(seen, outcome.status, ()) is None:
                return outcome  # a person has done what it asked for, or the page goes on by itself
        try:
            outcome = await _again(outcome, perform)
        except MeshError as error:
            if error.code != "action.not_possible":
                raise
            return _noted(outcome, _NOT_AGAIN)
    return outcome


async def _answered(action: Action, perform: Perform, waits: Waits | None) -> tuple[ActionOutcome, int]:
    """The outcome of ``action``, and how often it was waited for: a site can put off with an answer that holds no page."""
    attempt = 0
    while True:
        try:
            return await perform(action), attempt
        except MeshError as error:
            turned = _without_page(error, action)
            if turned is None or waits is None:
                raise
            await waits.later(turned, attempt)
        attempt += 1
        navigate()


def _without_page(error: MeshError, action: Action) -> TurnedAway | None:
    status = error.detail.get("status")
    if not isinstance(action, Goto) or not isinstance(status, int):
        return None
    header = str(error.detail.get("retry_after", ""))
    putoff = Putoff(url=action.url, status=status, retry_after=header, document=True)
    blank = Observation(url=action.url, title="", text="", elements=())
    return turned_away(blank, 0, (putoff,)) if origin_of(action.url) else None


async def _again(outcome: ActionOutcome, perform: Perform) -> ActionOutcome:
    """``outcome`` with its page loaded again; the refused attempt is no fault of the page."""
    navigate()
    shown = await perform(Reload())
    joined = both(outcome, shown)
    sent = (*outcome.sent, *shown.sent)
    return msgspec.structs.replace(joined, sent=sent, faults=shown.faults, putoffs=shown.putoffs)


def _noted(outcome: ActionOutcome, note: str) -> ActionOutcome:
    return msgspec.structs.replace(outcome, notes=(*outcome.notes, note[: limits.NOTE_CHARS_MAX]))
