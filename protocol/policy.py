"""What to try on a page for a goal, and how near a page is to it: priors and values without a language model.

Nothing here knows a site, reads a success condition or performs anything. A candidate's prior is a softmax over weighted
features; ``WEIGHTS`` holds every weight with its reason. Candidates of ``risk.APPROVAL_CLASS`` and above are returned, so that a
person can see them, but with prior 0: a search never selects them, and the network guard would refuse what they cause.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol
from urllib.parse import unquote_plus

import msgspec

from protocol import cbor, limits
from protocol.action import Action, Check, Click, Fill, Locator, Press, Select
from protocol.goal import Goal, Slot, Threshold, tokens
from protocol.observation import Element, Observation
from protocol.reading import (
    RESULT_COVERAGE_MIN,
    SORTED_RUN_MIN,
    Page,
    is_applied,
    is_search,
    order_of,
    same_address,
    sort_match,
    speaks_of,
    split_url,
    threshold_match,
    url_stems,
    verdict,
)
from protocol.risk import APPROVAL_CLASS
from protocol.risk import classify as classify_by_rules


class Weight(NamedTuple):
    """One feature's weight and why it has it."""

    value: float
    reason: str


WEIGHTS: Final[Mapping[str, Weight]] = {
    # what it says
    "words": Weight(3.0, "its name says what the goal is about; rare words on the page count more"),
    "exact": Weight(1.2, "its name says nothing else: a filter or category, not one of many things that mention it"),
    "around": Weight(0.8, "its card or section is about the goal"),
    "address": Weight(0.8, "its address names what the goal is about, though its label may not"),
    "slot": Weight(3.0, "it is named like a value the goal gives word for word"),
    "ordinal": Weight(1.0, "it is the third when the third is asked for"),
    # orders and bounds
    "kind": Weight(1.8, "it names the kind of thing that is wanted (products, entries)"),
    "answers": Weight(2.4, "the goal is a question, and this is where a site answers some"),
    "sort": Weight(2.6, "it brings the list into the order that puts the answer first"),
    "bound": Weight(2.6, "it filters by the bound the goal sets"),
    "fits": Weight(1.0, "its card states numbers within the goal's bounds; breaking one counts against it"),
    "leads": Weight(3.0, "in the wanted order and within the bounds it is the first: the answer, as far as the page can tell"),
    "common": Weight(-2.6, "several cards link there: what the things have in common leads away from them"),
    "unsorted": Weight(-4.0, "one of many things while the list is not yet in the wanted order"),
    # fields
    "search": Weight(1.7, "typing what is wanted into a search field is a short way on most sites; a fitting link is shorter"),
    "search_slot": Weight(2.4, "a value given word for word is what search fields are for"),
    "shorter_query": Weight(-1.0, "fewer words find more than is wanted: the second try"),
    "slot_key": Weight(2.5, "the field's label is what the goal calls the value"),
    "slot_type": Weight(1.5, "the field takes this kind of value: e-mail, number, date"),
    "wrong_type": Weight(-3.0, "the field takes another kind of value"),
    "stray_fill": Weight(-2.0, "nothing ties this value to this field"),
    "overwrite": Weight(-1.5, "the field holds something already"),
    "enter": Weight(3.2, "a filled search field only needs the key"),
    "submit_ready": Weight(2.8, "the form around it was filled and not yet sent"),
    "submit_early": Weight(-1.6, "nothing was filled in: it leads to where we are, or to an error"),
    # going round in circles
    "applied": Weight(-3.5, "it is chosen already, or the page shows already what it asks for"),
    "here": Weight(-4.0, "it leads to the page we are on"),
    "known": Weight(-2.5, "all it says the page is about already"),
    "undo": Weight(-2.0, "it takes away something the goal wanted: a query or filter is missing from its address"),
    # furniture
    "boilerplate": Weight(-2.2, "help, legal, login and basket links are on every page; not when the goal names them"),
    "machine": Weight(-1.8, "the same in a form for programs or printers; not when the goal asks for it"),
    "home": Weight(-1.5, "back to the start"),
    "frame": Weight(-0.4, "header and footer are the same on every page"),
    "elsewhere": Weight(-2.5, "another site"),
    "more": Weight(0.5, "the next page or more of the list, when nothing better offers"),
    "back": Weight(-1.0, "the previous page of a list was seen on the way here"),
    "nameless": Weight(-1.5, "neither name nor icon words say what it does"),
    "button": Weight(-0.4, "a button more often acts than leads on"),
    "irrelevant_choice": Weight(-1.5, "a box or option that shares nothing with the goal narrows to the wrong things"),
    "side_effect": Weight(-0.8, "per risk class above 1: when in doubt the harmless one first"),
}

