"""The class of typing into a field, and of choosing in a list or a box."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

import msgspec

from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation
from protocol.risk.addresses.addresses import destructive_url
from protocol.risk.judgement import Risk, RiskEvidence, settled, weigh, worst
from protocol.risk.pressing import marks
from protocol.risk.words import field_says, grave, say

FIELD_ROLES: Final = frozenset({"textbox", "searchbox", "spinbutton", "slider"})
LIST_ROLES: Final = frozenset({"combobox", "listbox", "option"})
_CHOSEN_MAX: Final = 8
"""Only this many choices are weighed; more of them make a form no graver."""


def takes_text(element: Element) -> bool:
    """True if characters can be typed into it."""
    return element.role in FIELD_ROLES or (element.role == "combobox" and element.traits.tag in ("input", "textarea"))


def reads_by_get(element: Element) -> bool:
    """True if its form states a GET to an address that is judged harmless, and nothing in the form suggests a write: mere reading
    needs no token against forged requests.
    """
    traits = element.traits
    stated = traits.form_method == "get" and bool(traits.form_action) and not traits.guarded
    return stated and not destructive_url(traits.form_action)


def searches(element: Element) -> bool:
    """True if it is a field or list that searches, sorts or filters. For a form by POST, its markup does not tell the purpose."""
    traits = element.traits
    if element.role == "searchbox" or traits.input_type == "search" or reads_by_get(element):
        return True
    return traits.form_method != "post" and marks.searching(traits.tokens)


def says_search(element: Element) -> bool:
    """True if ``element`` is a search field, or a button with the text of one."""
    field = element.role == "searchbox" or element.traits.input_type == "search"
    return field or (element.traits.submits and say(element.name).kind == "search")


def payment(element: Element) -> bool:
    """True if it is a field for the number of a card or an account."""
    traits = element.traits
    return takes_text(element) and (
        any(hint.startswith("cc-") for hint in traits.autocomplete.split())
        or field_says(element.name).kind == "card"
        or marks.of_field(traits.tokens, traits.attributes) == 5
    )


def mail_address(element: Element) -> bool:
    """True if it is a field for an e-mail address and for no other part of a login.

    Typing an address there is only a draft. The button that sends it tells the effect: “Subscribe”, “Change e-mail”.
    """
    traits = element.traits
    if marks.of_field(traits.tokens, traits.attributes) or not takes_text(element):
        return False
    stated = traits.input_type == "email" or "email" in traits.autocomplete.split()
    return stated or marks.mail_address(element.name)


def typed(element: Element) -> Risk:
    """The risk of typing into a field: judged by its type, its label, then its form."""
    traits = element.traits
    # The words around the hint are ignored: which of several fields is meant (“billing cc-number”), and how it is filled in
    # (“one-time-code webauthn”).
    hints = traits.autocomplete.split()
    if traits.input_type == "password" or any(hint.endswith(("password", "one-time-code")) for hint in hints):
        return settled(6, "a password or one-time code field")
    if any(hint.startswith("cc-") for hint in hints):
        return settled(5, "a card field")
    if mail_address(element):
        sent = [RiskEvidence(level=6, certain=True, says="sends an e-mail address when it changes")]
        return weigh(
            _changing(element) or settled(3, "typing an e-mail address"), sent if traits.reacts == "submit" else ()
        )
    said, marked = field_says(element.name), marks.of_field(traits.tokens, traits.attributes)
    if (said.certain and (said.kind == "secret" or said.level == 6)) or marked == 6:
        return settled(6, "a field of identity or access")
    if (said.certain and said.kind == "card") or marked == 5:
        return settled(5, "a field of payment")
    # A script in a search field usually suggests search terms.
    if searches(element) and not (traits.reacts == "submit" and _changing(element)):
        return settled(1, "a search or filter field")
    leans = said.leans if said.kind in ("card", "secret") else 0
    found = [RiskEvidence(level=leans, certain=False, says=f"may ask for “{said.text}”")] if leans else []
    own = element.role == "slider" and not traits.form_method
    return weigh(_changing(element) or (_at_once() if own else settled(3, "typing", sure=False)), found)


def chosen(element: Element, option: str, *, sent_later: bool = False) -> Risk:
    """The risk of choosing ``option`` in a list, or of switching a box. ``option`` is empty for a box, and if it is unknown.

    sent_later: the result of ``sent_by_a_button``. If True, the button gets the class of the option's or the box's text.
    """
    return weigh(_of_choice(element), _said(element, option, sent_later))


def _said(element: Element, option: str, sent_later: bool) -> Iterator[RiskEvidence]:
    box = element.role in CHECKABLE_ROLES
    for label in (element.name, option):
        # The label of a list names the topic of its options; the label of a box names its effect.
        yield from grave(label, leans=sent_later and (label is option or box))
    if token := marks.destroying(element.traits.tokens, element.name):
        yield RiskEvidence(level=7, certain=not (sent_later and box), says=f"its id, class or icon says “{token}”")
    if reason := destructive_url(element.url) if element.url else "":
        yield RiskEvidence(level=7, certain=True, says=f"link address says {reason}")


def _of_choice(element: Element) -> Risk:
    """The class of a choice by itself, before anything is submitted."""
    traits = element.traits
    if traits.tag == "a" or (element.url and element.role in CHECKABLE_ROLES):
        return settled(4, "a link that the page calls something else", sure=False)
    # Neither its label nor its form tells what the page does by itself.
    if at_once := _changing(element):
        return at_once
    if reads_by_get(element):
        return settled(1, "sorts or filters")
    if traits.submits:
        return settled(4, "submits a form", sure=False)
    if element.role in LIST_ROLES and searches(element):
        return settled(1, "sorts or filters", sure=False)
    # A switch has an immediate effect. Outside of a form, nothing could send a box later.
    if element.role in LIST_ROLES or (traits.form_method and element.role != "switch"):
        return settled(3, "changes a form", sure=element.role in LIST_ROLES or traits.tag == "input")
    return _at_once()


def _changing(element: Element) -> Risk | None:
    """The risk of the reaction that the page declares for a change of ``element``; None if the reaction only reads."""
    match element.traits.reacts:
        case "script":
            return settled(4, "runs a script when it changes", sure=False)
        case "submit" if not reads_by_get(element):
            return settled(4, "submits a form when it changes", sure=False)
        case _:
            return None


def _at_once() -> Risk:
    return settled(4, "switches something at once", sure=False)


def sent_by_a_button(element: Element, page: Observation) -> bool:
    """True if the choice in a list or box is sent only later, as far as the page tells: it is a native element of a form, declares
    no reaction to a change, and the form has a button that sends it. Forms without an address are treated alike: they belong to
    scripts, which often send a box as soon as it is ticked.
    """
    if element.traits.tag != "select" and not element.traits.form_action:
        return False
    return _waits(element) and bool(form_of(element, page).buttons)


def _sent_of(other: Element) -> Iterator[RiskEvidence]:
    """The evidence that a list or a box in a form adds to sending the form."""
    lists = other.traits.tag == "select"
    if not lists and "checked" not in other.states:
        return
    if not lists and (token := marks.destroying(other.traits.tokens, other.name)):
        yield RiskEvidence(level=7, certain=True, says=f"a box is ticked whose id, class or icon says “{token}”")
    for label in (other.value,) if lists else (other.name, other.traits.label):
        certain = (each for each in grave(label) if each.certain)
        yield from (msgspec.structs.replace(each, says=f"its form {each.says}") for each in certain)


def _waits(element: Element) -> bool:
    traits = element.traits
    native = traits.tag == "select" or (traits.tag == "input" and traits.input_type in ("checkbox", "radio"))
    return native and bool(traits.form_method) and not traits.reacts and not reads_by_get(element)


class Form:
    """The controls of one form, as far as an observation shows them. Their texts are read once, because a page can have a thousand
    buttons beside a thousand ticked boxes.
    """

    def __init__(self) -> None:
        self.controls: list[Element] = []

    @cached_property
    def buttons(self) -> list[Element]:
        """The buttons that submit it; Enter presses the first one."""
        return [each for each in self.controls if each.traits.submits]

    @cached_property
    def chosen(self) -> list[RiskEvidence]:
        """The grave choices in its lists and boxes, such as “delete the selected”, or “Delete” beside a row."""
        found = [evidence for each in self.controls if _waits(each) for evidence in _sent_of(each)]
        return sorted(dict.fromkeys(found), key=lambda each: -each.level)[:_CHOSEN_MAX]

    @cached_property
    def sends_mail(self) -> bool:
        """True if it sends an e-mail address, and no control in it searches. On careless sites “Subscribe” and “Change e-mail” are
        forms by GET, and some of their buttons say only “OK”.
        """
        return not self.finds and any(map(mail_address, self.controls))

    @cached_property
    def finds(self) -> bool:
        """True if the text of one of its controls is about searching."""
        return any(map(says_search, self.controls))


def form_of(element: Element, page: Observation) -> Form:
    """The form that ``element`` belongs to."""
    forms: dict[tuple[str, str, str], Form] | None = page.kept.get("forms")
    if forms is None:
        forms = {}
        for each in page.elements:
            if each.traits.form_method:
                forms.setdefault(_key_of(each), Form()).controls.append(each)
        page.kept["forms"] = forms  # stored whole, because several threads can judge one page
    return forms.get(_key_of(element)) or Form()


def _key_of(element: Element) -> tuple[str, str, str]:
    return (element.frame, element.traits.form_method, element.traits.form_action)


def any_choice(element: Element) -> Risk:
    """The risk of a key that chooses in a list. The chosen option is unknown, so the worst one counts."""
    choices = [chosen(element, option) for option in element.options]
    return worst(settled(3, "chooses in a list"), *choices, chosen(element, ""))
