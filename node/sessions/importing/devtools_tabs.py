"""The tabs of a Chrome recording. Its steps name a tab by its address, and the first one ``main``."""

from __future__ import annotations

from protocol import limits
from protocol.page.actions.action import Action, CloseTab, SwitchTab, Wait
from protocol.trust.origin import origin_of

_MAIN = "main"


class DevtoolsTabs:
    """Knows which tab is in front, and the number of each tab."""

    def __init__(self) -> None:
        self._numbers = {_MAIN: 1}
        self._closed: set[str] = set()
        self._front = _MAIN
        """Empty after a tab was closed, because the recording does not tell which tab comes to the front."""

    @property
    def several(self) -> bool:
        """True if the recording has acted in another tab than the first one."""
        return len(self._numbers) > 1

    def reason(self, target: object, kind: str, *, last: bool) -> str:
        """The reason why a step cannot be performed in ``target``; empty if it can."""
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
        """The action that brings the tab to the front. Chrome finds a tab by its address, so the first use of a tab waits for the
        address.
        """
        if target == self._front:
            return ()
        known, self._front = target in self._numbers, target
        number = self._numbers.setdefault(target, len(self._numbers) + 1)
        found = () if known else (Wait(address=target, timeout_ms=timeout_ms),)
        return (SwitchTab(tab=number), *found)

    def close(self, target: str) -> tuple[Action, ...]:
        """The actions that close the tab, once it is in front; none for the first tab, with which the session ends."""
        if target == _MAIN:
            return ()
        self._closed.add(target)
        self._front = ""
        return (CloseTab(),)
