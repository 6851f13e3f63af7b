"""Converts the selectors of the Chrome DevTools Recorder to ours. Each becomes a selector of its own, in the recorded order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.locator import by_aria

Bad = Callable[[str, str], MeshError]
"""Creates the error of the present step, from a reason and a field."""

_SELECTORS_MAX: Final = 64
# In the syntax of Puppeteer, which knows only these two attributes.
_ARIA: Final = re.compile(r"""\[\s*(?P<key>[\w-]+)\s*=\s*(?P<quote>["'])(?P<value>.*?)(?P=quote)\s*\]""", re.DOTALL)
_SPECIAL: Final = re.compile(r"""[\\^$.*+?()\[\]{}|/]""")
_CODED: Final = {character: f"\\x{ord(character):02x}" for character in "\"'`><"} | {"\n": "\\n", "\r": "\\r"}


def chains_of(step: dict[str, Any], bad: Bad) -> list[list[str]]:
    """The alternatives of a step, each a path through shadow roots. Errors: ``input.invalid``."""
    groups = step.get("selectors")
    if not isinstance(groups, list) or not groups:
        raise bad("must be a list", "selectors")
    if len(groups) > _SELECTORS_MAX:
        raise bad(f"more than {_SELECTORS_MAX} selectors", "selectors")
    chains = [[group] if isinstance(group, str) else group for group in groups]
    for chain in chains:
        if not isinstance(chain, list) or not chain or not all(isinstance(part, str) and part for part in chain):
            raise bad("a selector must be text or a list of texts", "selectors")
        if sum(map(len, chain)) > limits.ACTION_TEXT_CHARS_MAX:
            raise bad(f"a selector of more than {limits.ACTION_TEXT_CHARS_MAX} characters", "selectors")
    return chains


def ways(chains: list[list[str]]) -> tuple[tuple[str, ...], list[int]]:
    """Our selectors for ``chains``, and the positions of the chains that have no equivalent or are too many."""
    found: list[str] = []
    left_out: list[int] = []
    for place, chain in enumerate(chains):
        way = _way(chain)
        if way in found:
            continue
        fits = way and len(way) <= limits.ACTION_TEXT_CHARS_MAX and len(found) < limits.LOCATOR_SELECTORS_MAX
        if fits:
            found.append(way)
        else:
            left_out.append(place)
    return tuple(found), left_out


def literal(text: str) -> str:
    """A regular expression that matches only ``text``."""
    return "".join(_CODED.get(character) or _SPECIAL.sub(r"\\\g<0>", character) for character in text)


def role_of(way: str) -> str:
    """The role in a selector of the form ``aria/``; empty for other selectors."""
    named = by_aria(way, "")
    return named.role if named else ""


def _way(chain: list[str]) -> str:
    """Our selector for a path; empty for a path without an equivalent."""
    if len(chain) == 1 and chain[0].startswith("aria/"):
        return _aria(chain[0].removeprefix("aria/"))
    parts = [_part(part) for part in chain]
    # Joined like this, Playwright looks for each part inside the elements found by the part before, through open shadow roots.
    return " >> ".join(parts) if all(parts) else ""


def _part(part: str) -> str:
    if part.startswith("text/"):
        # A part of the text in the same case: Playwright's own text selector would ignore case.
        return f"text=/{literal(part.removeprefix('text/'))}/"
    form = "xpath=" if part.startswith("xpath/") else "css="
    body = part.removeprefix("xpath/" if form == "xpath=" else "pierce/")
    # These would be read as joined selectors, or only Puppeteer knows them.
    unknown = part.startswith("aria/") or ">>" in body or "::-p-" in body or not body.strip()
    return "" if unknown else form + body


def _aria(body: str) -> str:
    """Our form of ``NAME``, ``NAME[role="ROLE"]`` or ``[name="NAME"][role="ROLE"]``; empty without a name, or with another
    attribute.
    """
    tests = {found["key"]: found["value"] for found in _ARIA.finditer(body)}
    name = tests.pop("name", "") or _ARIA.sub("", body).strip()
    role = tests.pop("role", "")
    if tests or not name or "\\" in role + name or name.endswith('"]'):
        return ""
    return f'aria/{name}[role="{role}"]' if role else f"aria/{name}"
