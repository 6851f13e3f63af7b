"""What the heuristics see on made pages: every candidate with its features, the priors, the value of the page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from protocol.goal.features import drafts_of
from protocol.goal.goal import parse_goal
from protocol.goal.heuristics import candidates, dead_end, demands, similarity, value
from protocol.goal.reading import PageForGoal
from protocol.page.actions.action import describe
from tests.pinned.pages import GOALS, page

PAGES, IN_FULL = 260, 26


def lines() -> Iterator[str]:
    """The first pages in full, of the others what they are worth and a digest: ``python -m tests.pinned 17`` shows one."""
    for seed in range(PAGES):
        block = list(of(seed))
        digest = hashlib.sha256("\n".join(block).encode()).hexdigest()[:16]
        yield from block if seed < IN_FULL else (*block[:2], f"  {digest}")


def of(seed: int) -> Iterator[str]:
    """One page: all that is seen on it, and of the candidates the five best."""
    goal, observation = parse_goal(GOALS[seed % len(GOALS)]), page(seed)
    read = PageForGoal(goal, observation)
    yield f"page {seed}, {observation.url}, for “{goal.text}”"
    worth = value(goal, observation, reached=False, visits_of_state=seed % 4)
    met = " ".join(f"{part:g}" for part in demands(read))
    yield f"  worth {worth:g}: similar {similarity(read):.4f}, met {met or '-'}, dead end {dead_end(read)}"
    for item in observation.elements:
        for draft in drafts_of(read, item) if item.interactive else ():
            said = " ".join(f"{name}={amount:.4g}" for name, amount in sorted(draft.features.items()))
            yield f"  {item.ref} {draft.kind.__name__} {item.name!r} {draft.value!r}: {said}"
    for found in candidates(goal, observation)[:5]:
        yield f"  {found.prior:g} class {found.risk}: {describe(found.action)}"
