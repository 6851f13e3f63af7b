"""The simplest walker there is: always the best candidate not yet tried in this state. No tree, no memory, no model."""

from __future__ import annotations

from adapters.ports.browser import Browser
from protocol.goal.condition import Condition, holds
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import candidates
from protocol.page.actions.action import Action, Goto, describe, target_of
from protocol.page.actions.locator import resolve
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy


async def walk(browser: Browser, start: str, goal_text: str, condition: Condition, *, steps_max: int) -> list[str]:
    """The actions that led to a page meeting ``condition``; fails if it is not met after ``steps_max`` of them."""
    goal = parse_goal(goal_text)
    context = await browser.open(Profile(), GuardPolicy())
    try:
        page = await context.page()
        seen = (await page.perform(Goto(url=start))).observation
        tried: set[tuple[bytes, Action]] = set()
        path: list[str] = []
        while not holds(condition, seen):
            assert len(path) < steps_max, f"not reached: {path}"
            free = [item.action for item in candidates(goal, seen) if item.selectable]
            action = next(action for action in free if (seen.state, action) not in tried)
            tried.add((seen.state, action))
            path.append(describe(action))
            target = target_of(action)
            assert target is not None
            seen = (await page.perform(action, ref=resolve(target, seen).ref)).observation
        return path
    finally:
        await context.close()
