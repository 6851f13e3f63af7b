"""Turns the acts of a person on a page into actions: several events of one act become one action. Pure.

A browser reports more events than the person performed acts. Enter in a search box is a key, a change, a click on the default
button and a submission. A click on a label is also a click on its field, and a typed word is one event for each letter. Only the
act of the person is kept, because a replay causes its consequences again.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from protocol.page.actions.action import (
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    Fill,
    Forward,
    Goto,
    Locator,
    Press,
    Reload,
    Secret,
    Select,
    Upload,
)
from protocol.page.secrets.redaction import redact_url

_SAME_ACT_MS: Final = 60
"""The time within which a click of the default button belongs to the key that caused it."""


ActKind = Literal[
    "click",
    "double",
    "right",
    "text",
    "choice",
    "check",
    "files",
    "key",
    "goto",
    "back",
    "forward",
    "reload",
    "close",
    "other",
]
"""The kind of an act; ``other`` cannot become an action."""


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a person that a browser reports."""

    kind: ActKind
    target: Locator | None = None
    node: str = ""
    """The id of the element: equal for the same element of the same document."""
    text: str = ""
    """The typed text, the address, or a description of an act that cannot become an action (``other``)."""
    texts: tuple[str, ...] = ()
    """The chosen options, at least one; or the names of files."""
    secret: str = ""
    """The name of the secret that was typed; ``text`` is then empty."""
    checked: bool = False
    key: str = ""
    by_key: bool = False
    """True for a click that was made without a pointer."""
    field: bool = False
    """True for a click into a text field, which at first only takes the focus."""
    at_ms: float = 0


class Script:
    """The actions of a person so far, in order, with remarks between them."""

    def __init__(self) -> None:
        self._steps: list[tuple[Action | str, Act]] = []
        self._typed: dict[str, str] = {}
        """The last text typed into each field, by node; for a secret, its name."""
        self._entered_ms = float("-inf")

    @property
    def steps(self) -> tuple[Action | str, ...]:
        """The actions, with texts about acts that could not become one."""
        return tuple(step for step, _ in self._steps)

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions alone."""
        return tuple(step for step, _ in self._steps if not isinstance(step, str))

    def take(self, act: Act) -> bool:
        """Add the meaning of ``act``. True if the script changed."""
        match act.kind:
            case "text":
                return self._text(act)
            case "click":
                return self._click(act)
            case "double":
                self._forget(act.node, Click, 2)
                return self._add(Click(target=_of(act), count=2), act)
            case "right":
                return self._add(Click(target=_of(act), button="right"), act)
            case "choice":
                self._forget(act.node, Click, 1)
                self._forget(act.node, Select, 1)
                return self._add(Select(target=_of(act), option=act.texts[0], also=act.texts[1:]), act)
            case "files":
                return self._files(act)
            case "check":
                self._forget(act.node, Click, 1)
                self._forget(act.node, Check, 1)
                return self._add(Check(target=_of(act), checked=act.checked), act)
            case "key":
                if act.key == "Enter":
                    self._entered_ms = act.at_ms
                return self._add(Press(key=act.key, target=act.target), act)
            case "goto":
                return self._add(Goto(url=redact_url(act.text)), act)
            case "other":
                return self._add(act.text, act)
            case _:
                moves: dict[str, Action] = {
                    "back": Back(),
                    "forward": Forward(),
                    "reload": Reload(),
                    "close": CloseTab(),
                }
                return self._add(moves[act.kind], act)

    def _text(self, act: Act) -> bool:
        value = f"secret {act.secret}" if act.secret else f"text {act.text}"
        if self._typed.get(act.node) == value:  # the final event for letters that were reported one by one
            return self._forget(act.node, Click, 1)
        self._typed[act.node] = value
        self._forget(act.node, Click, 1)
        self._forget(act.node, Fill, 1)
        return self._add(Fill(target=_of(act), value=Secret(secret=act.secret) if act.secret else act.text), act)

    def _files(self, act: Act) -> bool:
        """Add an upload to a file field, or else to the element that was clicked before and opened the file chooser."""
        last = self._steps[-1][0] if self._steps else None
        target = act.target or (last.target if isinstance(last, Click) else None)
        if target is None:
            return self._add("files were chosen, and it is not known where: a person has to write the upload", act)
        if act.target is None:
            self._steps.pop()
        self._forget(act.node, Upload, 1)
        return self._add(Upload(target=target, files=act.texts), act)

    def _click(self, act: Act) -> bool:
        if act.by_key and 0 <= act.at_ms - self._entered_ms < _SAME_ACT_MS:
            return False
        return self._add(Click(target=_of(act)), act)

    def _add(self, step: Action | str, act: Act) -> bool:
        self._steps.append((step, act))
        return True

    def _forget(self, node: str, kind: type[Action], count: int) -> bool:
        """Remove up to ``count`` of the last steps, if they are a ``kind`` on the same element. True if one was removed."""
        before = len(self._steps)
        for _ in range(count):
            if self._steps and isinstance(self._steps[-1][0], kind) and self._steps[-1][1].node == node:
                self._steps.pop()
        return len(self._steps) < before


def _of(act: Act) -> Locator:
    assert act.target is not None, "only an act on an element has this kind"
    return act.target
