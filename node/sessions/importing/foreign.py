"""The common form of all foreign recordings after their conversion to actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from node.config import invalid_in_words
from node.live.recording import Arrival
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Assert
from protocol.recording.records.session import Expect, Profile, Skipped

_NOTED_MAX: Final = 10


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a foreign recording, converted."""

    title: str
    profile: Profile
    actions: tuple[Action, ...]
    arrivals: Mapping[int, Arrival] = {}
    """The asserted page after an action, by the action's number from 1."""
    expects: Mapping[int, Expect] = {}
    """The expected effect of an action, by the action's number."""
    notes: tuple[str, ...] = ()
    """Differences from the tool's own player in performing the recording."""
    skipped: tuple[Skipped, ...] = ()
    """Steps that could not be converted, in order; always empty for a strict reader."""


class LeftOut:
    """Steps that cannot be performed. A lenient reader leaves them out; a strict reader refuses all of them at its end."""

    def __init__(self, *, lenient: bool) -> None:
        self._lenient = lenient
        self._skipped: list[Skipped] = []
        self._refused: list[MeshError] = []

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The steps left out so far."""
        return tuple(self._skipped)

    def add(self, error: MeshError, place: str, what: str, before: int) -> None:
        """Leave a step out because of ``error``. before: number of the action that follows the step.

        Errors: ``error``, if it is about the whole file; ``input.too_large``.
        """
        if error.code != "input.invalid":
            raise error
        if not self._lenient:
            # a loop would repeat the message in each round
            if all(error.message != known.message for known in self._refused):
                self._refused.append(error)
            if len(self._refused) == limits.REFUSALS_TOLD_MAX:
                self.require_none()
            return
        if len(self._skipped) >= limits.SKIPPED_STEPS_MAX:
            raise MeshError("input.too_large", f"more than {limits.SKIPPED_STEPS_MAX} steps cannot be performed")
        reason = error.message.partition(": ")[2] or error.message  # the position precedes the reason
        self._skipped.append(
            Skipped(place=place[:64], what=what[:64], reason=reason[: limits.REASON_CHARS_MAX], before=before)
        )

    def require_none(self) -> None:
        """Return if a strict reader found only steps that can be performed. Errors: ``input.invalid``, which names all others."""
        match self._refused:
            case []:
                return
            case [only]:
                raise only
            case [first, *_]:
                said = "; ".join(error.message for error in self._refused)
                more = " …" if len(self._refused) == limits.REFUSALS_TOLD_MAX else ""
                raise MeshError("input.invalid", f"{said}{more}", **first.detail, count=len(self._refused))


def invalid_reason(action: Action) -> str:
    """The reason why ``action`` exceeds the limits of its record; empty if it does not.

    msgspec checks lengths and ranges only on conversion, not in constructors.
    """
    try:
        # Converted to its own type: for the union of all actions, msgspec would examine every record on each call.
        msgspec.convert(msgspec.to_builtins(action), type(action))
    except msgspec.ValidationError as error:
        return invalid_in_words(error, Action)
    return ""


def counted_places(places: list[str]) -> str:
    """The first ``places``, in words."""
    return ", ".join(places[:_NOTED_MAX]) + (", …" if len(places) > _NOTED_MAX else "")


def asserted(
    actions: tuple[Action, ...], arrivals: Mapping[int, Arrival], timeout_ms: int, skipped: tuple[Skipped, ...]
) -> tuple[tuple[Action, ...], Mapping[int, Arrival], tuple[Skipped, ...]]:
    """``arrivals`` as assertions, if ``actions`` contain other assertions; otherwise unchanged.

    A session with assertions is compared by these alone, so the asserted pages must become assertions too. Without any assertion,
    addresses and titles are compared anyway, with the rest of the text.
    """
    if not any(isinstance(action, Assert) for action in actions):
        return actions, arrivals, skipped
    found: list[Action] = []
    moved: dict[int, int] = {}
    for number, action in enumerate(actions, 1):
        moved[number] = len(found) + 1
        found.append(action)
        if (page := arrivals.get(number)) is not None:
            parts: tuple[tuple[Literal["address", "title"], str], ...] = (("address", page.url), ("title", page.title))
            found += [Assert(what=what, expected=text, timeout_ms=timeout_ms) for what, text in parts if text]
    ends = len(found) + 1
    return (
        tuple(found),
        {},
        tuple(msgspec.structs.replace(one, before=moved.get(one.before, ends)) for one in skipped),
    )
