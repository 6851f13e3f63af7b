"""Evaluates scripts in Playwright's isolated worlds over one CDP session.

Playwright marks each element of a snapshot with its ref in an isolated world of its own (``_ariaRef``). Reading all marks of a
frame at once takes one round trip, while a query per ref takes one each. If the mark is missing, callers fall back to a query
per ref.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.browser.base import unrequested
from adapters.browser.base.text import loads
from adapters.browser.egress import FrameDocument
from adapters.browser.observing import scripts, still_scripts
from adapters.browser.observing.standing import standing_of
from adapters.browser.observing.view import FrameFacts
from protocol import limits
from protocol.page.seen.observation import INTERACTIVE_ROLES, Traits

_WORLD: Final = "__playwright_utility_world_"
_FACTS: Final = scripts.FACTS.replace("ROLES", json.dumps(sorted(INTERACTIVE_ROLES | {"generic", "img", "cell"})), 1)


class Worlds:
    """The isolated worlds of a page's current frames."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session
        self._ids: dict[int, str] = {}
        self._name = ""
        self.main_frame = ""
        self.arrived: Callable[[], object] = lambda: None
        """Called when the main frame gets the world of another document."""
        session.on("Runtime.executionContextCreated", self._created)
        session.on("Runtime.executionContextDestroyed", self._destroyed)
        session.on("Runtime.executionContextsCleared", lambda _: self._ids.clear())

    def _created(self, event: Mapping[str, Any]) -> None:
        context = event["context"]
        if context["name"].startswith(_WORLD):
            self._name = context["name"]
            frame = context.get("auxData", {}).get("frameId", "")
            # Some versions of Chromium make a second world of that name for us: Playwright also uses the last one.
            self._ids = {each: of for each, of in self._ids.items() if not frame or of != frame} | {
                context["id"]: frame
            }
            if frame == self.main_frame:
                self.arrived()

    def _destroyed(self, event: Mapping[str, Any]) -> None:
        self._ids.pop(event["executionContextId"], None)

    async def start(self) -> None:
        """Learn the existing worlds, and let new ones record how their documents are served."""
        await self._session.send("Runtime.enable")
        tree = await self._session.send("Page.getFrameTree")
        self.main_frame = tree["frameTree"]["frame"]["id"]
        if self._name:  # each page has a name of its own
            source = still_scripts.SHELL.replace("LETTERS", str(limits.SETTLE_SHELL_LETTERS))
            # The binding exists only in worlds of this name, which no page can make or reach.
            await self._session.send(
                "Runtime.addBinding", {"name": unrequested.BINDING, "executionContextName": self._name}
            )
            await self._session.send(
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": f"{source};{unrequested.NOTES_SCRIPT}", "worldName": self._name},
            )

    async def everywhere(self, expression: str, *, wait: bool = False) -> list[Any]:
        """The value of ``expression`` in each frame; frames that went away meanwhile are left out."""
        values = await asyncio.gather(*(self._in(context, expression, wait) for context in list(self._ids)))
        return [value for value in values if value is not None]

    async def main(self, expression: str, *, wait: bool = False) -> Any:
        """The value of ``expression`` in the main frame; None if it went away meanwhile."""
        return await self.in_frame(self.main_frame, expression, wait=wait)

    async def in_frame(self, frame: str, expression: str, *, wait: bool = False) -> Any:
        """The value of ``expression`` in ``frame``; None if it went away meanwhile, or is out of reach."""
        context = next((key for key, known in self._ids.items() if known == frame), None)
        return None if context is None else await self._in(context, expression, wait)

    async def _in(self, context: int, expression: str, wait: bool) -> Any:
        try:
            answer = await self._session.send(
                "Runtime.evaluate",
                {"expression": expression, "contextId": context, "returnByValue": True, "awaitPromise": wait},
            )
        except PlaywrightError:
            return None  # the frame navigated; the caller asks again when it has arrived
        return answer["result"].get("value")

    async def object(self, expression: str, frame: str = "") -> str:
        """The browser's id of the object that ``expression`` gives in ``frame``, or in any frame; empty if it gives none."""
        for context in [key for key, known in self._ids.items() if frame in ("", known)]:
            with contextlib.suppress(PlaywrightError):  # the frame navigated
                answer = await self._session.send("Runtime.evaluate", {"expression": expression, "contextId": context})
                if held := answer["result"].get("objectId"):
                    return str(held)
        return ""

    async def element(self, ref: str) -> tuple[str, str]:
        """The browser's id of the element with this ref in the last snapshot, and its frame; empty if it is out of reach."""
        expression = scripts.by_ref("e => e", json.dumps(ref))
        for frame in dict.fromkeys(self._ids.values()):
            if handle := await self.object(expression, frame):
                return handle, frame
        return "", ""

    async def facts(self) -> FrameFacts:
        """Traits of the controls of every reachable frame, by Playwright ref."""
        # In a thread: for a large page it takes too long for the event loop.
        return await asyncio.to_thread(_gathered, await self.everywhere(_FACTS))


def _gathered(texts: Sequence[str]) -> FrameFacts:
    facts = FrameFacts()
    for text in texts:
        value = loads(text)  # as one string, because the driver walks through every value of a structure
        prefix = ""
        for ref, *traits in value["items"]:
            facts.traits[ref] = _traits(traits)
            prefix = ref[: ref.rindex("e")]
        marks = value["marks"]
        facts.identities.update(
            (ref, f"{value['document']}.{n}") for ref, n in zip(marks[::2], marks[1::2], strict=True)
        )
        facts.bases[prefix] = value["base"]
        facts.leads.update(value["leads"])
        facts.labels.update(value["named"])
        facts.unmarked = facts.unmarked or value["unmarked"]
        facts.standing.extend(map(standing_of, value["stood"]))
        facts.title = value["title"] if value["top"] else facts.title
        facts.documents.append(FrameDocument(value["began"], value["address"], value["status"]))
        facts.coming += value["coming"] and not value["top"]
        facts.busy = facts.busy or value["busy"]
        facts.clobbered = facts.clobbered or value["clobbered"]
        facts.traps = facts.traps or value["traps"]
        facts.passwords.update(item for item in value["secrets"] if len(item) > 1)
    return facts


def traits_of(listed: Sequence[Any]) -> Traits:
    """The record of the traits script's result."""
    return _traits(listed)


def _traits(listed: Sequence[Any]) -> Traits:
    tag, kind, submits, method, action, tokens, autocomplete, attributes, opens, reacts, handler, guarded = listed
    return Traits(
        tag=tag,
        input_type=kind,
        submits=submits,
        form_method=method,
        form_action=action,
        tokens=tuple(tokens),
        autocomplete=autocomplete,
        attributes=tuple(map(tuple, attributes)),
        opens=opens,
        reacts=reacts,
        handler=handler,
        guarded=guarded,
    )
