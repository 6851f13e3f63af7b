"""Shows a person, through the client, the question to the owner that a call waits for (elicitation).

It shows the command that answers the question, and no text of a page. What the person says in the client is no answer to the
question and is not read: an answer is signed with an owner's key. A client of the protocol of 2025 is told beside its call. One of
2026 asks its person first, and then makes the call again: with the key of the first one, so that nothing is done twice.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from node.verbs import Verb
from protocol import limits
from protocol.ids import is_id

log = logging.getLogger(__name__)

_ASKED: Final = "owner"
_NOTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_KEY_BYTES: Final = 16
_SHOWN_MAX: Final = 1_000


class Shown:
    """The questions that were shown to the persons behind a server's clients."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self._showing: set[asyncio.Task[None]] = set()

    def beside(self, session: Any, question: str) -> None:
        """Show a question beside the call that waits for it, once."""
        if question in self._ids:
            return
        while len(self._ids) >= _SHOWN_MAX:
            del self._ids[next(iter(self._ids))]
        self._ids[question] = None
        showing = asyncio.create_task(_show(session, question), name="question shown by a client")
        self._showing.add(showing)
        showing.add_done_callback(self._showing.discard)


class Showing:
    """The words and pictures that one call shows."""

    def __init__(self, shown: Shown, context: Any, state: str | None) -> None:
        """state: that of ``InputRequiredResult``, if the client calls again."""
        self._shown, self._session, self._state = shown, context.session, state
        can = context.session.client_capabilities
        asks = can.elicitation if can is not None else None
        self._can = asks is not None and (asks.form is not None or asks.url is None)
        self._first_asks = self._can and context.protocol_version in MODERN_PROTOCOL_VERSIONS

    def key(self, verb: Verb, given: str) -> str:
        """The key of the call, if it has or needs one. given: by the client."""
        if verb.read_only:
            return given
        if self._state:  # a client can send any: it is a key among those of its caller
            return self._state[: limits.CALL_KEY_CHARS_MAX]
        return given or (secrets.token_hex(_KEY_BYTES) if self._first_asks else "")

    def of(self, told: Mapping[str, Any], key: str) -> InputRequiredResult | None:
        """Show the question that ``told`` names: a result or the details of an error.

        Returns what a client answers by asking its person and calling again; None if it is told what it asked for.
        """
        question = next((each for each in _questions_in(told) if is_id("que", each)), "")
        if not question or not self._can or self._state:
            return None
        if self._first_asks:
            return InputRequiredResult(input_requests={_ASKED: _request(question)}, request_state=key) if key else None
        if self._session.can_send_request:
            self._shown.beside(self._session, question)
        return None


def _questions_in(told: Mapping[str, Any]) -> list[str]:
    held = told.get("held")
    each = held if isinstance(held, (list, tuple)) else ()
    return [
        str(told.get("question", "")),
        *(str(item.get("question", "")) for item in each if isinstance(item, Mapping)),
    ]


def _request(question: str) -> ElicitRequest:
    message = (
        "An action waits for the owner of this node, who looks at it and answers in a terminal:\n"
        f"trailmesh approve show {question}\ntrailmesh approve yes {question}\n"
        "`trailmesh ui` opens the page of the node, which shows it with its picture.\n"
        "What is said here is no answer to it."
    )
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=_NOTHING))


async def _show(session: Any, question: str) -> None:
    asked = _request(question).params
    try:
        await session.elicit_form(asked.message, _NOTHING)
    except (MCPError, ValueError, OSError) as error:
        log.debug("%s was not shown: %s", question, error)
