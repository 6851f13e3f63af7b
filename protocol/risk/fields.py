"""The class of typing into a field and of choosing in a list or a box."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation
from protocol.risk import marks
from protocol.risk.addresses import destructive_url
from protocol.risk.judgement import APPROVAL_CLASS, GRAVE_CLASS, Evidence, Risk, settled, weigh, worst
from protocol.risk.words import field_says, say
from protocol.risk.words.text import read

FIELD_ROLES: Final = frozenset({"textbox", "searchbox", "spinbutton", "slider"})
LIST_ROLES: Final = frozenset({"combobox", "listbox", "option"})
_LETTERS: Final = re.compile(r"\w+")
# Outside of a form nothing is left that could send it later, so a script does it now.
_SET_AT_ONCE: Final = Evidence(source="structure", level=4, certain=False, says="switches something at once")
_CHOSEN_MAX: Final = 8
"""What else is chosen in a form makes it no graver."""
_NATIVE: Final = frozenset({"input", "select", "option", "textarea"})


def takes_text(element: Element) -> bool:
    """Whether keys of characters are typed into it."""
    return element.role in FIELD_ROLES or (element.role == "combobox" and element.traits.tag in ("input", "textarea"))


def reads_by_get(element: Element) -> bool:
    """Whether its form states that it sends a GET, to an address that is judged harmless, and nothing in it that says it writes:
    what only reads needs no token against forged requests.
    """
    traits = element.traits
    stated = traits.form_method == "get" and bool(traits.form_action) and not traits.guarded
    return stated and not destructive_url(traits.form_action)


def changing(element: Element) -> Evidence | None:
    """What the page states to do as soon as ``element`` changes, unless that only reads."""
    match element.traits.reacts:
        case "script":
            return Evidence(source="structure", level=4, certain=False, says="runs a script when it changes")
        case "submit" if not reads_by_get(element):
            return Evidence(source="structure", level=4, certain=False, says="submits a form when it changes")
        case _:
            return None


def searches(element: Element) -> bool:
    """Whether it is a field or list that searches, sorts or filters. What a form by POST is for, its label does not tell."""
    if element.role == "searchbox" or element.traits.input_type == "search":
        return True
    if element.traits.form_method == "post":
        return False
    if element.traits.form_method == "get" and element.traits.form_action and not element.traits.guarded:
        return reads_by_get(element)
    spoken = say(element.name)
    if spoken.leans or spoken.level >= APPROVAL_CLASS:
        return False
    return (spoken.certain and spoken.kind == "search") or marks.searching(element.traits.tokens)


def payment(element: Element) -> bool:
    """Whether it is a field for the number of a card or an account."""
    if not takes_text(element):
        return False
    traits = element.traits
    return (
        any(hint.startswith("cc-") for hint in traits.autocomplete.split())
        or field_says(element.name).kind == "card"
        or marks.of_field(traits.tokens, traits.attributes) == 5
    )


def mail_address(element: Element) -> bool:
    """Whether it is a field for an e-mail address and for nothing else of a login.

    To type one there is a draft. What becomes of it, the button says that sends it: “Subscribe”, “Change e-mail”.
    """
    traits = element.traits
    if marks.of_field(traits.tokens, traits.attributes) or not takes_text(element):
        return False
    stated = traits.input_type == "email" or "email" in traits.autocomplete.split()
    return stated or marks.mail_address(" ".join(_LETTERS.findall(read(element.name))))


def sends_mail_address(element: Element, page: Observation) -> bool:
    """Whether the form of ``element`` sends an e-mail address, and no button of it says that it searches or shows something.

    “Subscribe” and “Change e-mail” are forms by GET on careless sites, and some of their buttons say “OK”.
    """
    form = _form_of(element, page)
    if not mail_address(element) and not form.takes_mail:
        return False
    return not reads_by_get(element) or not form.finds


def typed(element: Element) -> Risk:
    """Typing into a field: by its type, its label, then its form."""
    traits = element.traits
    # Behind words that say which of several is meant (“billing cc-number”), or how it is filled in (“one-time-code webauthn”).
    hints = traits.autocomplete.split()
    if traits.input_type == "password" or any(hint.endswith(("password", "one-time-code")) for hint in hints):
        return settled(6, "a password or one-time code field")
    if any(hint.startswith("cc-") for hint in hints):
        return settled(5, "a card field")
    at_once = changing(element)
    if mail_address(element):
        if traits.reacts == "submit":
            return settled(6, "sends an e-mail address when it changes")
        return weigh([at_once]) if at_once else settled(3, "typing an e-mail address")
    said = field_says(element.name)
    if (said.certain and (said.kind == "secret" or said.level == 6)) or marks.of_field(
        traits.tokens, traits.attributes
    ) == 6:
        return settled(6, "a field of identity or access")
    if (said.certain and said.kind == "card") or marks.of_field(traits.tokens, traits.attributes) == 5:
        return settled(5, "a field of payment")
    # A script in a field that searches most often suggests what to search for.
    if searches(element) and not (at_once and traits.reacts == "submit"):
        return settled(1, "a search or filter field")
    if said.leans and said.kind in ("card", "secret"):
        leaning = Evidence(source="words", level=said.leans, certain=False, says=f"may ask for “{said.text}”")
        return weigh([leaning])
    if element.role == "slider" and not traits.form_method and not marks.of_media(traits.tokens, element.name):
        return weigh([at_once or _SET_AT_ONCE])
    return weigh([at_once]) if at_once else settled(3, "typing")


def chosen(element: Element, option: str, *, sent_later: bool = False) -> Risk:
    """Choosing ``option`` in a list, or switching a box; ``option`` is empty for a box and where it is not known.

    sent_later: ``sent_by_a_button``; then the button takes the class of what the option or the box says.
    """
    return weigh(_of_choice(element, option, sent_later))


def _of_choice(element: Element, option: str, sent_later: bool) -> list[Evidence]:
    found = []
    for label in filter(None, (element.name, option)):
        spoken = say(label)
        # The label of a list says what its options are about, that of a box what it means.
        later = sent_later and (label is option or element.role in CHECKABLE_ROLES)
        if spoken.certain and spoken.level >= GRAVE_CLASS and later:
            says = f"“{spoken.text}” is sent by its form"
            found.append(Evidence(source="words", level=spoken.level, certain=False, says=says))
        elif spoken.certain and spoken.level >= GRAVE_CLASS:
            found.append(Evidence(source="words", level=spoken.level, certain=True, says=f"says “{spoken.text}”"))
        elif spoken.leans:
            found.append(
                Evidence(
                    source="words",
                    level=spoken.leans,
                    certain=False,
                    says=f"“{spoken.text}” may be class {spoken.leans}",
                )
            )
    if token := marks.destroying(element.traits.tokens, harmless=say(element.name).views):
        says = f"its id, class or icon says “{token}”"
        certain = not (sent_later and element.role in CHECKABLE_ROLES)
        found.append(Evidence(source="claim", level=7, certain=certain, says=says))
    if reason := destructive_url(element.url) if element.url else "":
        found.append(Evidence(source="request", level=7, certain=True, says=f"link address says {reason}"))
    return [*found, _at_once(element)]


def _at_once(element: Element) -> Evidence:
    """What a choice does before anything is submitted."""
    traits = element.traits
    if traits.tag == "a" or (element.url and element.role in CHECKABLE_ROLES):
        return Evidence(source="structure", level=4, certain=False, says="a link that the page calls something else")
    # Neither its label nor its form tells what the page does by itself.
    if at_once := changing(element):
        return at_once
    if reads_by_get(element):
        return Evidence(source="structure", level=1, certain=True, says="sorts or filters")
    if traits.submits:
        return Evidence(source="structure", level=4, certain=False, says="submits a form")
    spoken = say(element.name)
    # “Show my activity status” on a switch is a setting, not a view.
    if spoken.views and (spoken.kind == "search" or element.role not in CHECKABLE_ROLES - {"radio", "menuitemradio"}):
        return Evidence(source="words", level=1, certain=True, says="sorts, filters or changes the view")
    if searches(element):
        return Evidence(source="claim", level=1, certain=spoken.legible, says="sorts or filters")
    if element.role == "slider" and marks.of_media(traits.tokens, element.name):
        return Evidence(source="claim", level=3, certain=spoken.legible, says="moves along something that is shown")
    waits = traits.form_method and (traits.tag in _NATIVE or element.role not in CHECKABLE_ROLES)
    if waits or element.role in LIST_ROLES:
        return Evidence(source="structure", level=3, certain=True, says="changes a form")
    if _is_own_box(element) and spoken.level < APPROVAL_CLASS:
        return Evidence(source="claim", level=3, certain=spoken.legible, says="changes a form")
    return _SET_AT_ONCE


def _is_own_box(element: Element) -> bool:
    """Whether it is a box or a radio button that the page made itself, in a form: it says that it only changes what the form would
    send. A switch says that it acts at once.
    """
    traits = element.traits
    return (
        element.role in ("checkbox", "radio") and bool(traits.form_method) and not destructive_url(traits.form_action)
    )


def sent_by_a_button(element: Element, page: Observation) -> bool:
    """Whether what is chosen in a list or with a box is sent only later, as far as the page tells: it is a native one of a form,
    states no reaction to a change, and the form has a button that sends it. All forms that do not say where they send look like
    one; those are of scripts, which often keep a box as soon as it is ticked.
    """
    if element.traits.tag != "select" and not element.traits.form_action:
        return False
    return _waits(element) and bool(_form_of(element, page).buttons)


def chosen_beside(element: Element, page: Observation) -> list[Evidence]:
    """What the lists and boxes of the form of ``element`` say that it sends: “delete the selected”, “Delete” beside a row."""
    return _form_of(element, page).chosen


def default_button(element: Element, page: Observation) -> Element | None:
    """The button that Enter presses in the form of ``element``: the first one that submits it. None if it has none."""
    return next(iter(_form_of(element, page).buttons), None)


def _sent_of(other: Element) -> list[Evidence]:
    """What a list or a box that waits in a form adds to sending it."""
    if other.traits.tag != "select":
        if "checked" not in other.states:
            return []
        if token := marks.destroying(other.traits.tokens, harmless=say(other.name).views):
            says = f"a box is ticked whose id, class or icon says “{token}”"
            return [Evidence(source="surroundings", level=7, certain=True, says=says)]
    said = (other.value,) if other.traits.tag == "select" else (other.name, other.traits.label)
    spoken = max(map(say, said), key=lambda each: each.level if each.certain else 0)
    if not (spoken.certain and spoken.level >= GRAVE_CLASS):
        return []
    says = f"“{spoken.text}” is chosen in its form"
    return [Evidence(source="surroundings", level=spoken.level, certain=True, says=says)]


def _waits(element: Element) -> bool:
    traits = element.traits
    native = traits.tag == "select" or (traits.tag == "input" and traits.input_type in ("checkbox", "radio"))
    return native and bool(traits.form_method) and not traits.reacts and not reads_by_get(element)


class _Form:
    """The controls of one form, as far as an observation tells. What they say is read once: a page can have a thousand buttons
    beside a thousand ticked boxes.
    """

    def __init__(self) -> None:
        self.controls: list[Element] = []

    @cached_property
    def buttons(self) -> list[Element]:
        return [each for each in self.controls if each.traits.submits]

    @cached_property
    def chosen(self) -> list[Evidence]:
        found = [evidence for each in self.controls if _waits(each) for evidence in _sent_of(each)]
        return sorted(dict.fromkeys(found), key=lambda each: -each.level)[:_CHOSEN_MAX]

    @cached_property
    def takes_mail(self) -> bool:
        return any(map(mail_address, self.controls))

    @cached_property
    def finds(self) -> bool:
        spoken = (say(each.name) for each in self.buttons)
        return any(each.certain and each.kind == "search" for each in spoken)


def asks_secret(element: Element, page: Observation) -> bool:
    """Whether the form of ``element`` has a field for a password: what is kept by sending it is a login or a setting."""
    return any(each.traits.input_type == "password" for each in _form_of(element, page).controls)


def _form_of(element: Element, page: Observation) -> _Form:
    forms: dict[tuple[str, str, str], _Form] | None = page.kept.get("forms")
    if forms is None:
        forms = {}
        for each in page.elements:
            if each.traits.form_method:
                forms.setdefault(_key_of(each), _Form()).controls.append(each)
        page.kept["forms"] = forms  # whole: a page can be judged on several threads
    return forms.get(_key_of(element)) or _Form()


def _key_of(element: Element) -> tuple[str, str, str]:
    return (element.frame, element.traits.form_method, element.traits.form_action)


def any_choice(element: Element) -> Risk:
    """A key that chooses in a list: which option it will be is not known, so the worst one counts."""
    choices = [chosen(element, option) for option in element.options]
    return worst(*choices, chosen(element, ""), settled(3, "chooses in a list"))
