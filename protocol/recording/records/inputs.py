"""Inputs of a session: values that its author has named and that a replay can change.

A later action uses an input as ``${name}``, like a value that an ``extract`` has read. If a replay changes an input, each page
must show the new value wherever it showed the recorded one. All other changes are differences.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final
from urllib.parse import quote, quote_plus

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Fill, Select
from protocol.page.actions.values import references, text_of, with_text
from protocol.page.secrets.redaction import REDACTED, says_secret
from protocol.page.seen.observation import Observation
from protocol.recording.records.session import ChangedInput, Input, InputKind, ReplayReport, Session, Step

_PLACEHOLDER_BEGINS: Final = "‹secret:"
_KEPT: Final = "‹=›"
"""Added to a recorded value that a page still shows although the input was changed."""


def require_kind(kind: InputKind, name: str, value: str) -> None:
    """Return if ``value`` has the type ``kind``: a plain decimal number, or a date such as 2026-11-23. Errors:
    ``input.invalid``.
    """
    fits = True
    match kind:
        case "number":
            try:
                fits = Decimal(value).is_finite()
            except InvalidOperation:
                fits = False
        case "date":
            try:
                fits = datetime.date.fromisoformat(value).isoformat() == value
            except ValueError:
                fits = False
        case "text":
            pass
    if not fits:
        like = "a number, such as 12 or 3.50" if kind == "number" else "a date, such as 2026-11-23"
        raise MeshError("input.invalid", f"the input “{name}” must be {like}", name=name)


def require_plain_inputs(inputs: Sequence[Input], secrets: Mapping[str, str]) -> None:
    """Return if no value of an input contains a secret, because inputs are stored unredacted. Errors: ``input.invalid``."""
    for item in inputs:
        _require_plain(item.name, item.value, secrets)


def _require_plain(name: str, value: str, secrets: Mapping[str, str]) -> None:
    if _PLACEHOLDER_BEGINS in value or says_secret(value, secrets):
        raise MeshError("input.invalid", f"the input “{name}” contains a secret: give it with --secret", name=name)


def values_of(inputs: Sequence[Input]) -> dict[str, str]:
    """The values by name."""
    return {item.name: item.value for item in inputs}


def given_anew(inputs: Sequence[Input], given: Mapping[str, str]) -> tuple[Input, ...]:
    """``inputs`` of a file with the values ``given`` by name, for a recording. Errors: ``input.invalid``, ``input.too_large``."""
    known = {item.name: item.kind for item in inputs}
    for name, value in given.items():
        if name not in known:
            has = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise MeshError("input.invalid", f"the file has no input “{name}”; {has}", name=name)
        _require_fits(known[name], name, value)
    return tuple(msgspec.structs.replace(item, value=given.get(item.name, item.value)) for item in inputs)


def _require_fits(kind: InputKind, name: str, value: str) -> None:
    require_kind(kind, name, value)
    if len(value) > limits.INPUT_CHARS_MAX:
        raise MeshError("input.too_large", f"an input can have at most {limits.INPUT_CHARS_MAX} characters", name=name)


def change(
    session: Session, steps: Sequence[Step], given: Mapping[str, str], secrets: Mapping[str, str]
) -> tuple[ChangedInput, ...]:
    """The inputs of ``session`` that get another value, by name; ``steps`` are those that a replay performs.

    given: values by the name of an input, or by the number of a step that types or chooses a text. A value equal to the recorded
    one changes nothing. Errors: ``input.invalid`` (unknown, of another type, a secret), ``input.too_large``.
    """
    changed: list[ChangedInput] = []
    for name, value in sorted(given.items()):
        recorded = recorded_value(session, steps, name)
        if recorded is None:
            raise _unknown(session, steps, name)
        kind: InputKind = next((item.kind for item in session.inputs if item.name == name), "text")
        _require_fits(kind, name, value)
        _require_plain(name, value, secrets)
        if value != recorded:
            changed.append(ChangedInput(name=name, recorded=recorded, value=value))
    _require_told_apart(changed)
    return tuple(changed)


def _require_told_apart(changed: Sequence[ChangedInput]) -> None:
    """Refuse different values for two inputs that were equal in the recording: a page that confuses them could not be noticed."""
    first: dict[str, ChangedInput] = {}
    for item in changed:
        other = first.setdefault(_folded(item.recorded), item)
        if _folded(other.value) != _folded(item.value):
            raise MeshError(
                "input.invalid",
                f"the inputs “{other.name}” and “{item.name}” were the same in the recording, so no page tells which of two new"
                " values it says: record them with different values, or give both the same one",
                name=item.name,
            )


def recorded_value(session: Session, steps: Sequence[Step], name: str) -> str | None:
    """The recorded value of an input, or of the text in the step with this number; None if it cannot be changed."""
    named = values_of(session.inputs)
    if name in named:
        return named[name]
    action = next((step.action for step in steps if str(step.index) == name), None)
    if not isinstance(action, Fill | Select):
        return None
    text = text_of(action)
    # A text that uses an input or an extracted value changes with it; a redacted text is unknown.
    plain = text is not None and not references(text) and REDACTED not in text and _PLACEHOLDER_BEGINS not in text
    return text if plain and text is not None and len(text) <= limits.INPUT_CHARS_MAX else None


def _unknown(session: Session, steps: Sequence[Step], name: str) -> MeshError:
    if name in session.secrets or any(
        str(step.index) == name and isinstance(step.action, Fill) and not isinstance(step.action.value, str)
        for step in steps
    ):
        return MeshError("input.invalid", f"“{name}” is a secret: give it with --secret, not with --input", name=name)
    numbers = [str(step.index) for step in steps if recorded_value(session, (step,), str(step.index)) is not None]
    known = [*sorted(values_of(session.inputs)), *(f"{number} (the text of step {number})" for number in numbers)]
    has = f"; it has {', '.join(known)}" if known else "; it has none, and no step that types or chooses a text"
    return MeshError("input.invalid", f"the session has no input “{name}”{has}", name=name)


def applied(step: Step, changed: Sequence[ChangedInput]) -> Action:
    """The action of ``step``, with the text given for its number."""
    text = next((item.value for item in changed if item.name == str(step.index)), None)
    return step.action if text is None else with_text(step.action, text)


class InputReplacement:
    """Replaces the new values of inputs in a page's text by the recorded ones, as whole words, so that both texts can be compared.

    A page that still shows a recorded value in place of the new one differs from its recording. So a recorded value on the page
    gets a mark, which equals nothing in the recording.
    """

    def __init__(self, changed: Sequence[ChangedInput] = ()) -> None:
        self._recorded: dict[str, str] = {}
        self._new: dict[str, str] = {}
        for item in changed:
            for old, new in dict.fromkeys(
                (form(item.recorded), form(item.value)) for form in (_plain, _folded, quote, quote_plus)
            ):
                if old.strip() and new.strip():
                    self._recorded.setdefault(new, old)
                    self._new.setdefault(old, new)
        self._met = _words({*self._recorded, *self._new})
        self._home = _words(self._new, f"({_KEPT})?")

    def home(self, text: str) -> str:
        """The ``text`` of a page with the recorded values in place of the new ones."""
        if self._met is None:
            return text
        return self._met.sub(lambda found: self._recorded.get(found[0]) or found[0] + _KEPT, text)

    def shown(self, text: str) -> str:
        """``text`` in the form of ``home``, turned back into the text that the page shows; or recorded text, as the page should
        show it.
        """
        if self._home is None:
            return text
        return self._home.sub(lambda found: found[1] if found[2] else self._new[found[1]], text)

    def page_home(self, page: Observation) -> Observation:
        """``page`` with the recorded values in its address, title, text and names of elements."""
        if self._met is None:
            return page
        return msgspec.structs.replace(
            page,
            url=self.home(page.url),
            title=self.home(page.title),
            text=self.home(page.text),
            elements=tuple(msgspec.structs.replace(item, name=self.home(item.name)) for item in page.elements),
        )


def _words(texts: Iterable[str], behind: str = "") -> re.Pattern[str] | None:
    said = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(rf"(?<!\w)({said})(?!\w){behind}") if said else None


def _plain(text: str) -> str:
    return text


def _folded(text: str) -> str:
    return " ".join(text.split())


def check_inputs(report: ReplayReport, session: Session, steps: Sequence[Step]) -> None:
    """Return if the changed inputs of ``report`` are inputs of its recording, sorted by name, each with another value.

    A report may list differences only if an input was changed, and only for its own steps. Errors: ``report.invalid``.
    """
    names = [item.name for item in report.inputs]
    if names != sorted(set(names)):
        raise MeshError("report.invalid", "its inputs are not in the order of their names")
    for item in report.inputs:
        if recorded_value(session, steps, item.name) != item.recorded or item.value == item.recorded:
            raise MeshError("report.invalid", f"the recording has no such input “{item.name}”", name=item.name)
    known = {match.index for match in report.steps}
    told = {index for item in report.differences for index in (item.step, *item.also)}
    if (report.differences and not report.inputs) or not told <= known:
        raise MeshError("report.invalid", "its differences are of no step, or of a replay with the recorded inputs")