BOILERPLATE: Final = frozenset(
    "contact privacy cookie term imprint legal policy accessibility login logout sign log register account cart basket bag checkout "
    "wish wishlist favourite newsletter subscribe unsubscribe preference career press blog social facebook instagram twitter "
    "language currency feedback sitemap skip copyright".split()
)
MACHINE_WORDS: Final = frozenset("json csv xml rss atom yaml sql raw download export print pdf api".split())
ANSWER_WORDS: Final = frozenset("help faq support guide service question information".split())
MORE_WORDS: Final = frozenset("next more older forward".split())
BACK_WORDS: Final = frozenset("previous prev back newer".split())
ERROR_WORDS: Final = ("not found", "404", "error", "forbidden", "went wrong")
EMPTY_WORDS: Final = ("no results", "nothing found", "no matches", "0 results", "0 items")
MASKED_SHOWN_MAX: Final = 8
"""So many masked candidates are returned at most: they are for a person to see, the places are for those that can be tried."""
PRIOR_DIGITS: Final = 6
"""Priors are rounded, so that the last bits of ``exp`` on different machines do not reorder them."""


class HasLevel(Protocol):
    """A risk, as far as the policy needs it."""

    @property
    def level(self) -> int: ...


Classify = Callable[[Action, Element | None, Observation], HasLevel]
"""``protocol.risk.classify``."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An action to try. ``prior`` sums to 1 over those below ``APPROVAL_CLASS`` and is 0 for the others."""

    action: Action
    prior: float
    risk: int

    @property
    def selectable(self) -> bool:
        """Whether a search may try it without an approval."""
        return self.risk < APPROVAL_CLASS


class _Draft(NamedTuple):
    kind: type[Click | Fill | Select | Check | Press]
    element: Element
    value: str
    features: dict[str, float]

    def score(self) -> float:
        return sum(WEIGHTS[name].value * amount for name, amount in self.features.items())


def candidates(goal: Goal, observation: Observation, *, classify: Classify = classify_by_rules) -> tuple[Candidate, ...]:
    """What to try on this page, best first: prior descending, then the bytes of the action; the same on every machine.

    At most ``CANDIDATES_PER_STATE_MAX``, of these at most ``MASKED_SHOWN_MAX`` that need an approval, at the end.
    """
    page = Page(goal, observation)
    drafts = _one_per_address([draft for item in observation.elements if item.interactive for draft in _drafts(page, item)])
    places = _places(observation)
    scored = sorted(
        ((round(draft.score(), PRIOR_DIGITS), index, draft) for index, draft in enumerate(drafts)), key=lambda entry: (-entry[0], entry[1])
    )
    free: list[tuple[float, Action, int]] = []
    masked: list[Candidate] = []
    for score, _, draft in scored:
        action = _action(draft, places[draft.element.ref])
        level = classify(action, draft.element, observation).level
        if level < APPROVAL_CLASS:
            free.append((score + WEIGHTS["side_effect"].value * max(0, level - 1), action, level))
        elif len(masked) < MASKED_SHOWN_MAX:
            masked.append(Candidate(action=action, prior=0.0, risk=level))
        if len(free) >= limits.CANDIDATES_PER_STATE_MAX:
            break
    free = free[: limits.CANDIDATES_PER_STATE_MAX - len(masked)]
    priors = _softmax([score for score, _, _ in free])
    chosen = [Candidate(action=action, prior=prior, risk=level) for prior, (_, action, level) in zip(priors, free, strict=True)]
    return tuple(sorted([*chosen, *masked], key=lambda item: (-item.prior, not item.selectable, cbor.encode(item.action))))


