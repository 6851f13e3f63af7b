"""Tabs of a Chrome recording, whose steps name them by their address: ``main`` for the first one."""

from __future__ import annotations

from protocol import limits
from protocol.page.actions.action import Action, CloseTab, SwitchTab, Wait
from protocol.trust.origin import origin_of

_MAIN = "main"


class DevtoolsTabs:
    """Which tab is in front, and the number of each target."""

    def __init__(self) -> None:
        self._numbers = {_MAIN: 1}
        self._closed: set[str] = set()
        self._front = _MAIN
        """Empty after a tab was closed: which one comes to the front then the recording does not say."""

    @property
    def several(self) -> bool:
        """Whether the recording has acted in another tab than the first one."""
        return len(self._numbers) > 1

    def reason(self, target: object, kind: str, *, last: bool) -> str:
        """Why a step cannot be done in ``target``; empty if it can."""
        if not isinstance(target, str) or (target != _MAIN and not origin_of(target)):
            return "must be `main`, or the http(s) address of another tab"
        if len(target) > limits.URL_CHARS_MAX:
            return f"an address has at most {limits.URL_CHARS_MAX} characters"
        if target in self._closed:
            return "this tab was closed by an earlier step"
        if target not in self._numbers and kind == "close":
            return "nothing was done in this tab"
        return "only the last step can close the first tab" if (kind, target, last) == ("close", _MAIN, False) else ""

    def come(self, target: str, timeout_ms: int) -> tuple[Action, ...]:
        """What brings the tab to the front. Chrome finds it by its address, so the first time that is awaited in it."""
        if target == self._front:
            return ()
        known, self._front = target in self._numbers, target
        number = self._numbers.setdefault(target, len(self._numbers) + 1)
        found = () if known else (Wait(address=target, timeout_ms=timeout_ms),)
        return (SwitchTab(tab=number), *found)

    def close(self, target: str) -> tuple[Action, ...]:
        """What closes the tab, once it is in front; nothing for the first one, with which the session ends."""
        if target == _MAIN:
            return ()
        self._closed.add(target)
        self._front = ""
        return (CloseTab(),)
