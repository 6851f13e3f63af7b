"""Records a whole session: actions in their order, and a session that is signed at the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping

from adapters.ports.browser import Page
from adapters.ports.clock import Clock
from adapters.ports.store import SessionStore
from node.live.recording.arrivals import Arrival
from node.live.recording.keeping import Recording
from node.live.recording.recorder import Progress, Recorder
from node.live.recording.signer import Signer
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert
from protocol.page.actions.evidence import ElementEvidence
from protocol.recording.records.session import Expect


@contextlib.asynccontextmanager
async def record(
    store: SessionStore, page: Page, clock: Clock, signer: Signer, plan: Recording, *, on_step: Progress | None = None
) -> AsyncIterator[Recorder]:
    """An open session on ``page``. It is committed and signed at the end of the block, even if an action in it failed.

    A block that is cancelled or raises anything but a ``MeshError`` (such as ``Unlike``) leaves an ``interrupted`` session.
    Errors: those of the block; ``input.too_large`` if the session does not fit a bundle.
    """
    recorder = Recorder(store, page, clock, signer, plan, on_step)
    await recorder.begin()
    try:
        yield recorder
    except MeshError:
        await recorder.commit()
        raise
    except BaseException:
        # Shielded: a second Ctrl-C must not stop the saving that the first one started.
        await asyncio.shield(recorder.interrupt())
        raise
    await recorder.commit()


async def record_actions(
    recorder: Recorder,
    actions: list[Action] | tuple[Action, ...],
    arrivals: Mapping[int, Arrival] | None = None,
    expects: Mapping[int, Expect] | None = None,
    evidence: Mapping[int, ElementEvidence] | None = None,
    goes_on: Callable[[int, MeshError], bool] = lambda number, error: False,
) -> None:
    """Perform ``actions`` in order. The first failed action ends the run; the error's detail has its number and text.

    A failed soft assertion does not end the run; the first such failure is raised after the last action.
    arrivals: the page that an action must lead to, by its number from 1. expects: the requests of an action that are expected to
    fail. evidence: the evidence of its element in an earlier recording. goes_on: returns True if the run continues after the given
    failed action.
    """
    recorder.sightings.expect(actions)
    soft: list[MeshError] = []
    for number, action in enumerate(actions, 1):
        try:
            await recorder.perform(
                action,
                (arrivals or {}).get(number),
                (expects or {}).get(number),
                (evidence or {}).get(number),
            )
        except MeshError as error:
            error.detail.setdefault("step", number)
            error.detail.setdefault("action", recorder.told(action))
            if goes_on(number, error):
                continue
            if not (isinstance(action, Assert) and action.soft and error.code == "action.assertion_failed"):
                raise
            soft.append(error)
    if soft:
        raise soft[0]
