"""Compares two stored sessions, or two runs of one."""

from __future__ import annotations

import asyncio

from adapters.ports.store import SessionStore
from node.sessions.keeping.reading import StoredSessions
from node.sessions.shared.replay_plan import ReplaySource
from node.verbs.sessions.session_results import RunDiff, SessionDiff
from protocol.errors import MeshError
from protocol.recording.records.session import ReplayReport, Session, Step
from protocol.recording.replays.diff import between, diff_steps, pair_steps
from protocol.recording.replays.replay import replayable
from protocol.recording.replays.report_diff import diff_runs


async def compare_sessions(store: SessionStore, first: Session, second: Session) -> SessionDiff:
    """The differences of ``second`` from ``first``. A text that the store has lost is not compared. Errors: ``store.*``."""
    mapping, steps = between(first, second), []
    for old, new in pair_steps(await store.steps(first.id), await store.steps(second.id)):
        texts = (await _text(store, old), await _text(store, new)) if old and new else (None, None)
        # In a thread, because comparing long texts is slow.
        steps.append(await asyncio.to_thread(diff_steps, old, new, texts, mapping))
    same = all(step.status == "same" for step in steps)
    return SessionDiff(first=first, second=second, steps=tuple(steps), same=same)


def is_report(text: str) -> bool:
    """True if ``text`` has the form of a report's id."""
    return text.lower().startswith("rep-")


async def compare_runs(reading: StoredSessions, first_id: str, second_id: str) -> RunDiff:
    """The differences between two replays of a session, or between a replay and the recording.

    Errors: those of ``StoredSessions.report`` and ``StoredSessions.recorded``; ``input.invalid`` if they are of different
    sessions.
    """
    runs = [await _run(reading, which) for which in (first_id, second_id)]
    (first, recorded), (second, other) = runs
    if recorded.session.id != other.session.id:
        raise MeshError(
            "input.invalid", f"they are runs of different sessions: {recorded.session.id} and {other.session.id}"
        )
    steps = diff_runs(replayable(recorded.steps), first.steps if first else None, second.steps if second else None)
    same = all(step.status == "same" for step in steps)
    return RunDiff(session=recorded.session, first=first, second=second, steps=steps, same=same)


async def _run(reading: StoredSessions, which: str) -> tuple[ReplayReport | None, ReplaySource]:
    return await reading.report(which) if is_report(which) else (None, await reading.recorded(which))


async def _text(store: SessionStore, step: Step) -> bytes | None:
    if not step.snapshot:
        return None
    try:
        return await store.blob(step.snapshot)
    except MeshError as error:
        if error.code != "blob.missing":
            raise
        return None
