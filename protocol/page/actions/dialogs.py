"""Dialogs that a page opens, the answer that an action expects to give, and the risk of giving it.

Every dialog is dismissed unless the step expects it and accepts it. The page writes the text of a dialog, so an accepted dialog is
judged again when it appears.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.kinds import AuthorText, TextKind
from protocol.page.actions.fits import Grade, at_least, graded
from protocol.shown import shown

DialogKind = Literal["alert", "confirm", "prompt", "beforeunload"]
Message = Annotated[AuthorText, msgspec.Meta(max_length=limits.DIALOG_CHARS_MAX)]


class Dialog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A dialog that a step caused, and how it was answered."""

    kind: Annotated[DialogKind, shown("kind")]
    """``beforeunload``: the page asks before it is left."""
    message: Annotated[Message, TextKind.PAGE_TEXT, shown("says", words=" “{}”")] = ""
    """The message of the page, cut at the limit. For ``beforeunload`` browsers show a text of their own."""
    accepted: Annotated[bool, shown("accepted", words="accepted", empty="dismissed")] = False


class DialogAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The dialog that a step should cause, and the answer to it."""

    kind: DialogKind
    text: Message = ""
    """A part of its message; empty for any message."""
    accept: bool = False
    """True to accept it. An alert has only one answer."""
    reply: Message = ""
    """The text to enter in an accepted prompt."""

    def __post_init__(self) -> None:
        if self.reply and not (self.accept and self.kind == "prompt"):
            raise ValueError("only a prompt that is accepted takes a reply")
        if self.text and self.kind == "beforeunload":
            raise ValueError("browsers do not show the text of a page that asks whether it may be left")


def fits(answer: DialogAnswer | None, dialog: Dialog, grade: Grade = "part") -> bool:
    """True if ``dialog`` is the expected one.

    White space is folded, and case counts. grade: how much of the message must match.
    """
    if answer is None or answer.kind != dialog.kind:
        return False
    wanted, said = " ".join(answer.text.split()), " ".join(dialog.message.split())
    return wanted in said and (not wanted or at_least(graded(wanted, said), grade))


def grade_of(answer: DialogAnswer | None, dialogs: Sequence[Dialog]) -> Grade:
    """How much of the recorded dialog's message the expected text covers. Both are given as stored."""
    met = next((dialog for dialog in dialogs if fits(answer, dialog)), None)
    found = graded(answer.text, met.message) if answer is not None and met is not None and answer.text else None
    return found or "part"


def unexpected(dialogs: Sequence[Dialog], answer: DialogAnswer | None, grade: Grade = "part") -> tuple[Dialog, ...]:
    """The ``dialogs`` other than the expected one with the expected answer. grade: as for ``fits``."""
    left, met = [], False
    for dialog in dialogs:
        wanted = answer is not None and (dialog.accepted == answer.accept or dialog.kind == "alert")
        if not met and wanted and fits(answer, dialog, grade):
            met = True
        else:
            left.append(dialog)
    return tuple(left)


def require_expected(dialogs: Sequence[Dialog], answer: DialogAnswer | None, grade: Grade = "part") -> None:
    """Return if the expected dialog came and no other; without an expectation, any dialog may come.

    grade: as for ``fits``. Errors: ``action.dialog``.
    """
    if answer is None:
        return
    others = unexpected(dialogs, answer, grade)
    if not others and dialogs:
        return
    instead = "; ".join(map(describe_dialog, others)) if others else "no dialog"
    raise MeshError(
        "action.dialog",
        f"expected {describe_answer(answer)}, found {instead}",
        expected=describe_answer(answer),
        found=instead,
    )


def describe_dialog(dialog: Dialog) -> str:
    """``confirm “Sure?”, dismissed``."""
    said = f" “{' '.join(dialog.message.split())}”" if dialog.message else ""
    return f"{dialog.kind}{said}, {'accepted' if dialog.accepted else 'dismissed'}"


def describe_answer(answer: DialogAnswer) -> str:
    """``confirm “Sure?” to accept``."""
    said = f" “{answer.text}”" if answer.text else ""
    reply = f" with “{answer.reply}”" if answer.reply else ""
    return f"{answer.kind}{said}" + ("" if answer.kind == "alert" else f" to {_verb(answer)}{reply}")


def _verb(answer: DialogAnswer) -> str:
    return "accept" if answer.accept else "dismiss"
