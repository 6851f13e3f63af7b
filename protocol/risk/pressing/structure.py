"""The class of a click. Links, forms by GET, and controls that open a part of the page read; all other controls act. Grave words
raise the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from protocol.page.seen.observation import CHECKABLE_ROLES, Element, Observation
from protocol.risk.addresses.addresses import destructive_url, judge_address
from protocol.risk.judgement import Risk, RiskEvidence, settled, weigh
from protocol.risk.pressing import marks
from protocol.risk.pressing.fields import (
    FIELD_ROLES,
    chosen,
    form_of,
    reads_by_get,
    says_search,
    searches,
    sent_by_a_button,
)
from protocol.risk.pressing.surroundings import beside
from protocol.risk.words import closes, grave, say
from protocol.risk.words.text import NO_SPACES, read, script_of

_CLAIMED: Final = frozenset({"tab", "treeitem", "columnheader", "combobox", "listbox"})
"""Roles of controls that, according to the page, only show something when they are clicked."""
_NOWHERE: Final = ("#", "#!", "#0", "#none", "#void")
"""Link targets that lead nowhere: the effect comes from a script."""
_LINK_WORDS_MAX: Final = 3
_LINK_CHARS_MAX: Final = 10
"""For scripts without spaces. A longer text of a link is a title (“Delete files in Linux”), not a command."""


def clicked(element: Element, page: Observation) -> Risk:
    """The risk of a click on ``element`` of ``page``."""
    traits = element.traits
    if traits.submits:  # whatever role the page gives it
        return weigh(submitted(element, page), [*_said(element), *_stands(element, page)])
    if element.role == "slider" or element.role in CHECKABLE_ROLES:
        return chosen(element, "", sent_later=sent_by_a_button(element, page))
    if element.role in FIELD_ROLES and traits.tag in ("input", "textarea"):
        return settled(1, "sets the focus")
    if _opens_page(element):
        # With a handler, or with another role, the page only claims that it is a link.
        real = element.role == "link" and not traits.handler
        found = [*_said(element), *(() if real else _stands(element, page))]
        if reason := destructive_url(element.url):
            found.append(RiskEvidence(level=7, certain=True, says=f"link address says {reason}"))
        return weigh(settled(1, "a link", sure=real), found)
    return weigh(_acts(element), [*_said(element), *_stands(element, page)])


def submitted(element: Element, page: Observation) -> Risk:
    """Submitting the form of ``element`` of ``page``."""
    traits, form = element.traits, form_of(element, page)
    found = list(form.chosen)
    if address := judge_address(traits.form_action) if traits.form_action else None:
        found.append(
            RiskEvidence(
                level=address.level, certain=True, says=f"form address says {destructive_url(traits.form_action)}"
            )
        )
    if reads_by_get(element):
        if form.sends_mail:
            found.append(RiskEvidence(level=6, certain=True, says="sends an e-mail address"))
        # the settings page of a device may store settings by GET
        sure = (form.finds or says_search(element)) and not traits.handler
        return weigh(settled(1, "a form that only reads", sure=sure), found)
    if searches(element) and traits.form_method != "post" and not traits.guarded:
        return weigh(settled(1, "searches, sorts or filters", sure=False), found)
    return weigh(settled(4, "submits a form", sure=False), found)


def label_risk(element: Element) -> Risk:
    """The risk of a thing that is dragged, or dropped on: the same as for a button with its label and markup."""
    return weigh(settled(4, "drags something", sure=False), _said(element))


def _acts(element: Element) -> Risk:
    """The class of a control that acts on the page itself."""
    traits = element.traits
    if traits.input_type == "reset" and traits.tag in ("button", "input"):
        # this is the native effect; a script may do more
        return settled(1, "empties its form on the page", sure=False)
    if traits.tag in ("summary", "select") and not traits.reacts:
        return settled(1, f"a {traits.tag}")
    if element.url.lower().startswith("mailto:") and element.role == "link":
        return settled(3, "opens a draft in a mail program", sure=not traits.handler)
    scripted = element.url.lower().startswith("javascript:") or traits.reacts
    if not scripted and (element.role in _CLAIMED or element.role in FIELD_ROLES or _opens_here(element)):
        return settled(1, "opens or closes something", sure=False)
    return settled(4, "acts on the page", sure=False)


def _opens_page(element: Element) -> bool:
    """True if it is a link to another address. A link to “#” or to a script counts as a button; so does a link to a place on a
    page that the page calls a button, because a script makes its effect.
    """
    if element.role != "link" and "#" in element.url:
        return False
    try:
        scheme = urlsplit(element.url).scheme
    except ValueError:
        return False
    return scheme in ("http", "https") and not element.url.endswith(_NOWHERE)


def _opens_here(element: Element) -> bool:
    """True if the page declares that it opens or closes something on the page itself, and it sends no form."""
    opens = "expanded" in element.states or bool(element.traits.opens) or element.role == "combobox"
    return opens and not element.traits.submits


def _said(element: Element) -> Iterator[RiskEvidence]:
    """The grave evidence of its label and its markup."""
    traits, leads = element.traits, _opens_page(element)
    clears, resets = say(element.name).kind == "clear", traits.input_type == "reset"
    title = leads and element.role == "link" and not _is_command(element.name)
    if not (clears and resets):
        yield from grave(element.name, leans=title or resets or (clears and leads))
    if not element.name.strip() and (token := marks.paying(traits.tokens)):
        yield RiskEvidence(level=5, certain=True, says=f"its id, class or icon says “{token}”")
    if token := marks.destroying(traits.tokens, element.name):
        # The target of a link, or the part that a control opens, tells more than its colour, if its label distinguishes it from
        # others.
        labelled = sum(letter.isalpha() for letter in element.name) > 1
        painted = marks.paints(token) and labelled and (leads or _opens_here(element))
        yield RiskEvidence(level=7, certain=not painted, says=f"its id, class or icon says “{token}”")


def _stands(element: Element, page: Observation) -> Iterator[RiskEvidence]:
    """The evidence from its surroundings, unless it closes them: “Cancel”."""
    return iter(()) if closes(element.name) else beside(element, page)


def _is_command(name: str) -> bool:
    text = read(name)
    if script_of(text) in NO_SPACES:
        return len(text) <= _LINK_CHARS_MAX
    return len(text.split()) <= _LINK_WORDS_MAX
