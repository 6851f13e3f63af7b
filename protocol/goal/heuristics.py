"""Computes priors of actions and values of pages for a goal, without a language model.

Nothing here knows a site, reads a success condition or performs an action. A candidate's prior is a softmax over weighted
features; ``protocol.goal.weights`` holds every weight with its reason. Candidates of ``risk.APPROVAL_CLASS`` and above are
returned, so that a person can see them, but with prior 0: a search never selects them, and the network guard would refuse their
requests.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, Protocol
from urllib.parse import unquote_plus

import msgspec

from protocol import limits
from protocol.goal.features import FeatureDraft, drafts_of, one_per_address, short_number
from protocol.goal.goal import Goal, Slot, Threshold
from protocol.goal.labels import names_slot, own_path, speaks_of, threshold_match, url_stems, verdict
from protocol.goal.reading import SORTED_RUN_MIN, PageForGoal
from protocol.goal.weights import WEIGHTS
from protocol.goal.words import tokens
from protocol.page.actions.action import Action, Check, Click, Fill, Locator, Press, Select
from protocol.page.seen.observation import Element, Observation
from protocol.risk.pressing.classes import APPROVAL_CLASS
from protocol.risk.pressing.classes import classify as classify_by_rules
from protocol.wire import cbor

ERROR_WORDS: Final = ("not found", "404", "error", "forbidden", "went wrong")
EMPTY_WORDS: Final = ("no results", "nothing found", "no matches", "0 results", "0 items")
MASKED_SHOWN_MAX: Final = 8
"""Maximum number of masked candidates in the result. They are only shown to people; the other places are for selectable
candidates."""
OTHERS_PLACES: Final = 12
"""How many buttons, menus and fields are tried on a page full of links."""
PRIOR_DIGITS: Final = 6
"""Priors are rounded, so that machines with different last bits of ``exp`` agree on their order."""


class HasLevel(Protocol):
    """The part of a risk that the heuristics need."""

    @property
    def level(self) -> int: ...


Classify = Callable[[Action, Element | None, Observation], HasLevel]
"""``protocol.risk.pressing.classes.classify``."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An action to try. The ``prior`` of those below ``APPROVAL_CLASS`` sums to 1; it is 0 for the others."""

    action: Action
    prior: float
    risk: int

    @property
    def selectable(self) -> bool:
        """True if a search may try it without an approval."""
        return self.risk < APPROVAL_CLASS


def candidates(
    goal: Goal,
    observation: Observation,
    *,
    classify: Classify = classify_by_rules,
    known: Callable[[Element], bool] = lambda element: False,
) -> tuple[Candidate, ...]:
    """The actions to try on this page, best first: prior descending, then the bytes of the action; the same on every machine.

    At most ``CANDIDATES_PER_STATE_MAX``. At most ``MASKED_SHOWN_MAX`` of them, at the end, need an approval. ``OTHERS_PLACES``
    are reserved for other controls than links: a menu says little about its content. known: True for links that need not be
    tried, as their target is known.
    """
    reading = PageForGoal(goal, observation)
    drafts = one_per_address(
        [
            draft
            for item in observation.elements
            if (item.interactive or item.clickable) and not known(item)
            for draft in drafts_of(reading, item)
        ]
    )
    places = _places(observation)
    scored = sorted(
        ((round(draft.score(), PRIOR_DIGITS), index, draft) for index, draft in enumerate(drafts)),
        key=lambda entry: (-entry[0], entry[1]),
    )
    free: list[tuple[float, Action, int]] = []
    masked: list[Candidate] = []
    for score, _, draft in _mixed(scored):
        action = _action(draft, places[draft.element.ref])
        judged = classify(action, draft.element, observation)
        level = judged.level
        if level < APPROVAL_CLASS:
            free.append((score + WEIGHTS["side_effect"].value * max(0, judged.level - 1), action, level))
        elif len(masked) < MASKED_SHOWN_MAX:
            masked.append(Candidate(action=action, prior=0.0, risk=level))
        if len(free) >= limits.CANDIDATES_PER_STATE_MAX:
            break
    free = free[: limits.CANDIDATES_PER_STATE_MAX - len(masked)]
    priors = _softmax([score for score, _, _ in free])
    chosen = [
        Candidate(action=action, prior=prior, risk=level)
        for prior, (_, action, level) in zip(priors, free, strict=True)
    ]
    return tuple(
        sorted([*chosen, *masked], key=lambda item: (-item.prior, not item.selectable, cbor.encode(item.action)))
    )


def _mixed(scored: list[tuple[float, int, FeatureDraft]]) -> Iterator[tuple[float, int, FeatureDraft]]:
    """The best candidates, with ``OTHERS_PLACES`` reserved for other controls than links; then the links left out."""
    others = sum(entry[2].element.role != "link" for entry in scored)
    links_left, later = limits.CANDIDATES_PER_STATE_MAX - min(OTHERS_PLACES, others), []
    for entry in scored:
        if entry[2].element.role == "link":
            links_left -= 1
            if links_left < 0:
                later.append(entry)
                continue
        yield entry
    yield from later


