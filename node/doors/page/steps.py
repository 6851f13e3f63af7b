"""Steps of a session for its player: the picture, and what changed with the step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from node.sessions.showing import ComparedLine, compare_lines
from node.verbs.sessions.session_results import ShownEffect, ShownSession
from protocol.errors import MeshError
from protocol.recording.records.picture import form_of
from protocol.recording.records.session import RequestFault, Step
from protocol.recording.records.snapshot import snapshot_text

ReadBlob = Callable[[bytes], Awaitable[bytes]]


class StepView(msgspec.Struct, frozen=True, kw_only=True):
    """One step, as the player shows it."""

    step: Step
    did: str
    changed: Sequence[ComparedLine]
    """The lines of the page that this step changed; all that is new, for the first step."""
    sends: tuple[ShownEffect, ...]
    faults: tuple[RequestFault, ...]
    before: int
    """The last step before it that has a picture; 0 if none has."""


async def step_view(shown: ShownSession, number: int, read: ReadBlob) -> StepView | None:
    """The step with this number; None if there is none."""
    place = next((place for place, step in enumerate(shown.steps) if step.index == number), None)
    if place is None:
        return None
    step = shown.steps[place]
    earlier = next((each.snapshot for each in reversed(shown.steps[:place]) if each.snapshot), b"")
    texts = [await blob(digest, read) for digest in (earlier, step.snapshot)]
    return StepView(
        step=step,
        did=shown.described[place],
        # In a thread: a page has up to 400,000 lines.
        changed=await asyncio.to_thread(_changed, *texts),
        sends=tuple(each for each in shown.sends if each.step == number),
        faults=step.faults,
        before=next((each.index for each in reversed(shown.steps[:place]) if each.screenshot), 0),
    )


def _changed(earlier: bytes | None, later: bytes | None) -> Sequence[ComparedLine]:
    before, after = snapshot_text(earlier), snapshot_text(later)
    return compare_lines(before, after) if before is not None and after is not None else ()


async def blob(digest: bytes, read: ReadBlob) -> bytes | None:
    """A stored blob; None without a digest, or if the store has lost it."""
    if not digest:
        return None
    try:
        return await read(digest)
    except MeshError as error:
        if error.code != "blob.missing":
            raise
        return None


def picture_type(data: bytes | None) -> str:
    """The content type of a picture; empty for anything else. A bundle from elsewhere can hold any bytes as a picture."""
    form = form_of(data) if data else None
    return form.media_type if form else ""
