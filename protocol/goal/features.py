"""Lists the possible actions on an element and computes their features, which ``protocol.goal.weights`` weighs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from protocol.goal.goal import Goal, Slot, Threshold
from protocol.goal.labels import (
    is_applied,
    is_search,
    names_slot,
    order_of,
    own_path,
    same_address,
    sort_match,
    speaks_of,
    split_url,
    threshold_match,
    url_stems,
    verdict,
)
from protocol.goal.reading import RESULT_COVERAGE_MIN, PageForGoal
from protocol.goal.weights import ANSWER_WORDS, BACK_WORDS, BOILERPLATE, MACHINE_WORDS, MORE_WORDS, WEIGHTS
from protocol.goal.words import tokens, word_set
from protocol.page.actions.action import Check, Click, Fill, Press, Select
from protocol.page.seen.observation import Element


class FeatureDraft(NamedTuple):
    kind: type[Click | Fill | Select | Check | Press]
    element: Element
    value: str
    features: dict[str, float]

    def score(self) -> float:
        return sum(WEIGHTS[name].value * amount for name, amount in self.features.items())


def one_per_address(drafts: list[FeatureDraft]) -> list[FeatureDraft]:
    """Keeps the best named of several links to one address (picture and title of a card)."""
    best: dict[str, FeatureDraft] = {}
    for draft in drafts:
        address = draft.element.link
        if draft.kind is Click and address and (address not in best or draft.score() > best[address].score()):
            best[address] = draft
    return [
        draft
        for draft in drafts
        if draft.kind is not Click or not draft.element.link or best[draft.element.link] is draft
    ]


def drafts_of(reading: PageForGoal, item: Element) -> Iterator[FeatureDraft]:
    match item.role:
        case "textbox" | "searchbox" | "spinbutton":
            yield from _fills(reading, item)
        case "combobox" | "listbox" if item.options:
            yield from _selects(reading, item)
        case "combobox" if item.traits.tag == "input":
            yield from _fills(reading, item)
        case "checkbox" | "radio" | "switch":
            if not is_applied(item):
                yield FeatureDraft(Check, item, "", _choice(reading, item, item.name, item.url))
        case "option" | "slider":
            # Options are chosen through their list; words cannot give a slider's value.
            return
        case _:
            yield FeatureDraft(Click, item, "", _click(reading, item))


# --- links and buttons -----------------------------------------------------------------------------------------------


def _click(reading: PageForGoal, item: Element) -> dict[str, float]:
    found = _aboutness(reading, item)
    words = reading.says(item)
    named = found.get("words", 0.0) + found.get("slot", 0.0) > 0
    found["sort"] = _ordering(reading, item.name, item.url)
    found["bound"] = threshold_match(reading.goal, item.name, reading.section(item))
    if item.role == "link":
        found |= _link(reading, item, named=named)
    else:
        found["button"] = 1.0
        if item.traits.submits or item.traits.input_type == "submit":
            ready = reading.filled_search or _pending(reading, item)
            found["submit_ready" if ready else "submit_early"] = 1.0
    if words & set(reading.goal.kinds) and not words <= reading.shown:
        found["kind"] = 1.0
    if is_applied(item):
        found["applied"] = 1.0
    if reading.goal.question and not words.isdisjoint(ANSWER_WORDS) and not words <= reading.shown:
        found["answers"] = 1.0
    if not named and words & BOILERPLATE and words.isdisjoint(tokens(reading.goal.text)):
        found["boilerplate"] = 1.0
    if reading.landmark(item) in ("banner", "contentinfo"):
        found["frame"] = 1.0
    if not named and (words & MACHINE_WORDS or split_url(item.url)[0].path.rpartition(".")[2].lower() in MACHINE_WORDS):
        found["machine"] = 1.0
    if not named and len(words) <= 4 and words & MORE_WORDS:
        found["more"] = 1.0
    if not named and len(words) <= 3 and words & BACK_WORDS:
        found["back"] = 1.0
    if not words and not item.url:
        found["nameless"] = 1.0
    return found


def _ordering(reading: PageForGoal, label: str, url: str) -> float:
    """How well a control brings the list into the wanted order. A list that is in order already needs no control."""
    # An address that only carries the page's order along does not set it.
    url = "" if order_of(url) == order_of(reading.observation.url) else url
    match = max((sort_match(wanted, label, url) for wanted in reading.goal.sorts), default=0.0)
    return min(match, 0.0) if reading.sorted_as_wanted else match


def _link(reading: PageForGoal, item: Element, *, named: bool) -> dict[str, float]:
    here, there = reading.parts, split_url(item.url)[0]
    found: dict[str, float] = {}
    if item.url and same_address(item.url, reading.observation.url):
        found["here"] = 1.0
    if there.netloc and there.netloc != here.netloc:
        found["elsewhere"] = 1.0
    elif there.path in ("", "/") and not there.query and not named:
        found["home"] = 1.0
    found["undo"] = _undo(reading, item)
    return found


def _undo(reading: PageForGoal, item: Element) -> float:
    """How much of the goal's values in the page's address is missing from a link within the same list."""
    here, pairs = split_url(reading.observation.url)
    there, their_pairs = split_url(item.url)
    if not pairs or there.path != here.path:
        return 0.0
    lost = [
        value
        for key, value in pairs
        if (key, value) not in their_pairs and not any(k == key and v for k, v in their_pairs)
    ]
    if any(_wanted_text(reading.goal, value) for value in lost):
        return 1.0
    return (
        1.0
        if reading.sorted_as_wanted
        and sort_match(reading.goal.sorts[0], "", reading.observation.url)
        > sort_match(reading.goal.sorts[0], "", item.url)
        else 0.0
    )


def _wanted_text(goal: Goal, value: str) -> bool:
    return (
        bool(set(tokens(value)) & set(goal.words))
        or any(slot.value == value for slot in goal.slots)
        or any(short_number(bound) == value or f"{bound.number}" == value for bound in goal.thresholds)
    )


def _aboutness(reading: PageForGoal, item: Element) -> dict[str, float]:
    """The first features of every candidate: how much its words, its surroundings and its address share with the goal."""
    words = reading.says(item)
    hits = reading.goal_words & words
    found = {"words": reading.coverage(words), "slot": _slot_match(reading.goal, item.name)}
    card = reading.card(item)
    if not found["slot"] and (item.link or reading.tells_no_record(item)):
        # A list of records may say “View” or show an icon in each row: then the address or the row identifies the record.
        place = own_path(item.url, reading.observation.url) if item.link else ""
        row = card if reading.tells_no_record(item) else ""
        found["slot"] = min(0.5, max(_slot_match(reading.goal, place), _slot_match(reading.goal, row)))
    if hits:
        found["exact"] = len(hits) / len(words)
        # Not for the results of a list, which say more than their common words.
        found["known"] = float(hits == words and words <= reading.shown)
    in_address = reading.coverage(url_stems(unquote_plus(item.url)) - url_stems(reading.observation.url))
    found["address"] = max(0.0, in_address - found["words"] / 2)
    if hits or in_address:
        found["around"] = reading.coverage(frozenset(tokens(card)) - words)
    if item.role == "link":
        found |= {"common": 1.0} if item.url in reading.shared else _as_result(reading, card, words)
    return {name: amount for name, amount in found.items() if amount}


def _as_result(reading: PageForGoal, card: str, words: frozenset[str]) -> dict[str, float]:
    """Features of a link whose card states facts: it is one of the results of the list."""
    stated = reading.facts(card)
    if not stated or reading.coverage(words | frozenset(tokens(card))) < RESULT_COVERAGE_MIN:
        return {}
    fits = verdict(reading.goal, stated)
    found = {"fits": fits}
    if not reading.goal.sorts:
        return found
    if not reading.sorted_as_wanted:
        found["unsorted"] = 1.0
    if reading.leader == card:
        # If the card has several links, the one with its name leads on.
        found["leads"] = (0.5 + 0.5 * reading.coverage(words)) * (1.0 if reading.sorted_as_wanted else 0.25)
    return found


def _slot_match(goal: Goal, name: str) -> float:
    """How well ``name`` matches a value of the goal. Numbers must match as a whole: 7 matches “07” but not “17”."""
    folded = " ".join(name.split()).casefold()
    best = 0.0
    for slot in goal.slots:
        value = slot.value.casefold().lstrip("@#")
        if value and folded == value:
            best = 1.0
        elif value and names_slot(slot, folded):
            best = max(best, 0.5)
    return best


# --- fields ----------------------------------------------------------------------------------------------------------


def _fills(reading: PageForGoal, item: Element) -> Iterator[FeatureDraft]:
    if item.traits.input_type in ("password", "file", "hidden") or "readonly" in item.states:
        return
    shown = {value.casefold() for _, value in reading.pairs}
    search = is_search(item)
    for value, features in _values(reading, item, search=search):
        if value == item.value:
            continue
        found = {**features}
        if item.value:
            found["overwrite"] = 1.0
        if value.casefold() in shown:
            found["applied"] = 1.0
        yield FeatureDraft(Fill, item, value, found)
    if item.value and (search or (item.traits.form_method == "get" and _wanted_text(reading.goal, item.value))):
        found = {"enter": 1.0}
        if item.value.casefold() in shown:
            found["applied"] = 1.0
        yield FeatureDraft(Press, item, "Enter", found)


def _values(reading: PageForGoal, item: Element, *, search: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """Values that could be typed into a field, each once, with its features."""
    goal, label = reading.goal, reading.stems[item.ref] | frozenset(tokens(" ".join(item.traits.tokens)))
    seen: dict[str, dict[str, float]] = {}
    for slot in goal.slots:
        seen.setdefault(slot.value.lstrip("#@") if search else slot.value, _slot_fill(slot, item, label, search=search))
    for bound in goal.thresholds:
        fit = _bound_field(bound, f"{item.name} {' '.join(item.traits.tokens)}", reading.section(item))
        if fit > 0:
            seen.setdefault(short_number(bound), {"bound": fit})
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


_MAX_WORDS: Final = word_set("max maximum highest to up upto under below most less until")
_MIN_WORDS: Final = word_set("min minimum lowest from over above least more")


def _bound_field(bound: Threshold, label: str, section: str) -> float:
    """1 if a field takes this bound ("Highest price"), 0 if it does not or takes the other one."""
    words = frozenset(tokens(label))
    wanted, other = (_MAX_WORDS, _MIN_WORDS) if bound.bound == "max" else (_MIN_WORDS, _MAX_WORDS)
    if words.isdisjoint(wanted) or not words.isdisjoint(other):
        return 0.0
    return 1.0 if speaks_of(bound.attribute or "price", f"{label} {section}") else 0.0


def short_number(bound: Threshold) -> str:
    return f"{bound.number:g}"


def _selects(reading: PageForGoal, item: Element) -> Iterator[FeatureDraft]:
    for option in item.options:
        if option == item.value:
            continue
        features = _choice(reading, item, option, "")
        if "irrelevant_choice" not in features:
            yield FeatureDraft(Select, item, option, features)


def _choice(reading: PageForGoal, item: Element, label: str, url: str) -> dict[str, float]:
    """Features of an option or a box: a choice narrows the list, so it must share something with the goal."""
    words = frozenset(tokens(label))
    hits = words & frozenset(reading.goal.words)
    found = {
        "words": reading.coverage(words),
        "exact": len(hits) / len(words) if words else 0.0,
        "slot": _slot_match(reading.goal, label),
        "bound": threshold_match(reading.goal, label, f"{reading.section(item)} {item.name}"),
        "sort": _ordering(reading, label, url),
    }
    found = {name: amount for name, amount in found.items() if amount}
    return found if any(amount > 0 for amount in found.values()) else {**found, "irrelevant_choice": 1.0}


def _pending(reading: PageForGoal, button: Element) -> bool:
    """True if a field of the button's form holds a value that the address does not show yet."""
    if reading.pending is None:  # for all forms at once: a page can have a button in each of a thousand rows
        reading.pending = frozenset(_pending_forms(reading))
    return _form_of(button) in reading.pending


def _pending_forms(reading: PageForGoal) -> Iterator[tuple[str, str]]:
    shown = {value for _, value in reading.pairs}
    keys = {key for key, _ in reading.pairs}
    for item in reading.observation.elements:
        if item.role in ("textbox", "searchbox", "spinbutton"):
            waits = bool(item.value) and item.value not in shown and _wanted_text(reading.goal, item.value)
        elif (item.options and item.value) or (item.role in ("checkbox", "radio") and is_applied(item)):
            waits = keys.isdisjoint(item.traits.tokens) and _wanted_choice(reading, item)
        else:
            waits = False
        if waits:
            yield _form_of(item)


def _form_of(item: Element) -> tuple[str, str]:
    return item.traits.form_action, item.traits.form_method


def _wanted_choice(reading: PageForGoal, item: Element) -> bool:
    return "irrelevant_choice" not in _choice(reading, item, item.value if item.options else item.name, "")
