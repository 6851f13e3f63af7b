"""The class of a click: what the element is, what it would send, what stands around it, and what it says."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

import msgspec

from protocol.page.seen.observation import CHECKABLE_ROLES, INTERACTIVE_ROLES, Element, Observation
from protocol.risk import marks
from protocol.risk.addresses import destructive_url, judge_address, names_what, of_record
from protocol.risk.fields import (
    FIELD_ROLES,
    asks_secret,
    chosen,
    chosen_beside,
    reads_by_get,
    sends_mail_address,
    sent_by_a_button,
)
from protocol.risk.judgement import APPROVAL_CLASS, GRAVE_CLASS, Evidence, Risk, settled, weigh
from protocol.risk.segments import words_in
from protocol.risk.surroundings import answers_cookies, beside, in_navigation, in_row, is_way_out
from protocol.risk.words import Spoken, asks, cancels, closes, is_cross, only_sends, say
from protocol.risk.words.text import NO_SPACES, read, script_of

_CLAIMED: Final = frozenset({"tab", "treeitem", "columnheader", "combobox", "listbox"})
"""Roles of what only shows something when it is clicked: so the page says."""
_NATIVE_VIEWS: Final = frozenset({"summary", "select"})
# A header of a table sorts; a ``summary`` expands. Anything else without the role of a control contains controls, or is one that
# nobody calls so.
_CLICKED: Final = INTERACTIVE_ROLES | {"columnheader"}
_INERT: Final = re.compile(
    r"javascript:[\s/;]*+(?:void\s*+\(?\s*+0\s*+\)?|undefined|\{\}|(?:window\.)?(?:history\.(?:back|forward)\(\)|print\(\)))?[\s;]*+",
    re.IGNORECASE,
)
"""Addresses of links that run a script which sends nothing. What was read is not read again: that would take quadratic time."""
_NOWHERE: Final = ("#", "#!", "#0", "#none", "#void")
"""Ends of the addresses of links that lead nowhere: a script does what they do."""
_INTO_ADDRESS: Final = "a form by GET sends a password"
_LINK_WORDS_MAX: Final = 3
_LINK_CHARS_MAX: Final = 10
"""In scripts without spaces. A longer text of a link is a title (“Delete files in Linux”), not a command."""


def clicked(element: Element, page: Observation) -> Risk:
    """The risk of a click on ``element`` of ``page``."""
    traits = element.traits
    if not traits.handler and answers_cookies(element, page):
        return weigh([_words(1, True, "answers a question about cookies")])
    if traits.submits:  # whatever role the page gives it
        return weigh([*_button(element, page), *chosen_beside(element, page)])
    if element.role == "slider" or element.role in CHECKABLE_ROLES:
        return weigh(chosen(element, "", sent_later=sent_by_a_button(element, page)).evidence)
    if element.role in FIELD_ROLES and traits.tag in ("input", "textarea"):
        return settled(1, "sets the focus")
    if _opens_page(element, page):
        found = _link(element) if element.role == "link" else _called_otherwise(element, page)
        return weigh(found)
    return weigh(_button(element, page))


def _opens_page(element: Element, page: Observation) -> bool:
    """Whether it is a link to another address. One to “#” or to a script is a button; so is one to a place on the page itself that
    the page calls a button: a script does what it does.
    """
    there, mark, _ = element.url.partition("#")
    if element.role != "link" and mark and there == page.url.partition("#")[0]:
        return False
    try:
        scheme = urlsplit(element.url).scheme
    except ValueError:
        return False
    if scheme not in ("http", "https") or element.url.endswith(_NOWHERE):
        return False
    # A link to the page itself that says that it changes something (“Follow”) is a button, too.
    spoken = say(element.name)
    here = there.rstrip("?") == page.url.partition("#")[0].rstrip("?")
    return not (here and spoken.certain and spoken.kind == "change" and not in_navigation(element, page))


def _drafts_mail(element: Element) -> bool:
    """Whether it is a link by which the browser hands an address and a text to a mail program, where a person sends them."""
    return element.url.lower().startswith("mailto:")


def _link(element: Element) -> list[Evidence]:
    spoken = say(element.name)
    if _orders(element, spoken):
        # What a page says is all that tells a command by GET (“Approve”) from a page of a form.
        found = [_words(spoken.level, True, f"link to one record says “{spoken.text}”")]
    else:
        found = [_unless_scripted(element, "a link")]
    found.extend([*_addressed(element), *_marked(element, spoken, leads=True)])
    if not element.name.strip():
        found.extend(each for each in _nameless(element) if each.level >= GRAVE_CLASS)
    if spoken.level >= GRAVE_CLASS or spoken.leans:
        certain = (
            spoken.certain and spoken.level >= GRAVE_CLASS and _is_command(element.name) and spoken.kind != "clear"
        )
        level = spoken.level if spoken.certain else spoken.leans
        if level:
            found.append(_words(level, certain, f"link says “{spoken.text}”"))
    return found


def _called_otherwise(element: Element, page: Observation) -> list[Evidence]:
    """A link that the page calls a button: what it says and what stands around it count as on a button. That it leads where its
    address says is believed if neither certainly says more.
    """
    spoken = say(element.name)
    found = [*_marked(element, spoken, leads=True), *_said(element, spoken), *_addressed(element)]
    if not spoken.views:
        found.extend(beside(element, page))
    if any(each.certain and each.level >= APPROVAL_CLASS for each in found):
        return found
    return [*found, _claim(spoken, "a link")]


def _addressed(element: Element) -> list[Evidence]:
    reason = destructive_url(element.url)
    return [_request(f"link address says {reason}")] if reason else []


def _orders(element: Element, spoken: Spoken) -> bool:
    """Whether it says that it changes something, and its address names what: “Approve” at ``/articles/approve/7``."""
    if not (spoken.certain and spoken.kind == "change" and _is_command(element.name)):
        return False
    segments, said = of_record(element.url), words_in(element.name)
    if not segments:
        return names_what(element.url, said)
    # “Set theory” at ``/set-theory/7`` is the title of what it leads to.
    return not (len(said) > 1 and said in segments)


def _is_command(name: str) -> bool:
    text = read(name)
    if script_of(text) in NO_SPACES:
        return len(text) <= _LINK_CHARS_MAX
    return len(text.split()) <= _LINK_WORDS_MAX


def _button(element: Element, page: Observation) -> list[Evidence]:
    """Anything that acts by a script or a form."""
    traits = element.traits
    spoken = say(element.name)
    ends = closes(element.name) or is_cross(element.name)
    if ends and (in_row(element, page) or (cancels(element.name) and not is_way_out(element, page))):
        # “Cancel” or “×” in a row of orders, or “Cancel” beside nothing that is filled in, cancels that order.
        spoken = msgspec.structs.replace(spoken, certain=False)
    leads = _opens_here(element) and traits.tag not in _NATIVE_VIEWS  # nothing would try these first
    found = [
        *_marked(element, spoken, leads=leads),
        *_said(element, spoken, opens=leads and not in_navigation(element, page)),
    ]
    # The address of the form counts whatever the label: a harmless label may send a destructive request.
    if traits.submits and (address := judge_address(traits.form_action)) is not None:
        reason = destructive_url(traits.form_action)
        found.append(msgspec.structs.replace(address, says=f"form address says {reason}"))
    if _is_broken(element.url):
        found.append(Evidence(source="request", level=4, certain=True, says="its address cannot be read"))
    if element.role not in _CLICKED and traits.tag != "summary" and not _is_unnamed_control(element, page):
        return [*[each for each in found if each.level >= GRAVE_CLASS], _around(element)]
    if not spoken.views:
        found.extend(beside(element, page))
    return [*found, *_being(element, spoken, page)]


def _is_unnamed_control(element: Element, page: Observation) -> bool:
    """Whether it has no role and no control in it: where a click on it goes is sure, and a script may take it for a button. A click
    on a ``label`` goes to its control, wherever that stands.
    """
    return element.role == "generic" and element.traits.tag != "label" and not page.may_hold_controls(element)


def _around(element: Element) -> Evidence:
    """What contains controls. A control in its middle would get the click, and has a name and a class of its own: that click is not
    performed (``action.hits_another``). Any other one the container gets itself, as a row that opens what it lists.
    """
    if element.role == "main" and not element.traits.handler:
        # What listens to clicks there gets those on every control of the page.
        return Evidence(source="claim", level=1, certain=True, says=f"a {element.role}, beside its controls")
    said = f"a {element.role} contains controls: act on one of them"
    return Evidence(source="structure", level=4, certain=False, says=said)


def _being(element: Element, spoken: Spoken, page: Observation) -> list[Evidence]:
    """What the element is, as far as that tells what it does."""
    traits = element.traits
    if traits.input_type == "reset" and traits.tag in ("button", "input"):
        # It empties its form, and a label that says more casts doubt on that: a script may do it.
        if spoken.kind == "clear" or not (spoken.level >= GRAVE_CLASS or spoken.leans):
            return [_unless_scripted(element, "empties its form on the page")]
        return []
    if traits.submits:
        return [_submits(element, spoken, page)]
    if sent := _runs_script(element):
        return [Evidence(source="structure", level=4, certain=False, says=sent)]
    if traits.tag in _NATIVE_VIEWS:
        return [_structure(1, f"a {traits.tag}")]
    if _drafts_mail(element):
        return [_unless_scripted(element, "opens a draft in a mail program", level=3)]
    if element.role in _CLAIMED or element.role in FIELD_ROLES:
        return [_claim(spoken, f"a {element.role}")]
    if _opens_here(element):
        claim = _claim(spoken, "opens or closes something")
        sends = spoken.certain and spoken.kind == "change" and not in_navigation(element, page)
        return [msgspec.structs.replace(claim, certain=claim.certain and not sends)]
    return []


def _opens_here(element: Element) -> bool:
    """Whether the page says that it opens or closes something on the page itself, and it sends no form."""
    opens = "expanded" in element.states or bool(element.traits.opens) or element.role == "combobox"
    return opens and not element.traits.submits


def _submits(element: Element, spoken: Spoken, page: Observation) -> Evidence:
    traits = element.traits
    # What a form by POST does, no label tells.
    finds = traits.form_method != "post" and spoken.certain and spoken.kind == "search"
    if reads_by_get(element):
        if sends_mail_address(element, page):
            return Evidence(source="request", level=6, certain=True, says="sends an e-mail address")
        if asks_secret(element, page):
            return _structure(4, _INTO_ADDRESS)
        if spoken.kind == "change" and not only_sends(element.name):
            # Devices keep settings by GET (“Save”).
            return _words(4, True, f"a form by GET says “{spoken.text}”")
        return _unless_scripted(element, "a form that only reads")
    if finds:
        return _words(1, True, "searches, sorts or filters")
    # Mostly a script sends it. Where none does, the browser writes the password into the address.
    # Forms without an address cannot be told apart: one that says what it shows is another one than the login.
    if traits.form_method == "get" and not spoken.views and asks_secret(element, page):
        return _structure(4, _INTO_ADDRESS)
    if traits.guarded:
        return _structure(4, "a form by GET has a token against forged requests")
    said = "answers a dialog" if traits.form_method == "dialog" else "submits a form"
    return Evidence(source="structure", level=4, certain=False, says=said)


def _runs_script(element: Element) -> str:
    """The script that the page states to run when it is clicked, in a few words; empty if none is known that could send something.

    Of a button it says nothing: every button without a form runs a script.
    """
    if element.url.lower().startswith("javascript:") and not _INERT.fullmatch(element.url):
        return "its address is a script"
    if element.traits.tag == "summary" and element.traits.reacts:
        return "runs a script when it opens"
    return ""


def submitted(element: Element, page: Observation, *, recognised: bool) -> Risk:
    """Submitting the form of a field of ``page`` with the key Enter. recognised: the field searches."""
    traits = element.traits
    if traits.form_action and destructive_url(traits.form_action):
        return settled(7, "form address looks destructive")
    finds = recognised and traits.form_method != "post"
    if traits.form_method == "get" and not (finds and not traits.form_action) and asks_secret(element, page):
        return settled(4, _INTO_ADDRESS)
    if reads_by_get(element):
        return weigh([_unless_scripted(element, "a form that only reads")])
    if finds:
        return settled(1, "searches, sorts or filters")
    if traits.guarded:
        return settled(4, "a form by GET has a token against forged requests")
    said = "answers a dialog" if traits.form_method == "dialog" else "submits a form"
    return weigh([Evidence(source="structure", level=4, certain=False, says=said), *chosen_beside(element, page)])


def _said(element: Element, spoken: Spoken, *, opens: bool = False) -> list[Evidence]:
    """opens: whether the page says that it opens something."""
    traits = element.traits
    if not element.name.strip():
        return _nameless(element)
    found = []
    if spoken.leans:
        found.append(_words(spoken.leans, False, f"“{spoken.text}” may be class {spoken.leans}"))
    if not spoken.level:
        return found
    resets = traits.input_type == "reset" and traits.tag in ("button", "input")
    if not spoken.certain and spoken.level < APPROVAL_CLASS:
        return found
    if opens and spoken.certain and spoken.level >= GRAVE_CLASS and asks(element.name):
        return [_words(spoken.level, False, f"“{spoken.text}”")]
    if spoken.kind == "clear" and marks.of_chooser(traits.tokens):
        return [*found, _words(spoken.level, False, f"“{spoken.text}”, in a field in which something is chosen")]
    # A button that sends and has an arrow for more is often one element to those who read it aloud: “Send”, with a menu.
    if opens and spoken.certain and spoken.kind == "change":
        return [*found, _words(spoken.level, False, f"“{spoken.text}”")]
    if not spoken.certain or (resets and spoken.level >= GRAVE_CLASS):
        return found or [_words(spoken.level, False, f"“{spoken.text}”")]
    # A submit button called “Next” sends the form as any other, and a script that the page states runs whatever its label is.
    if spoken.views and (traits.submits or _runs_script(element)):
        return found
    return [*found, _words(spoken.level, True, f"says “{spoken.text}”")]


def _nameless(element: Element) -> list[Evidence]:
    level, token = marks.nameless(element.traits.tokens)
    if not level or (level == 1 and (element.traits.submits or _runs_script(element))):
        return []
    return [Evidence(source="claim", level=level, certain=True, says=f"its id, class or icon says “{token}”")]


def _marked(element: Element, spoken: Spoken, *, leads: bool = False) -> list[Evidence]:
    """leads: whether its address says what it opens, or the page that it opens a list or a menu."""
    token = marks.destroying(element.traits.tokens, harmless=spoken.views)
    says = f"its id, class or icon says “{token}”"
    # Where a link leads, its address and its label tell better than its colour, if they tell anything else. A red button that opens
    # a menu is in doubt.
    told = _has_label(element) and spoken.legible and not (spoken.certain and spoken.level >= GRAVE_CLASS)
    # Bulma calls the cross that closes a message “delete”, and nothing else; Bootstrap's dialogs often have a red “Close”.
    closer = element.role == "button" and not element.url and closes(element.name) and not cancels(element.name)
    crosses = closer and (marks.paints(token) or marks.crosses(element.traits.tokens))
    certain = not ((marks.paints(token) and told and leads) or crosses)
    return [Evidence(source="claim", level=7, certain=certain, says=says)] if token else []


def _has_label(element: Element) -> bool:
    """True if its label tells ``element`` from others: “×” or “12” stands on controls that do different things."""
    return sum(letter.isalpha() for letter in element.name) > 1


def _structure(level: int, says: str) -> Evidence:
    return Evidence(source="structure", level=level, certain=True, says=says)


def _unless_scripted(element: Element, says: str, *, level: int = 1) -> Evidence:
    """What the browser does with it by itself. An inline handler may do something else, so with one the page only claims it; so may
    a script of a link that the page calls a button.
    """
    scripted = element.traits.handler or (element.url and element.role != "link")
    return Evidence(source="claim" if scripted else "structure", level=level, certain=True, says=says)


def _claim(spoken: Spoken, says: str) -> Evidence:
    # What the page claims counts only where a label that says otherwise would have been read.
    return Evidence(source="claim", level=1, certain=spoken.legible, says=says)


def _words(level: int, certain: bool, says: str) -> Evidence:
    return Evidence(source="words", level=level, certain=certain, says=says)


def _request(says: str) -> Evidence:
    return Evidence(source="request", level=7, certain=True, says=says)


def _is_broken(url: str) -> bool:
    try:
        urlsplit(url)
    except ValueError:
        return True
    return False


def label_risk(element: Element) -> Risk:
    """What a thing says that is dragged, or dropped on: as a button with its label and marks."""
    spoken = say(element.name)
    return weigh([*_marked(element, spoken), *_said(element, spoken)])
