"""One rule for all tools: of the lines that a tool has printed, take the one that has the words of the goal.

It stands for the model of an agent. It knows a task (``tasks.toml``) and sees only printed text: neither the page nor its source.
It looks as every agent is told to: at what it was shown anyway, then at what can be done, then it searches, then it reads all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from benchmarks.agents.tools import Entry, Refused, Tool

Step = dict[str, Any]
ROLES: Final = {
    "fill": r"textbox|searchbox|spinbutton|combobox|input|textarea",
    "select": r"combobox|listbox|select",
    "check": r"checkbox|switch|input",
    "click": r"button|link|checkbox|tab|menuitem|option|a",
    "upload": r"button|textbox|input|file",
    "download": r"link|button|a",
}
_ENTRIES: Final = frozenset({"fill", "select", "check"})


class NotFound(Exception):
    """Nothing that the tool prints has the words."""


class Chooser:
    """Does one task with one tool."""

    def __init__(self, tool: Tool, values: dict[str, str]) -> None:
        self._tool, self._values = tool, values
        self._printed: list[str] = []
        self._since = 0
        self._address = ""

    def do(self, start: str, steps: Sequence[Step]) -> None:
        """Open ``start`` and do ``steps``. Errors: ``NotFound``, ``Refused``."""
        self._acted(self._tool.open(start))
        rest = list(steps)
        while rest:
            step = rest.pop(0)
            if step["do"] not in _ENTRIES:
                self._one(step)
                continue
            group = [step]
            while rest and rest[0]["do"] in _ENTRIES:
                group.append(rest.pop(0))
            submit = bool(rest) and rest[0] == {"do": "press", "key": "Enter"}
            if submit:
                rest.pop(0)
            self._enter(group, submit)

    def _one(self, step: Step) -> None:
        match step["do"]:
            case "read":
                self._line(step, any_line=True)
            case "wait":
                self._acted(self._tool.wait(step["words"]))
            case "press":
                self._acted(self._tool.press(step["key"]))
            case "click":
                self._with_ref(step, self._tool.click)
            case "download":
                self._with_ref(step, self._tool.download)
            case "upload":
                self._with_ref(step, lambda ref: self._tool.upload(ref, self._values[step["file"]]))

    def _enter(self, group: list[Step], submit: bool) -> None:
        def entries() -> list[Entry]:
            return [
                Entry(self._ref(step), step["do"], step["words"], step.get("value", ""), step.get("secret", ""))
                for step in group
            ]

        try:
            answer = self._tool.fill(entries(), submit)
        except Refused:
            self._look()
            answer = self._tool.fill(entries(), submit)
        self._acted(answer, typed=not submit)

    def _with_ref(self, step: Step, act: Any) -> None:
        try:
            answer = act(self._ref(step))
        except Refused:  # what it was shown is out of date: it looks again, once
            self._look()
            answer = act(self._ref(step))
        self._acted(answer)

    def _acted(self, answer: str, *, typed: bool = False) -> None:
        """Keep an answer. What was printed of another page is forgotten, and so is everything if the tool does not say the page.
        typed: that leads nowhere.
        """
        told = self._tool.address(answer) or (self._address if typed else "")
        if not self._tool.lasting and (not told or told != self._address):
            self._printed.clear()
        self._address = told or self._address
        self._printed.append(answer)
        self._since = len(self._printed) - 1

    def _look(self) -> None:
        self._printed.append(self._tool.look())

    def _ref(self, step: Step) -> str:
        return self._tool.ref(self._line(step)) or ""

    def _line(self, step: Step, *, any_line: bool = False) -> str:
        """The line with the words of ``step``. any_line: it needs no id, but was printed since the last action."""
        for text in reversed(self._printed[self._since :] if any_line else self._printed):
            if found := self._found(text, step, any_line):
                return found
        words: str = step["in"] if "in" in step else step["words"]
        for text in self._looks(words):
            self._printed.append(text)
            if found := self._found(text, step, any_line):
                return found
        raise NotFound(f"{self._tool.name}: no line for {step}")

    def _looks(self, words: str) -> Iterator[str]:
        yield self._tool.look()
        if (found := self._tool.find(words)) is not None:
            yield found
        yield from self._tool.more()

    def _found(self, text: str, step: Step, any_line: bool) -> str:
        lines = text.splitlines()
        if place := step.get("in"):
            inside = _phrase(place)
            starts = [number for number, line in enumerate(lines) if inside.search(line)]
            lines = [line for number in starts for line in lines[number : number + 12]]
        role = step.get("role", "" if any_line else ROLES[step["do"]])
        fitting = [
            line
            for line in lines
            if _phrase(step["words"]).search(line)
            and (any_line or self._tool.ref(line))
            and (any_line or not role or re.search(rf"\b({role})\b", line))
            and re.search(step.get("like", ""), line)
        ]
        exact = [line for line in fitting if f'"{step["words"]}"'.casefold() in line.casefold()]
        return next(iter(exact or fitting), "")


def _phrase(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.IGNORECASE)
