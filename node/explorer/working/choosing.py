"""Lets a chooser prefer one of the actions of a page."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from adapters.ports.choosing import Chooser, Offer, Offers
from protocol.goal.goal import Goal
from protocol.goal.heuristics import Candidate
from protocol.page.actions.action import describe
from protocol.page.secrets.redaction import Redaction, redacted
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Observation


async def preferred(
    chooser: Chooser, choices: Sequence[Candidate], page: Observation, goal: Goal, secrets: Secrets
) -> tuple[Candidate, ...]:
    """``choices`` with the chosen one first: it and the best one exchange their priors.

    Those that need an approval are not offered. No secret of ``secrets`` stands in an offer.
    """
    offered = [each for each in choices if each.selectable]
    if len(offered) < 2:
        return tuple(choices)
    hidden = redacted(tuple(each.action for each in offered), Redaction(secrets))
    lines = tuple(Offer(id=str(number), line=describe(action)) for number, action in enumerate(hidden, 1))
    chosen = await chooser.choose(Offers(url=page.url, title=page.title, offers=lines), goal.text)
    place = next((number for number, each in enumerate(lines) if each.id == chosen), 0)
    first, taken = offered[0], offered[place]
    swapped = {
        id(first): msgspec.structs.replace(first, prior=taken.prior),
        id(taken): msgspec.structs.replace(taken, prior=first.prior),
    }
    return tuple(sorted((swapped.get(id(each), each) for each in choices), key=lambda each: -each.prior))
