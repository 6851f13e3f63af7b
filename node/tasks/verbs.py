"""Implements the verbs for tasks."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from node.base.files import write_private
from node.tasks.queue import Dispatch, TaskQueue, Work
from node.tasks.stored import TaskRecord
from node.verbs import Bound, Caller, CallerKind, Params, Tell, Verb, current_caller
from node.verbs.tasks import task as verbs
from node.verbs.tasks.task import (
    EventsParams,
    ListParams,
    MoreParams,
    PictureParams,
    ResumeParams,
    StartParams,
    Task,
    TaskEvent,
    TaskEvents,
    TaskFailure,
    TaskList,
    TaskParams,
    TaskPicture,
    TaskShown,
)
from protocol import limits
from protocol.errors import MeshError
from protocol.page.secrets.said import secret_said, texts_of
from protocol.page.secrets.secrets import GivenSecret

Check = Callable[[str, bytes, Caller], tuple[Verb, Params]]
"""``(verb, parameters in JSON, caller) -> declaration, parameters``, once the caller may call it so."""
_SECRET_FIELDS: Final = frozenset({"secrets", "inputs"})
"""Parameters whose values the caller gives for fields of a page."""


class TaskVerbs:
    """Starts tasks, shows, lists and cancels them."""

    def __init__(self, queue: TaskQueue, check: Check, run: Dispatch) -> None:
        """check: judges a call without doing anything. run: runs it, with all checks and rows of a call."""
        self._queue, self._check, self._run = queue, check, run
        self.bound: Bound = {
            verbs.START: self._start,
            verbs.SHOW: self._show,
            verbs.LIST: self._list,
            verbs.CANCEL: self._cancel,
            verbs.RESUME: self._resume,
            verbs.MORE: self._more,
            verbs.PICTURE: self._picture,
            verbs.EVENTS: self._events,
        }

    async def _start(self, params: StartParams, tell: Tell) -> Task:
        caller, body = current_caller(), msgspec.json.encode(params.params)
        verb, given = self._check(params.verb, body, caller)
        if not verb.long:
            raise MeshError("input.invalid", f"{verb.name} takes no long time: call it", field="verb")
        hidden = _holds_secret(given)
        if any(secret_said(text) for text in texts_of(_without_secrets(params.params))):
            hidden = True
            if not params.with_secret:
                raise MeshError("task.secret", field="params")
        agent = caller.kind is CallerKind.AGENT
        work = Work(
            verb=verb.name,
            body=body,
            shown="" if hidden else _kept(body),
            seconds=params.seconds or (limits.TASK_AGENT_S if agent else 0),
            pictures=params.pictures or (limits.TASK_AGENT_PICTURES if agent else 0),
            navigations=params.navigations or (limits.TASK_AGENT_NAVIGATIONS if agent else 0),
        )
        return Task(**_fields(await self._queue.start(caller, work, self._run)))

    async def _show(self, params: TaskParams, tell: Tell) -> TaskShown:
        record = await self._queue.get(current_caller(), params.task)
        result = msgspec.json.decode(record.result) if record.result else None
        return TaskShown(**_fields(record), result=result, too_large=record.too_large)

    async def _list(self, params: ListParams, tell: Tell) -> TaskList:
        found = await self._queue.listed(current_caller(), open_only=params.open, limit=params.limit)
        return TaskList(tasks=tuple(Task(**_fields(each)) for each in found))

    async def _cancel(self, params: TaskParams, tell: Tell) -> Task:
        return Task(**_fields(await self._queue.cancel(current_caller(), params.task)))

    async def _resume(self, params: ResumeParams, tell: Tell) -> Task:
        return Task(**_fields(await self._queue.resume(current_caller(), params.task, again=not params.as_it_is)))

    async def _more(self, params: MoreParams, tell: Tell) -> Task:
        seconds, pictures, navigations = params.seconds, params.pictures, params.navigations
        if not (seconds or pictures or navigations):
            raise MeshError("input.invalid", "more of what? name --seconds, --pictures or --navigations")
        more = self._queue.more(
            current_caller(), params.task, seconds=seconds, pictures=pictures, navigations=navigations
        )
        return Task(**_fields(await more))

    async def _picture(self, params: PictureParams, tell: Tell) -> TaskPicture:
        question = await self._queue.question(current_caller(), params.task)
        if question is None:
            raise MeshError("task.not_paused")
        if params.out:
            try:
                await asyncio.to_thread(write_private, Path(params.out), question.picture)
            except OSError as error:
                raise MeshError("input.invalid", f"{params.out} cannot be written: {error.strerror}") from error
        png = "" if params.out else base64.b64encode(question.picture).decode()
        size = len(question.picture)
        return TaskPicture(task=params.task, asks=question.why, bytes=size, png=png, out=params.out)

    async def _events(self, params: EventsParams, tell: Tell) -> TaskEvents:
        found, record = await self._queue.events(current_caller(), params.task, params.after, params.wait_s)
        return TaskEvents(
            events=tuple(msgspec.convert(each, TaskEvent, from_attributes=True) for each in found),
            last=found[-1].number if found else params.after,
            oldest=record.events[0].number if record.events else 1,
            over=bool(record.ended_ms),
        )


def _fields(record: TaskRecord) -> dict[str, Any]:
    detail = msgspec.json.decode(record.detail)
    failed = TaskFailure(code=record.code, message=record.message, retryable=record.retryable, detail=detail)
    progress = [each.said for each in record.events if each.kind == "progress"]
    return {
        "task": record.id,
        "verb": record.verb,
        "state": record.state,
        "error": failed if record.code else None,
        "caller": record.caller,
        "created_ms": record.created_ms,
        "started_ms": record.started_ms,
        "ended_ms": record.ended_ms,
        "seconds": record.seconds,
        "pictures": record.pictures,
        "pictures_max": record.pictures_max,
        "navigations": record.navigations,
        "navigations_max": record.navigations_max,
        "params": record.params,
        "progress": progress[-1] if progress else "",
        "asks": record.asks,
    }


def _holds_secret(given: Any) -> bool:
    """True if a secret was given anywhere in the parameters."""
    match given:
        case GivenSecret():
            return True
        case msgspec.Struct():
            named = {name: getattr(given, name) for name in given.__struct_fields__}
            return any(map(_holds_secret, named.values())) or any(named.get(name) for name in _SECRET_FIELDS)
        case dict():
            return any(map(_holds_secret, given.values()))
        case list() | tuple():
            return any(map(_holds_secret, given))
        case _:
            return False


def _without_secrets(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in _SECRET_FIELDS}


def _kept(body: bytes) -> str:
    text = body.decode()
    return text if len(text) <= limits.TASK_PARAMS_CHARS_MAX else ""
