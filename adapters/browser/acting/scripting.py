"""Runs the script of an ``Evaluate`` in an isolated world of its own: no script of the page or of this driver is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Final

from playwright.async_api import CDPSession
from playwright.async_api import Error as PlaywrightError

from adapters.browser.base.faults import is_gone
from adapters.browser.base.text import well_formed
from adapters.browser.observing.worlds import Worlds
from protocol import limits
from protocol.errors import MeshError

_WORLD: Final = "__trailmesh_evaluate__"
_GIVEN: Final = "__trailmesh_element"
_EXPRESSION: Final = "let value = (\nSCRIPT\n); if (typeof value === 'function') value = value(element);"
_STATEMENTS: Final = "const value = (async element => {\nSCRIPT\n})(element);"
_RUN: Final = """(async () => {
  const element = globalThis.GIVEN; delete globalThis.GIVEN;
  BODY
  const plain = (key, each) => each instanceof Node ? (each.outerHTML ?? each.textContent)
    : each instanceof NodeList || each instanceof HTMLCollection ? Array.from(each)
    : typeof each === 'bigint' ? String(each) : each;
  const made = await value, text = JSON.stringify(made, plain);
  return text === undefined ? (made === undefined ? '' : String(made)) : text.length > MAX
    ? `${text.slice(0, MAX)}… (cut: ${text.length} characters)` : text;
})()"""
_FAULT_CHARS: Final = 300


class Scripting:
    """Runs scripts on one page."""

    def __init__(self, session: CDPSession, worlds: Worlds) -> None:
        self._session, self._worlds = session, worlds

    async def run(self, script: str, internal: str | None, limit_ms: int) -> str:
        """The value of ``script`` as JSON, cut at ``EVALUATED_CHARS_MAX``; empty if it has none, or has led to another document.

        internal: Playwright's ref of the element that it gets. Errors: ``action.script_failed``, ``action.not_possible`` (the
        element is in a frame out of reach), those of Playwright.
        """
        handle, frame = await self._worlds.element(internal) if internal else ("", self._worlds.main_frame)
        if internal and not handle:
            raise MeshError("action.not_possible", "the element is in a frame that scripts do not reach")
        made = await self._session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": _WORLD})
        world = made["executionContextId"]
        text = await self._readable(script, world)
        try:
            async with asyncio.timeout(limit_ms / 1000):
                if handle:
                    await self._give(handle, world)
                return await self._value(text, world, limit_ms)
        except TimeoutError:
            raise MeshError("action.script_failed", f"the script did not end in {limit_ms / 1000:g} s") from None

    async def _readable(self, script: str, world: int) -> str:
        """``script`` in the form that can be read. Errors: ``action.script_failed``."""
        faults = []
        for body in (_EXPRESSION, _STATEMENTS):
            text = _RUN.replace("GIVEN", _GIVEN).replace("MAX", str(limits.EVALUATED_CHARS_MAX))
            text = text.replace("BODY", body.replace("SCRIPT", script))
            given = {"expression": text, "sourceURL": "", "persistScript": False, "executionContextId": world}
            answer = await self._session.send("Runtime.compileScript", given)
            if "exceptionDetails" not in answer:
                return text
            faults.append(answer["exceptionDetails"])
        raise _failed(faults[-1] if "return" in script else faults[0])

    async def _give(self, handle: str, world: int) -> None:
        """Give the element with this object id in another world to the next script."""
        node = (await self._session.send("DOM.describeNode", {"objectId": handle}))["node"]["backendNodeId"]
        there = await self._session.send("DOM.resolveNode", {"backendNodeId": node, "executionContextId": world})
        await self._session.send(
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": f"function () {{ globalThis[{json.dumps(_GIVEN)}] = this; }}",
                "objectId": there["object"]["objectId"],
            },
        )

    async def _value(self, text: str, world: int, limit_ms: int) -> str:
        given = {
            "expression": text,
            "contextId": world,
            "awaitPromise": True,
            "returnByValue": True,
            "timeout": limit_ms,
        }
        try:
            answer = await self._session.send("Runtime.evaluate", given)
        except PlaywrightError as error:
            if is_gone(error):
                raise
            if "terminated" in error.message:
                raise TimeoutError from None
            return ""  # its document is gone: the script has led to another one
        if "exceptionDetails" in answer:
            raise _failed(answer["exceptionDetails"])
        return well_formed(str(answer["result"].get("value", "")))


def _failed(details: Mapping[str, Any]) -> MeshError:
    thrown = details.get("exception", {})
    said = str(thrown.get("description") or thrown.get("value") or details.get("text", "")).partition("\n")[0]
    return MeshError("action.script_failed", f"the script failed: {well_formed(said)[:_FAULT_CHARS]}")
