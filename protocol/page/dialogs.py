"""Dialogs that a page opens, the answer that an action expects to give, and the risk of giving it.

Every dialog is dismissed unless the step expects it and accepts it. What is accepted must be what was judged: the text of a
dialog is written by the page, so it is judged again when it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from protocol import limits
from protocol.errors import MeshError

DialogKind = Literal["alert", "confirm", "prompt", "beforeunload"]
Message = Annotated[str, msgspec.Meta(max_length=limits.DIALOG_CHARS_MAX)]


class Dialog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A dialog that a step caused, and how it was answered."""

    kind: DialogKind
    """``beforeunload``: the page asks whether it may be left."""
    message: Message = ""
    """What the page says in it, cut at the limit. Browsers show a text of their own for ``beforeunload``."""
    accepted: bool = False


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The dialog that a step is meant to cause, and the answer to it."""

    kind: DialogKind
    text: Message = ""
    """A part of what it says; empty for any text."""
    accept: bool = False
    """Whether it is accepted. An alert has only one answer."""
    reply: Message = ""
    """What is entered in a prompt that is accepted."""

    def __post_init__(self) -> None:
        if self.reply and not (self.accept and self.kind == "prompt"):
            raise ValueError("only a prompt that is accepted takes a reply")
        if self.text and self.kind == "beforeunload":
            raise ValueError("browsers do not show the text of a page that asks whether it may be left")


def fits(answer: Answer | None, dialog: Dialog) -> bool:
    """Whether ``dialog`` is the one that is expected. White space is folded, and the case of letters counts."""
    if answer is None or answer.kind != dialog.kind:
        return False
    return " ".join(answer.text.split()) in " ".join(dialog.message.split())


def unexpected(dialogs: Sequence[Dialog], answer: Answer | None) -> tuple[Dialog, ...]:
    """Those of ``dialogs`` that are not the one expected, or were not answered so."""
    left, met = [], False
    for dialog in dialogs:
        wanted = answer is not None and (dialog.accepted == answer.accept or dialog.kind == "alert")
        if not met and wanted and fits(answer, dialog):
            met = True
        else:
            left.append(dialog)
    return tuple(left)


def require_expected(dialogs: Sequence[Dialog], answer: Answer | None) -> None:
    """Raise unless the expected dialog came, and no other one. Without an expectation any may come.

    Errors: ``action.dialog``.
    """
    if answer is None:
        return
    others = unexpected(dialogs, answer)
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


def describe_answer(answer: Answer) -> str:
    """``confirm “Sure?” to accept``."""
    said = f" “{answer.text}”" if answer.text else ""
    reply = f" with “{answer.reply}”" if answer.reply else ""
    return f"{answer.kind}{said}" + ("" if answer.kind == "alert" else f" to {_verb(answer)}{reply}")


def _verb(answer: Answer) -> str:
    return "accept" if answer.accept else "dismiss"
