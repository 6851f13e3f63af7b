"""The risk class of an action that causes a dialog, including the given answer."""

from __future__ import annotations

import msgspec

from protocol.page.actions.dialogs import DialogAnswer
from protocol.risk.judgement import GRAVE_CLASS, Risk, RiskEvidence, settled, weigh, worst
from protocol.risk.words import say


def accepts(answer: DialogAnswer | None) -> bool:
    """True if a question of the page is answered with yes."""
    return answer is not None and answer.accept and answer.kind != "alert"


def with_answer(risk: Risk, answer: DialogAnswer | None, *, free: bool = False) -> Risk:
    """``risk`` of an action, or the risk of accepting the dialog that it causes, if that is higher.

    A question is judged like a button with its text. A question without a given text is not understood (class 4). free: the action
    needs no yes by itself, so an ordinary press does not raise the class of the accepted question.
    """
    if answer is None or not accepts(answer):
        return risk
    if free and risk.level < GRAVE_CLASS:
        risk = msgspec.structs.replace(risk, level=1)
    if answer.kind == "beforeunload":
        return worst(risk, settled(3, "leaves a page that asks to stay"))
    if not answer.text.strip():
        return worst(risk, settled(4, "accepts a dialog whose text is not given"))
    return worst(risk, _accepted(answer.text))


def _accepted(text: str) -> Risk:
    """The risk of accepting the question ``text``. Unlike a label, a question without known words gets the class of the action
    that causes it.
    """
    spoken = say(text)
    level = spoken.level if spoken.certain else max(spoken.level, spoken.leans)
    found = [RiskEvidence(level=level, certain=spoken.certain, says=f"accepts “{spoken.text}”")] if level else []
    return weigh(settled(3, "accepts a dialog", sure=False), found)