def _softmax(scores: list[float]) -> list[float]:
    if not scores:
        return []
    powers = [math.exp(score - max(scores)) for score in scores]
    return [round(power / sum(powers), PRIOR_DIGITS) for power in powers]


def _places(observation: Observation) -> dict[str, Locator]:
    """Every element's locator: what ``protocol.locator.locate`` gives, for all elements in one pass instead of one pass each."""
    seen: Counter[tuple[str, str, str]] = Counter()
    places = {}
    for item in observation.elements:
        key = (item.role, item.name, item.frame)
        places[item.ref] = Locator(role=item.role, name=item.name, nth=seen[key], frame=item.frame)
        seen[key] += 1
    return places


def _action(draft: _Draft, target: Locator) -> Action:
    if draft.kind is Fill:
        return Fill(target=target, value=draft.value)
    if draft.kind is Select:
        return Select(target=target, option=draft.value)
    if draft.kind is Check:
        return Check(target=target)
    if draft.kind is Press:
        return Press(key=draft.value, target=target)
    return Click(target=target)


def _one_per_address(drafts: list[_Draft]) -> list[_Draft]:
    """Of several links to one address (picture and title of a card) the best named one."""
    best: dict[str, _Draft] = {}
    for draft in drafts:
        address = draft.element.url
        if draft.kind is Click and address and (address not in best or draft.score() > best[address].score()):
            best[address] = draft
    return [draft for draft in drafts if draft.kind is not Click or not draft.element.url or best[draft.element.url] is draft]


def _drafts(page: Page, item: Element) -> Iterator[_Draft]:
    match item.role:
        case "textbox" | "searchbox" | "spinbutton":
            yield from _fills(page, item)
        case "combobox" | "listbox" if item.options:
            yield from _selects(page, item)
        case "combobox" if item.traits.tag == "input":
            yield from _fills(page, item)
        case "checkbox" | "radio" | "switch":
            if not is_applied(item):
                yield _Draft(Check, item, "", _choice(page, item, item.name, item.url))
        case "option" | "slider":
            # Options are chosen through their list; a slider has no value that words could give.
            return
        case _:
            yield _Draft(Click, item, "", _click(page, item))


# --- links and buttons -----------------------------------------------------------------------------------------------


def _click(page: Page, item: Element) -> dict[str, float]:
    found = _aboutness(page, item)
    words = page.stems[item.ref]
    named = found.get("words", 0.0) + found.get("slot", 0.0) > 0
    found["sort"] = _ordering(page, item.name, item.url)
    found["bound"] = threshold_match(page.goal, item.name, page.section(item))
    if item.role == "link":
        found |= _link(page, item, named=named)
    else:
        found["button"] = 1.0
        if item.traits.submits or item.traits.input_type == "submit":
            ready = page.filled_search or _pending(page, item)
            found["submit_ready" if ready else "submit_early"] = 1.0
    if words & set(page.goal.kinds) and not words <= page.shown:
        found["kind"] = 1.0
    if is_applied(item):
        found["applied"] = 1.0
    if page.goal.question and not words.isdisjoint(ANSWER_WORDS) and not words <= page.shown:
        found["answers"] = 1.0
    if not named and words & BOILERPLATE and words.isdisjoint(tokens(page.goal.text)):
        found["boilerplate"] = 1.0
    if page.landmark(item) in ("banner", "contentinfo"):
        found["frame"] = 1.0
    if not named and (words & MACHINE_WORDS or split_url(item.url)[0].path.rpartition(".")[2].lower() in MACHINE_WORDS):
        found["machine"] = 1.0
    if not named and len(words) <= 4 and words & MORE_WORDS:
        found["more"] = 1.0
    if not named and len(words) <= 3 and words & BACK_WORDS:
        found["back"] = 1.0
    if not words and not item.traits.tokens and not item.url:
        found["nameless"] = 1.0
    return found


def _ordering(page: Page, label: str, url: str) -> float:
    """How well a control brings the list into the wanted order; one that is in it already needs none."""
    # An address that only carries the page's order along does not bring it about.
    url = "" if order_of(url) == order_of(page.observation.url) else url
    match = max((sort_match(wanted, label, url) for wanted in page.goal.sorts), default=0.0)
    return min(match, 0.0) if page.sorted_as_wanted else match


