"""Chooses one action of a page for a goal, as a search would try it first, and says why."""

from __future__ import annotations

from typing import Literal

import msgspec

from protocol.goal.features import FeatureDraft, drafts_of
from protocol.goal.goal import Goal
from protocol.goal.heuristics import Candidate, candidates
from protocol.goal.reading import PageForGoal
from protocol.goal.weights import WEIGHTS
from protocol.page.actions.action import Action, Check, Fill, Press, Select, target_of
from protocol.page.seen.observation import Element, Observation

Deed = Literal["click", "fill", "select", "check", "press"]


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The action to take, its element, and the strongest reason for it."""

    action: Action
    element: Element
    why: str

    @property
    def deed(self) -> tuple[Deed, str]:
        """The kind of action, and its text, option or key; empty where none is needed."""
        match self.action:
            case Fill(value=str(value)):
                return "fill", value
            case Select(option=option):
                return "select", option
            case Press(key=key):
                return "press", key
            case Check():
                return "check", ""
            case _:
                return "click", ""


def choose(goal: Goal, observation: Observation) -> Choice | None:
    """The best of ``candidates`` that a search may try and that something speaks for; None if there is none."""
    reading = PageForGoal(goal, observation)
    for each in candidates(goal, observation):
        draft = _draft(reading, each) if each.selectable else None
        if draft is not None and (why := _reason(draft)):
            return Choice(action=each.action, element=draft.element, why=why)
    return None


def _draft(reading: PageForGoal, candidate: Candidate) -> FeatureDraft | None:
    """The draft from which ``candidate`` was made."""
    target = target_of(candidate.action)
    if target is None:
        return None
    element = reading.observation.named(target.role, target.name, target.frame)[target.nth or 0]
    value = Choice(action=candidate.action, element=element, why="").deed[1]
    drafts = drafts_of(reading, element)
    return next((each for each in drafts if isinstance(candidate.action, each.kind) and each.value == value), None)


def _reason(draft: FeatureDraft) -> str:
    """The reason of the feature that speaks most for ``draft``; empty if none does."""
    weighed = {name: WEIGHTS[name].value * amount for name, amount in draft.features.items()}
    best = max(weighed, key=lambda name: weighed[name], default="")
    return WEIGHTS[best].reason if best and weighed[best] > 0 else ""
