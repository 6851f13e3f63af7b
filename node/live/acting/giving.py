"""Decides which dialogs an action may accept."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from protocol.page.actions.dialogs import Dialog, DialogAnswer, fits
from protocol.page.actions.fits import Grade
from protocol.risk.pressing.answers import with_answer
from protocol.risk.pressing.classes import Risk


def accepting(
    answer: DialogAnswer | None, admitted: Risk, risk_max: int, grade: Grade = "part"
) -> Callable[[Dialog], bool]:
    """A test for dialogs: it accepts the first dialog of the expected form, if its risk is no higher than the admitted risk.

    An action file gives only part of the dialog's text, or none, so the whole text is judged here. risk_max: the highest class
    that needs no other approval. grade: as for ``fits``.
    """
    accepted: list[Dialog] = []

    def accepts(dialog: Dialog) -> bool:
        if answer is None or not answer.accept or accepted or not fits(answer, dialog, grade):
            return False
        # When a page asks whether to leave, browsers show none of the page's own words.
        said = answer if answer.kind == "beforeunload" else msgspec.structs.replace(answer, text=dialog.message)
        if with_answer(admitted, said).level > max(risk_max, admitted.level):
            return False
        accepted.append(dialog)
        return True

    return accepts
