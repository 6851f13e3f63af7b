"""The events of a task as they happen, over HTTP: ``GET /v1/tasks/<task>/events`` answers with server-sent events.

The number of an event is its id. A client that has lost the connection goes on after the last event that it saw: it sends that
number as ``Last-Event-ID``, as browsers and libraries do by themselves, or as ``?after=``. Status 204 says that nothing will
follow, which ends such a client. An event ``dropped`` comes first if events in between are no longer kept.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from aiohttp import web

from node.doors.http_door import HEADERS, RETRY_S, Admitted, HttpDoor
from node.verbs.tasks import task as verbs
from protocol import limits
from protocol.errors import MeshError

_EVENTS: Final = verbs.EVENTS.name
_HEADERS: Final = {**HEADERS, "Content-Type": "text/event-stream"}
_RETRY: Final = f"retry: {RETRY_S * 1_000}\n\n".encode()
_PING: Final = b": ping\n\n"


class EventStreams:
    """Serves the events of tasks on an HTTP door."""

    def __init__(self, door: HttpDoor) -> None:
        self._door = door
        self._open: Counter[str] = Counter()
        door.serve("GET", "/v1/tasks/{task}/events", self._stream)

    async def _stream(self, request: web.Request, admitted: Admitted) -> web.StreamResponse:
        """Errors, before the first event: ``input.invalid``, ``node.busy``, those of ``task.events``. Later ones are an event."""
        task, after = request.match_info["task"], _after(request)
        response = web.StreamResponse(headers=_HEADERS)
        with self._place(admitted.name):
            try:
                async with self._door.calling(admitted, _EVENTS) as ask:
                    told = await ask(_EVENTS, _asked(task, after, 0))
                    if told["over"] and not told["events"]:
                        return web.Response(status=204)
                    await response.prepare(request)
                    await response.write(_RETRY)
                    while await _written(response, _parts(told["events"], after) or [_PING]) and not told["over"]:
                        after = told["last"]
                        told = await ask(_EVENTS, _asked(task, after, limits.STREAM_PING_S))
            except MeshError as error:  # such as the end of its token
                if not response.prepared:
                    raise
                await _written(response, [_part("error", error.shown.to_dict())])
        return response

    @contextlib.contextmanager
    def _place(self, name: str) -> Iterator[None]:
        if self._open[name] >= limits.STREAMS_PER_CALLER_MAX:
            told = f"{name} follows {self._open[name]} tasks, which is the limit"
            raise MeshError("node.busy", told, retry_after_s=limits.TASK_RETRY_AFTER_S)
        self._open[name] += 1
        try:
            yield
        finally:
            self._open[name] -= 1
            if not self._open[name]:
                del self._open[name]


def _after(request: web.Request) -> int:
    """The number of the event after which the stream begins. Errors: ``input.invalid``."""
    given = request.headers.get("Last-Event-ID") or request.query.get("after") or "0"
    if not given.isascii() or not given.isdecimal() or len(given) > 9:
        raise MeshError("input.invalid", "`Last-Event-ID` and `after` are the number of an event", field="after")
    return int(given)


def _asked(task: str, after: int, wait_s: int) -> bytes:
    return msgspec.json.encode({"task": task, "after": after, "wait_s": wait_s})


def _parts(events: list[dict[str, Any]], after: int) -> list[bytes]:
    """``events`` as they are sent, after that with the number ``after``."""
    parts = []
    if events and events[0]["number"] > after + 1:
        parts.append(_part("dropped", {"from": after + 1, "to": events[0]["number"] - 1}))
    return parts + [_part(event["kind"], event, event["number"]) for event in events]


def _part(kind: str, data: dict[str, Any], number: int = 0) -> bytes:
    named = f"id: {number}\n" if number else ""
    return f"{named}event: {kind}\ndata: {msgspec.json.encode(data).decode()}\n\n".encode()


async def _written(response: web.StreamResponse, parts: list[bytes]) -> bool:
    """False if the client does not read: its connection is then closed, and it can come again."""
    try:
        async with asyncio.timeout(limits.BODY_TIMEOUT_S):
            for part in parts:
                await response.write(part)
    except TimeoutError:
        return False
    return True
