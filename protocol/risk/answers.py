"""The risk class of an action that causes a dialog, with the answer that is given to it."""

from __future__ import annotations

from protocol.page.dialogs import Answer
from protocol.risk.classes import Risk, by_words


def with_answer(risk: Risk, answer: Answer | None) -> Risk:
    """``risk`` of an action, or that of accepting the dialog that it causes, if that is higher.

    A question counts as a button with its text would. One whose text is not given is not understood (class 4).
    """
    if answer is None or not answer.accept or answer.kind == "alert":
        return risk
    if answer.kind == "beforeunload":
        accepted = Risk(level=3, reason="leaves a page that asks to stay")
    elif not answer.text.strip():
        accepted = Risk(level=4, reason="accepts a dialog whose text is not given")
    else:
        accepted = by_words(answer.text, (), from_level=4) or Risk(level=3, reason="accepts a dialog")
    return max(risk, accepted, key=lambda each: each.level)
