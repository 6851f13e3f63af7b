"""A person at a browser: trusted input over a debugging connection of its own, as a mouse and a keyboard give it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

_WAIT_S = 120.0
_KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "ArrowDown": (40, "")}


class Person:
    """Works on one page of a running Chromium."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._worlds: set[int] = set()

    async def send(self, method: str, **params: Any) -> Any:
        """The answer to one command of the protocol."""
        number = next(self._numbers)
        await self._socket.send_str(json.dumps({"id": number, "method": method, "params": params}))
        async with asyncio.timeout(_WAIT_S):
            async for message in self._socket:
                answer = json.loads(message.data)
                self._follow(answer)
                if answer.get("id") == number:
                    assert "error" not in answer, answer
                    return answer["result"]
        raise AssertionError("the browser has gone")

    def _follow(self, event: dict[str, Any]) -> None:
        match event.get("method"):
            case "Runtime.executionContextCreated" if event["params"]["context"]["name"] == "trailmesh":
                self._worlds.add(event["params"]["context"]["id"])
            case "Runtime.executionContextsCleared":
                self._worlds.clear()

    async def reads(self, path: str) -> None:
        """Look at the page at ``path``, as long as it takes the recorder to do the same: a person is slower."""
        await self.send("Runtime.enable")
        await self.sees(f"location.pathname === {json.dumps(path)} && document.readyState === 'complete'")
        async with asyncio.timeout(_WAIT_S):
            while True:
                if [world for world in list(self._worlds) if await self._is_marked(world)]:
                    return
                await asyncio.sleep(0.02)

    async def _is_marked(self, world: int) -> bool:
        try:
            answer = await self.send(
                "Runtime.evaluate", expression="watch.marked()", contextId=world, returnByValue=True
            )
        except AssertionError:  # its document has gone
            self._worlds.discard(world)
            return False
        return bool(answer["result"].get("value"))

    async def sees(self, expression: str) -> Any:
        """The value of ``expression`` in the page, once it is true."""
        async with asyncio.timeout(_WAIT_S):
            while True:
                with contextlib.suppress(AssertionError):  # between two documents
                    answer = await self.send("Runtime.evaluate", expression=expression, returnByValue=True)
                    if value := answer["result"].get("value"):
                        return value
                await asyncio.sleep(0.02)

    async def click(self, selector: str, *, count: int = 1, button: str = "left", modifiers: int = 0) -> None:
        """Click the middle of the first element that ``selector`` matches, once it is there. modifiers: keys that are held."""
        middle = f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;
          e.scrollIntoView({{block: 'center', behavior: 'instant'}}); const r = e.getBoundingClientRect();
          return [r.x + r.width / 2, r.y + r.height / 2]; }})()"""
        x, y = await self.sees(middle)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                held = {"button": button, "clickCount": number, "modifiers": modifiers}
                await self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **held)

    async def type(self, text: str) -> None:
        """Press the keys of ``text``."""
        for char in text:
            await self.send("Input.dispatchKeyEvent", type="char", text=char)

    async def press(self, key: str) -> None:
        """Press one key."""
        code, text = _KEYS[key]
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        await self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **known)
        await self.send("Input.dispatchKeyEvent", type="keyUp", **known)


@contextlib.asynccontextmanager
async def person_at(endpoint: str, url: str) -> AsyncIterator[Person]:
    """A person at the page of the Chromium at ``endpoint`` that shows ``url``, once there is one."""
    async with aiohttp.ClientSession() as session:
        async with asyncio.timeout(_WAIT_S):
            while True:
                async with session.get(f"{endpoint}/json/list") as answer:
                    pages = [page for page in await answer.json() if page["url"].startswith(url)]
                if pages:
                    break
                await asyncio.sleep(0.05)
        async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
            yield Person(socket)
