"""What an action is given beside its element: which dialogs may be accepted."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from protocol.page.actions.dialogs import Answer, Dialog, fits
from protocol.page.actions.fits import Grade
from protocol.risk.pressing.answers import with_answer
from protocol.risk.pressing.classes import Risk


def accepting(answer: Answer | None, admitted: Risk, risk_max: int, grade: Grade = "part") -> Callable[[Dialog], bool]:
    """Which dialogs may be accepted: the first of the expected form, if it asks for no more than was admitted.

    The text in the file is a part of what the page says, or missing; the whole is judged here. risk_max: the highest class that
    needs no other approval. grade: as for ``fits``.
    """
    accepted: list[Dialog] = []

    def accepts(dialog: Dialog) -> bool:
        if answer is None or not answer.accept or accepted or not fits(answer, dialog, grade):
            return False
        # Of a page that asks to stay, browsers show no words of its own.
        said = answer if answer.kind == "beforeunload" else msgspec.structs.replace(answer, text=dialog.message)
        if with_answer(admitted, said).level > max(risk_max, admitted.level):
            return False
        accepted.append(dialog)
        return True

    return accepts
