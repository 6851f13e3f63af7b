"""Answers the questions that a running verb asks its caller: they come as events, and an answer is a call of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from node.base.plain import plain
from protocol.errors import MeshError

if TYPE_CHECKING:
    from node.api import Node
    from node.verbs import Tell

log = logging.getLogger(__name__)

AskPerson = Callable[[dict[str, Any]], Awaitable[bool | None]]
"""Asks the person at the terminal, without blocking the event loop; None if there was no answer."""

CallVerb = Callable[[str, dict[str, Any], "Tell"], Awaitable[Any]]
"""``(verb, parameters, tell) -> plain result``, on one node."""

_ANSWER: Final = "session.answer"


def dispatching(node: Node) -> CallVerb:
    """A ``CallVerb`` for ``node``, which runs in this process."""

    async def call(verb: str, params: dict[str, Any], tell: Tell) -> Any:
        return plain(await node.dispatch(verb, msgspec.json.encode(params), tell))

    return call


async def answering(call: CallVerb, verb: str, params: dict[str, Any], tell: Tell, ask: AskPerson | None) -> Any:
    """The result of ``call(verb, params, tell)``. Events with a question go to ``ask``, and its answer goes to
    ``session.answer`` of the same node. Errors: those of ``call``.
    """
    if ask is None:
        return await call(verb, params, tell)
    asked: set[asyncio.Task[None]] = set()

    async def put(question: dict[str, Any]) -> None:
        yes = await ask(question)
        if yes is None:
            return  # the verb has its own time limit
        try:
            await call(_ANSWER, {"question": question["id"], "yes": yes}, lambda event: None)
        except MeshError as error:  # the result of the verb tells how it went on
            log.warning("the answer was not taken: %s", error)

    def pass_on(event: dict[str, Any]) -> None:
        if "question" in event:
            asked.add(asyncio.create_task(put(event["question"]), name="asking the person at the terminal"))
        else:
            tell(event)

    try:
        return await call(verb, params, pass_on)
    finally:
        for task in asked:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