def _link(page: Page, item: Element, *, named: bool) -> dict[str, float]:
    here, there = page.parts, split_url(item.url)[0]
    found: dict[str, float] = {}
    if item.url and same_address(item.url, page.observation.url):
        found["here"] = 1.0
    if there.netloc and there.netloc != here.netloc:
        found["elsewhere"] = 1.0
    elif there.path in ("", "/") and not there.query and not named:
        found["home"] = 1.0
    found["undo"] = _undo(page, item)
    return found


def _undo(page: Page, item: Element) -> float:
    """How much of what the goal wanted and the address shows is missing from a link within the same list."""
    here, pairs = split_url(page.observation.url)
    there, their_pairs = split_url(item.url)
    if not pairs or there.path != here.path:
        return 0.0
    lost = [value for key, value in pairs if (key, value) not in their_pairs and not any(k == key and v for k, v in their_pairs)]
    if any(_wanted_text(page.goal, value) for value in lost):
        return 1.0
    return 1.0 if page.sorted_as_wanted and sort_match(page.goal.sorts[0], "", page.observation.url) > sort_match(page.goal.sorts[0], "", item.url) else 0.0


def _wanted_text(goal: Goal, value: str) -> bool:
    return bool(set(tokens(value)) & set(goal.words)) or any(slot.value == value for slot in goal.slots) or any(
        _number(bound) == value or f"{bound.number}" == value for bound in goal.thresholds
    )


def _aboutness(page: Page, item: Element) -> dict[str, float]:
    """What every candidate is asked first: how much its words, its surroundings and its address share with the goal."""
    words = page.stems[item.ref] or frozenset(tokens(" ".join(item.traits.tokens)))
    hits = words & frozenset(page.goal.words)
    found = {"words": page.coverage(words), "slot": _slot_match(page.goal, item.name)}
    if hits:
        found["exact"] = len(hits) / len(words)
        # Not for the results of a list, which say more than what they have in common.
        found["known"] = float(hits == words and words <= page.shown)
    in_address = page.coverage(url_stems(unquote_plus(item.url)) - url_stems(page.observation.url)) if item.url else 0.0
    found["address"] = max(0.0, in_address - found["words"] / 2)
    card = page.card(item)
    if hits or in_address:
        found["around"] = page.coverage(frozenset(tokens(card)) - words)
    if item.role == "link":
        found |= {"common": 1.0} if item.url in page.shared else _as_result(page, card, words)
    return {name: amount for name, amount in found.items() if amount}


def _as_result(page: Page, card: str, words: frozenset[str]) -> dict[str, float]:
    """A link whose card states facts is one of the results of the list."""
    stated = page.facts(card)
    if not stated or page.coverage(words | frozenset(tokens(card))) < RESULT_COVERAGE_MIN:
        return {}
    fits = verdict(page.goal, stated)
    found = {"fits": fits}
    if not page.goal.sorts:
        return found
    if not page.sorted_as_wanted:
        found["unsorted"] = 1.0
    if page.leader == card:
        # Of several links on the card the one that carries its name.
        found["leads"] = (0.5 + 0.5 * page.coverage(words)) * (1.0 if page.sorted_as_wanted else 0.25)
    return found


def _slot_match(goal: Goal, name: str) -> float:
    folded = " ".join(name.split()).casefold()
    best = 0.0
    for slot in goal.slots:
        value = slot.value.casefold().lstrip("@#")
        if value and folded == value:
            best = 1.0
        elif value and (slot.kind != "number" or len(value) > 2) and value in folded:
            best = max(best, 0.5)
    return best


# --- fields ----------------------------------------------------------------------------------------------------------


def _fills(page: Page, item: Element) -> Iterator[_Draft]:
    if item.traits.input_type in ("password", "file", "hidden") or "readonly" in item.states:
        return
    shown = {value.casefold() for _, value in page.pairs}
    search = is_search(item)
    for value, features in _values(page, item, search=search):
        if value == item.value:
            continue
        found = {**features}
        if item.value:
            found["overwrite"] = 1.0
        if value.casefold() in shown:
            found["applied"] = 1.0
        yield _Draft(Fill, item, value, found)
    if item.value and (search or (item.traits.form_method == "get" and _wanted_text(page.goal, item.value))):
        found = {"enter": 1.0}
        if item.value.casefold() in shown:
            found["applied"] = 1.0
        yield _Draft(Press, item, "Enter", found)


