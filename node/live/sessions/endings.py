"""The reasons why a live session ends, in words, and the error of calls that come after its end."""

from __future__ import annotations

from typing import Any, Final

from node.live.sessions.stored import LiveRecord
from protocol.errors import MeshError

ENDINGS: Final = {
    "closed": "the live session was closed",
    "ttl": "the live session has ended: its time to live has passed",
    "idle": "the live session has ended: there was no call within its idle limit",
    "actions": "the live session has ended: all its actions are used up",
    "size": "the live session has ended: the recorded session has reached its size limit",
    "crashed": "the live session has ended: its browser crashed",
    "budget": "the live session has ended: the browser time of its agent is used up",
    "expired": "the live session has ended: the token of its agent has expired",
    "removed": "the live session has ended: its agent was removed",
    "uncounted": "the live session has ended: the browser time of its agent could not be counted",
    "capsule": "the live session has ended: its capsule may not be used any longer",
    "failed": "the live session has ended: its first page could not be opened",
    "stopped": "the live session has ended: the node was stopped",
    "interrupted": "the live session was interrupted: the node stopped without signing the recording",
}
"""The message for each reason."""


def kept(record: LiveRecord) -> dict[str, Any]:
    """The error detail that names the recordings of an ended live session: one session, or one for each of its pages."""
    if len(record.sessions) > 1:
        return {"sessions": list(record.sessions)}
    return {"session": record.sessions[0]} if record.sessions else {}


def ended(record: LiveRecord) -> MeshError:
    """The refusal of a call to a live session that has ended."""
    return MeshError("live.ended", ENDINGS[record.reason], reason=record.reason, live=record.id, **kept(record))
