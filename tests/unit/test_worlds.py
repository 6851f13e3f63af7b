"""Which world of a frame is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from playwright.async_api import CDPSession

from adapters.browser.observing.worlds import Worlds

_NAME = "__playwright_utility_world_1"


class _Session:
    """Tells of execution contexts, and answers each evaluation with the number of its context."""

    def __init__(self) -> None:
        self.told: dict[str, Callable[[Mapping[str, Any]], object]] = {}

    def on(self, event: str, hear: Callable[[Mapping[str, Any]], object]) -> None:
        self.told[event] = hear

    async def send(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        assert method == "Runtime.evaluate"
        assert params is not None
        return {"result": {"value": params["contextId"]}}

    def has(self, number: int, frame: str) -> None:
        context = {"id": number, "name": _NAME, "auxData": {"frameId": frame}}
        self.told["Runtime.executionContextCreated"]({"context": context})


async def test_of_two_worlds_of_one_frame_the_later_one_is_asked() -> None:
    """Some versions of Chromium make a second one for a script that is registered over another session."""
    session = _Session()
    worlds = Worlds(cast(CDPSession, session))
    for number, frame in enumerate(("top", "inner", "top"), 1):
        session.has(number, frame)
    assert sorted(await worlds.everywhere("1")) == [2, 3]
    assert await worlds.in_frame("top", "1") == 3