def _values(page: Page, item: Element, *, search: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """What could be typed into a field, each once, with what speaks for it."""
    goal, label = page.goal, page.stems[item.ref] | frozenset(tokens(" ".join(item.traits.tokens)))
    seen: dict[str, dict[str, float]] = {}
    for slot in goal.slots:
        seen.setdefault(slot.value.lstrip("#@") if search else slot.value, _slot_fill(slot, item, label, search=search))
    for bound in goal.thresholds:
        fit = _bound_field(bound, f"{item.name} {' '.join(item.traits.tokens)}", page.section(item))
        if fit > 0:
            seen.setdefault(_number(bound), {"bound": fit})
    if search and goal.query:
        seen.setdefault(goal.query, {"search": 1.0})
        words = goal.query.split()
        for word in (words[-1], words[0]):
            seen.setdefault(word, {"search": 1.0, "shorter_query": 1.0})
    yield from seen.items()


_FIELD_TYPES: Final = {"email": "email", "date": "date", "number": "number", "time": "time"}


def _slot_fill(slot: Slot, item: Element, label: frozenset[str], *, search: bool) -> dict[str, float]:
    takes = _FIELD_TYPES.get(item.traits.input_type) or ("number" if item.role == "spinbutton" else "")
    found: dict[str, float] = {}
    if slot.key and not label.isdisjoint(tokens(slot.key)):
        found["slot_key"] = 1.0
    if takes:
        found["slot_type" if takes == slot.kind else "wrong_type"] = 1.0
    elif search:
        found["search" if slot.kind == "number" else "search_slot"] = 1.0
    return found or {"stray_fill": 1.0}


_MAX_WORDS: Final = frozenset("max maximum highest to up upto under below most less until".split())
_MIN_WORDS: Final = frozenset("min minimum lowest from over above least more".split())


def _bound_field(bound: Threshold, label: str, section: str) -> float:
    """1 if a field takes this bound ("Highest price"), 0 if not or if it takes the other one."""
    words = frozenset(tokens(label))
    wanted, other = (_MAX_WORDS, _MIN_WORDS) if bound.bound == "max" else (_MIN_WORDS, _MAX_WORDS)
    if words.isdisjoint(wanted) or not words.isdisjoint(other):
        return 0.0
    return 1.0 if speaks_of(bound.attribute or "price", f"{label} {section}") else 0.0


def _number(bound: Threshold) -> str:
    return f"{bound.number:g}"


def _selects(page: Page, item: Element) -> Iterator[_Draft]:
    for option in item.options:
        if option == item.value:
            continue
        features = _choice(page, item, option, "")
        if "irrelevant_choice" not in features:
            yield _Draft(Select, item, option, features)


def _choice(page: Page, item: Element, label: str, url: str) -> dict[str, float]:
    """Features of an option or a box: what is chosen narrows, so it must share something with the goal."""
    words = frozenset(tokens(label))
    hits = words & frozenset(page.goal.words)
    found = {
        "words": page.coverage(words),
        "exact": len(hits) / len(words) if words else 0.0,
        "slot": _slot_match(page.goal, label),
        "bound": threshold_match(page.goal, label, f"{page.section(item)} {item.name}"),
        "sort": _ordering(page, label, url),
    }
    found = {name: amount for name, amount in found.items() if amount}
    return found if any(amount > 0 for amount in found.values()) else {**found, "irrelevant_choice": 1.0}


def _pending(page: Page, button: Element) -> bool:
    """Whether a field of the button's form holds something that the address does not show yet."""
    shown = {value for _, value in page.pairs}
    keys = {key for key, _ in page.pairs}
    for item in page.observation.elements:
        traits = item.traits
        if (traits.form_action, traits.form_method) != (button.traits.form_action, button.traits.form_method) or item is button:
            continue
        if item.role in ("textbox", "searchbox", "spinbutton") and item.value and item.value not in shown and _wanted_text(page.goal, item.value):
            return True
        if item.options and item.value and _wanted_choice(page, item) and keys.isdisjoint(traits.tokens):
            return True
        if item.role in ("checkbox", "radio") and is_applied(item) and _wanted_choice(page, item) and keys.isdisjoint(traits.tokens):
            return True
    return False


def _wanted_choice(page: Page, item: Element) -> bool:
    return "irrelevant_choice" not in _choice(page, item, item.value if item.options else item.name, "")


# --- value -----------------------------------------------------------------------------------------------------------

VALUE_UNPROVEN_MAX: Final = 0.7
"""However near a page looks, only the success condition proves a goal reached."""
_COVERAGE, _SIMILARITY, _NOVELTY, _DEAD_END = 0.35, 0.2, 0.1, 0.2


def value(goal: Goal, observation: Observation, *, reached: bool, visits_of_state: int) -> float:
    """How near a page is to the goal: 1 if ``reached``, else at most ``VALUE_UNPROVEN_MAX``.

    .35 × the share of the goal's demands (slots, orders, bounds) the page meets + .2 × similarity of goal and page
    + .1 / √(1 + visits) − .2 where it goes no further: an error page, an empty list, a login wall, the wrong one of many.
    """
    if reached:
        return 1.0
    page = Page(goal, observation)
    similar = similarity(page)
    met = demands(page)
    share = sum(met) / len(met) if met else similar
    novelty = 1.0 / math.sqrt(1 + max(0, visits_of_state))
    # Where one thing is wanted out of many, a page about one of them that is not the answer leads no further.
    ends = dead_end(page) or bool(goal.sorts and page.about_one)
    raw = _COVERAGE * share + _SIMILARITY * similar + _NOVELTY * novelty - _DEAD_END * ends
    return round(min(VALUE_UNPROVEN_MAX, max(0.0, raw)), PRIOR_DIGITS)


def similarity(page: Page) -> float:
    """How much of what the goal is about the page names: whole for title, headings, address and chosen filters, half for text."""
    chosen = frozenset(tokens(" ".join(item.value if item.options else item.name for item in page.applied)))
    prominent = page.headline | chosen | url_stems(unquote_plus(page.observation.url))
    return 0.6 * page.coverage(prominent) + 0.25 * page.coverage(page.headline) + 0.15 * page.coverage(frozenset(tokens(page.observation.text)))


def demands(page: Page) -> list[float]:
    """For each slot, order and bound of the goal, how far the page meets it: 0 to 1."""
    goal, text = page.goal, page.observation.text.casefold()
    prominent = f"{page.observation.title} {unquote_plus(page.observation.url)}".casefold()
    met = [1.0 if slot.value.casefold() in prominent else 0.5 * (slot.value.casefold() in text) for slot in goal.slots]
    stated = page.about_one
    met += [1.0 if page.sorted_as_wanted else 0.0] * len(goal.sorts)
    return met + [_bound_met(page, bound, stated) for bound in goal.thresholds]


def _bound_met(page: Page, bound: Threshold, stated: dict[str, float]) -> float:
    alone = msgspec.structs.replace(page.goal, thresholds=(bound,))
    if any(threshold_match(alone, item.value if item.options else item.name, page.section(item)) >= 1 for item in page.applied):
        return 1.0
    if any(value == _number(bound) and speaks_of(bound.attribute or "price", key.replace("_", " ")) for key, value in page.numbers):
        return 1.0
    if len(page.listed) >= SORTED_RUN_MIN and all(verdict(alone, card) > 0 for card in page.listed.values()):
        return 1.0
    return 1.0 if verdict(alone, stated) > 0 else 0.0


def dead_end(page: Page) -> bool:
    """Whether the page says that there is nothing, or asks for a login before it shows anything."""
    said = " ".join([page.observation.title, *page.headings]).casefold()
    text = page.observation.text.casefold()
    walled = any(item.traits.input_type == "password" for item in page.observation.elements) and similarity(page) < 0.5
    return walled or any(words in said for words in ERROR_WORDS) or (len(text) < 4_000 and any(words in text for words in EMPTY_WORDS))
