"""Compares two stored sessions."""

from __future__ import annotations

import asyncio

from adapters.ports import SessionStore
from node.verbs.session import SessionDiff
from protocol.errors import MeshError
from protocol.recording.diff import between, diff_steps, pair_steps
from protocol.recording.session import Session, Step


async def compare_sessions(store: SessionStore, first: Session, second: Session) -> SessionDiff:
    """How ``second`` differs from ``first``. A text that the store has lost is not compared. Errors: ``store.*``."""
    mapping, steps = between(first, second), []
    for old, new in pair_steps(await store.steps(first.id), await store.steps(second.id)):
        texts = (await _text(store, old), await _text(store, new)) if old and new else (None, None)
        # In a thread, because comparing long texts is slow.
        steps.append(await asyncio.to_thread(diff_steps, old, new, texts, mapping))
    same = all(step.status == "same" for step in steps)
    return SessionDiff(first=first, second=second, steps=tuple(steps), same=same)


async def _text(store: SessionStore, step: Step) -> bytes | None:
    if not step.snapshot:
        return None
    try:
        return await store.blob(step.snapshot)
    except MeshError as error:
        if error.code != "blob.missing":
            raise
        return None
