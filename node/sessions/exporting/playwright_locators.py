"""Writes the locators of a recording as Python expressions of Playwright."""

from __future__ import annotations

import json
import re
from typing import Final

from node.sessions.exporting.written import Unsaid
from protocol.page.actions.action import Locator, Within
from protocol.page.actions.dialogs import DialogAnswer
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.actions.fits import MatchDemands
from protocol.page.actions.locator import ENTER_FRAME, by_aria

_GETTERS: Final = {
    "label": "get_by_label",
    "placeholder": "get_by_placeholder",
    "title": "get_by_title",
    "alt": "get_by_alt_text",
}
_ROLES_UNKNOWN: Final = frozenset({"", "generic", "text", "iframe", "none", "presentation"})
"""Roles for which Playwright finds no element."""
_OWN_ENGINE: Final = re.compile(r"(css|xpath|text|role)=")


def quoted(text: str) -> str:
    """``text`` as a Python literal in double quotes, in which every character is visible."""
    # JSON escapes are valid in Python, except for characters beyond U+FFFF, which are kept unescaped.
    said = json.dumps(text, ensure_ascii=False)
    # Text of a page could reverse its direction and so show a reader other code than the code that runs.
    return said if said.isprintable() else "".join(map(_visible, said))


def _visible(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def dialog_lines(answer: DialogAnswer) -> tuple[str, str]:
    """The statement that answers a dialog, and the block around its cause that waits for the dialog.

    Without them, Playwright would dismiss every dialog and would not notice a missing one, unlike the recording.
    """
    done = f"accept({quoted(answer.reply) if answer.reply else ''})" if answer.accept else "dismiss()"
    said = f' and {quoted(" ".join(answer.text.split()))} in " ".join(dialog.message.split())' if answer.text else ""
    return (
        f'page.once("dialog", lambda dialog: dialog.{done})',
        f'with page.expect_event("dialog", lambda dialog: dialog.type == {quoted(answer.kind)}{said}):',
    )


def locator(target: Locator, evidence: ElementEvidence | None) -> str:
    """The expression for ``target``. Errors: ``Unsaid``."""
    if target.frame:
        into = next((selector for selector in target.selectors if ENTER_FRAME in selector), "")
        if not into or target.within is not None:
            raise Unsaid("its element is in a frame, which a recording knows by its place only")
        return f"page.locator({quoted(into)})"
    root = f"page{_within(target.within, evidence)}" if target.within else "page"
    if target.selectors:
        return root + _by_selector(target)
    if target.role == "generic" and target.name:
        # An element without a role, such as a ``summary``, is found by its text.
        found = f"{root}.get_by_text({quoted(target.name)}, exact=True)"
    elif target.role in _ROLES_UNKNOWN:
        raise Unsaid(f"Playwright finds no element by the role {target.role or 'none'}")
    else:
        found = root + _by_role(target.role, target.name)
    # The evidence of an assertion does not tell whether its element was the only one, so the position 0 is written for the first
    # one.
    unknown = evidence is None or not evidence.role
    several = target.nth is not None or unknown or (evidence is not None and evidence.alike and not target.within)
    return f"{found}.nth({target.nth or 0})" if several else found


def _by_role(role: str, name: str) -> str:
    return f".get_by_role({quoted(role)}{f', name={quoted(name)}, exact=True' if name else ''})"


def _by_selector(target: Locator) -> str:
    """The first selector that Playwright supports."""
    for selector in target.selectors:
        named = by_aria(selector, "")
        if named is None:
            return _by_form(selector)
        role = named.role or target.role
        if role not in _ROLES_UNKNOWN:
            return _by_role(role, named.name)
    raise Unsaid("none of its selectors has an equivalent")


def _by_form(selector: str) -> str:
    if _OWN_ENGINE.match(selector):
        return f".locator({quoted(selector)})"
    if selector.startswith("pierce/"):
        return f".locator({quoted('css=' + selector.removeprefix('pierce/'))})"
    form, _, text = selector.partition("=")
    if form != "testid" and form not in _GETTERS:
        raise Unsaid("its selector is of no form that is known")
    exact = len(text) > 1 and text[0] == text[-1] == '"'
    value = text[1:-1] if exact else text
    if form == "testid":
        return f".get_by_test_id({quoted(value)})"
    return f".{_GETTERS[form]}({quoted(value)}{', exact=True' if exact else ''})"


def _within(within: Within, evidence: ElementEvidence | None) -> str:
    if within.selectors:
        return _by_selector(Locator(selectors=within.selectors))
    found = _by_role(within.role, within.name)
    if not within.text:
        return found
    if evidence is not None and MatchDemands(evidence.fits).grade("within") == "whole":
        return f"{found}.filter(has=page.get_by_text({quoted(within.text)}, exact=True))"
    return f"{found}.filter(has_text={quoted(within.text)})"