def _softmax(scores: list[float]) -> list[float]:
    powers = [math.exp(score - max(scores)) for score in scores]
    return [round(power / sum(powers), PRIOR_DIGITS) for power in powers]


def _places(observation: Observation) -> dict[str, Locator]:
    """The locator of every element, as ``protocol.page.actions.locator.locate`` gives it, but in one pass for all."""
    alike = Counter((item.role, item.name, item.frame) for item in observation.elements)
    seen: Counter[tuple[str, str, str]] = Counter()
    places = {}
    for item in observation.elements:
        key = (item.role, item.name, item.frame)
        nth = seen[key] if alike[key] > 1 else None
        places[item.ref] = Locator(role=item.role, name=item.name, nth=nth, frame=item.frame)
        seen[key] += 1
    return places


def _action(draft: FeatureDraft, target: Locator) -> Action:
    if draft.kind is Fill:
        return Fill(target=target, value=draft.value)
    if draft.kind is Select:
        return Select(target=target, option=draft.value)
    if draft.kind is Check:
        return Check(target=target)
    if draft.kind is Press:
        return Press(key=draft.value, target=target)
    return Click(target=target)


# --- value -----------------------------------------------------------------------------------------------------------

VALUE_UNPROVEN_MAX: Final = 0.7
"""The highest value of a page that does not meet the success condition, which alone proves a goal reached."""
_COVERAGE, _SIMILARITY, _NOVELTY, _DEAD_END = 0.35, 0.2, 0.1, 0.2


def value(goal: Goal, observation: Observation, *, reached: bool, visits_of_state: int) -> float:
    """How near a page is to the goal: 1 if ``reached``, else at most ``VALUE_UNPROVEN_MAX``.

    .35 × the share of the goal's demands (slots, orders, bounds) the page meets + .2 × similarity of goal and page + .1 / √(1 +
    visits) − .2 for a dead end: an error page, an empty list, a login wall, the wrong one of many.
    """
    if reached:
        return 1.0
    reading = PageForGoal(goal, observation)
    similar = similarity(reading)
    met = demands(reading)
    share = sum(met) / len(met) if met else similar
    novelty = 1.0 / math.sqrt(1 + max(0, visits_of_state))
    # If the goal wants one thing of many, a page about another one of them is a dead end.
    ends = dead_end(reading) or bool(goal.sorts and reading.about_one)
    raw = _COVERAGE * share + _SIMILARITY * similar + _NOVELTY * novelty - _DEAD_END * ends
    return round(min(VALUE_UNPROVEN_MAX, max(0.0, raw)), PRIOR_DIGITS)


def similarity(reading: PageForGoal) -> float:
    """How many of the goal's words the page contains: title, heading, address and chosen filters count more than text."""
    chosen = frozenset(tokens(" ".join(item.value if item.options else item.name for item in reading.applied)))
    prominent = reading.headline | chosen | url_stems(unquote_plus(reading.observation.url))
    vain = frozenset(tokens(" ".join(reading.unanswered)))
    return (
        0.6 * reading.coverage(prominent - vain)
        + 0.25 * reading.coverage(reading.headline - vain)
        + 0.15 * reading.coverage(frozenset(tokens(reading.observation.text)) - vain)
    )


def demands(reading: PageForGoal) -> list[float]:
    """For each slot, order and bound of the goal, how far the page meets it: 0 to 1."""
    goal, text = reading.goal, reading.observation.text.casefold()
    prominent = f"{reading.observation.title} {own_path(reading.observation.url, '')} {reading.asked}".casefold()
    met = [_slot_met(slot, prominent, text) * (slot.value not in reading.unanswered) for slot in goal.slots]
    stated = reading.about_one
    met += [1.0 if reading.sorted_as_wanted else 0.0] * len(goal.sorts)
    return met + [_bound_met(reading, bound, stated) for bound in goal.thresholds]


def _slot_met(slot: Slot, prominent: str, text: str) -> float:
    return 1.0 if names_slot(slot, prominent) else 0.5 * names_slot(slot, text)


def _bound_met(reading: PageForGoal, bound: Threshold, stated: dict[str, float]) -> float:
    alone = msgspec.structs.replace(reading.goal, thresholds=(bound,))
    if any(
        threshold_match(alone, item.value if item.options else item.name, reading.section(item)) >= 1
        for item in reading.applied
    ):
        return 1.0
    if any(
        value == short_number(bound) and speaks_of(bound.attribute or "price", key.replace("_", " "))
        for key, value in reading.numbers
    ):
        return 1.0
    if len(reading.listed) >= SORTED_RUN_MIN and all(verdict(alone, card) > 0 for card in reading.listed.values()):
        return 1.0
    return 1.0 if verdict(alone, stated) > 0 else 0.0


def dead_end(reading: PageForGoal) -> bool:
    """True if the page says that there is nothing, or asks for a login before it shows anything."""
    said = " ".join([reading.observation.title, *reading.headings]).casefold()
    text = reading.observation.text.casefold()
    walled = (
        any(item.traits.input_type == "password" for item in reading.observation.elements) and similarity(reading) < 0.5
    )
    return (
        walled
        or any(words in said for words in ERROR_WORDS)
        or (len(text) < 4_000 and any(words in text for words in EMPTY_WORDS))
    )
