"""Calls with a key: the same call with the same key is done once, however often it is made.

A key belongs to its caller. The first final result is kept, and answers each later call. A call whose request is held is not final:
while the owner has not answered it is answered again as it was, and after a yes it is sent once. A call that began and did not end,
because the node was killed or its client went away, stays unknown: nobody can say how much of it was done.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

import msgspec

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from adapters.ports.tables import Table
from node.base.plain import plain
from node.verbs import Caller
from node.verbs.nodes.approve import HELD_WORDS, Stand
from protocol import limits
from protocol.errors import Blame, MeshError
from protocol.kinds import Plain

log = logging.getLogger(__name__)

Standing = Callable[[str], Awaitable[Stand]]
"""The standing of a question, by its id. Errors: ``input.not_found``."""
Work = Callable[[], Awaitable[Any]]

_DAY: Final = limits.CALLS_KEPT_S * 1_000
_LEFT: Final = frozenset({"sending", "sent", "unknown"})
_KEPT_LINES: Final = 40


class KeyedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call with a key. Its result is what its caller was told, in which texts of pages are redacted already."""

    id: Plain
    caller: Plain
    verb: Plain
    digest: bytes
    """Hash of the verb and its parameters."""
    began_ms: int
    state: Literal["running", "held", "final"] = "running"
    result: bytes = b""
    """JSON of ``{"result": …}`` or ``{"error": …}``."""
    questions: tuple[Plain, ...] = ()
    """Ids of the questions to the owner about requests that are held."""


KEYED_CALLS: Final = Table(
    name="keyed_calls",
    record=KeyedCall,
    key="id",
    order="began_ms",
    filters=("caller",),
    bound="CALLS_KEPT_MAX of each caller, and CALLS_KEPT_S",
)


class KeyedCalls:
    """The calls with keys of all callers."""

    def __init__(self, store: Store, clock: Clock, standing: Standing) -> None:
        self._store, self._clock, self._standing = store, clock, standing
        self._running: dict[str, asyncio.Event] = {}

    async def load(self) -> None:
        """Forget calls that are too old. Errors: ``store.*``."""
        await self._forget_old(await self._store.rows(KEYED_CALLS).find())

    async def once(self, key: str, caller: Caller, verb: str, body: bytes, work: Work) -> Any:
        """The result of ``work``, which is done at most once for this key of ``caller``.

        body: the parameters, by which a call is told from another one with its key. Errors: ``call.key_reused``,
        ``call.unknown``, ``input.invalid`` (the key is too long), those of ``work``, ``store.*``.
        """
        if len(key) > limits.CALL_KEY_CHARS_MAX:
            raise MeshError("input.invalid", f"a key has at most {limits.CALL_KEY_CHARS_MAX} characters")
        id = hashlib.sha256(f"{caller}\n{caller.since_ms}\n{key}".encode()).hexdigest()
        digest = hashlib.sha256(verb.encode() + b"\n" + body).digest()
        rows = self._store.rows(KEYED_CALLS)
        while (running := self._running.get(id)) is not None:
            await running.wait()
        over = self._running[id] = asyncio.Event()
        try:
            call = await rows.get(id)
            if call is not None and call.digest != digest:
                raise MeshError("call.key_reused", verb=call.verb)
            if call is not None:
                again = await self._again(call)
                if not again:
                    return await self._told(call)
            call = KeyedCall(id=id, caller=str(caller), verb=verb, digest=digest, began_ms=self._clock.now_ms())
            await self._make_room(call.caller)
            await rows.put(call)
            return await self._done(call, work)
        finally:
            del self._running[id]
            over.set()

    async def _done(self, call: KeyedCall, work: Work) -> Any:
        rows = self._store.rows(KEYED_CALLS)
        try:
            result = plain(await work())
        except MeshError as error:
            if (error.retryable and error.blame is Blame.CALLER) or error.code in _NOTHING_DONE:
                await rows.remove(call.id)
            else:
                await rows.put(_ended(call, {"error": error.shown.to_dict()}, error.detail))
            raise
        await rows.put(_ended(call, {"result": result}, result))
        return result

    async def _again(self, call: KeyedCall) -> bool:
        """True if a call that was made before is to be done again: its requests were held and never left, and may be sent now.

        Errors: ``call.unknown``.
        """
        if call.state == "running":
            raise MeshError("call.unknown", verb=call.verb)
        if call.state == "final":
            return False
        stands = await self._stands(call)
        if any(each.held in _LEFT or each.state == "used" for each in stands):
            return False
        return not any(each.held == "held" or each.state == "open" for each in stands) and any(
            each.state in ("yes", "over") for each in stands
        )

    async def _told(self, call: KeyedCall) -> Any:
        """The answer of a call that was made before. Errors: its error."""
        kept = msgspec.json.decode(call.result)
        if call.state == "held":
            stands = await self._stands(call)
            notes = [f"{each.id}: {HELD_WORDS.get(each.held) or each.state}" for each in stands]
            result = kept.get("result", {})
            if "notes" in result:
                result["notes"] = [*result["notes"], *notes]
            if not any(each.held in ("held", "sending") or each.state == "open" for each in stands):
                result.update({name: empty for name, empty in (("held", []), ("question", "")) if name in result})
                await self._store.rows(KEYED_CALLS).put(
                    msgspec.structs.replace(call, state="final", result=msgspec.json.encode(kept))
                )
        if "error" in kept:
            told = kept["error"]
            raise MeshError(told["code"], told["message"], **told["detail"])
        return kept["result"]

    async def _stands(self, call: KeyedCall) -> list[Stand]:
        return [await self._standing(each) for each in call.questions]

    async def _make_room(self, caller: str) -> None:
        rows = self._store.rows(KEYED_CALLS)
        await self._forget_old(await rows.find(limit=2))
        mine = await rows.find(caller=caller, newest=True, limit=limits.CALLS_KEPT_MAX)
        if len(mine) == limits.CALLS_KEPT_MAX:
            await rows.remove(mine[-1].id)

    async def _forget_old(self, calls: list[KeyedCall]) -> None:
        before_ms = self._clock.now_ms() - _DAY
        if old := [each.id for each in calls if each.began_ms < before_ms and each.id not in self._running]:
            await self._store.rows(KEYED_CALLS).remove(*old)


_NOTHING_DONE: Final = frozenset({"input.invalid", "caller.refused", "owner.unenrolled", "live.busy", "node.busy"})
"""Errors of calls that were refused before anything was done. Their key is free again."""


def _ended(call: KeyedCall, answer: dict[str, Any], held_in: dict[str, Any]) -> KeyedCall:
    """``call`` with its answer. held_in: where the questions to the owner stand."""
    found = [held_in.get("question", ""), *(each["question"] for each in held_in.get("held", ()))]
    questions = tuple(dict.fromkeys(each for each in found if each))
    data = msgspec.json.encode(answer)
    if len(data) > limits.CALL_RESULT_BYTES_MAX:
        data = msgspec.json.encode(_shortened(answer))
    return msgspec.structs.replace(call, state="held" if questions else "final", result=data, questions=questions)


def _shortened(answer: dict[str, Any]) -> dict[str, Any]:
    """``answer`` without most of the page: whoever calls again can look at it as it is now."""
    result = answer.get("result", {})
    seen = result.get("observation") or {}
    if "lines" not in seen:
        return {"result": {name: value for name, value in result.items() if not isinstance(value, (list, dict))}}
    short = {**seen, "lines": [*seen["lines"][:_KEPT_LINES], "# the rest of the page is not kept"]}
    return {"result": {**result, "observation": short}}
