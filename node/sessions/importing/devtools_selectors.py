"""Converts the selectors of the Chrome DevTools Recorder to ours. Each stays a way of its own, in the recorded order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.locator import by_aria

Bad = Callable[[str, str], MeshError]
"""The error of the step at hand, for a reason and a field."""

_SELECTORS_MAX: Final = 64
# As Puppeteer reads it; it knows no other attributes than these two.
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
    """Our selectors for ``chains``, and the places of those that have none or are too many."""
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
    """The regular expression that matches ``text`` only."""
    return "".join(_CODED.get(character) or _SPECIAL.sub(r"\\\g<0>", character) for character in text)


def role_of(way: str) -> str:
    """The role that a selector of the form ``aria/`` asks for; empty for others."""
    named = by_aria(way, "")
    return named.role if named else ""


def _way(chain: list[str]) -> str:
    """One of our selectors for a path; empty for a path that has no equivalent."""
    if len(chain) == 1 and chain[0].startswith("aria/"):
        return _aria(chain[0].removeprefix("aria/"))
    parts = [_part(part) for part in chain]
    # Joined like this, Playwright looks for each part in what the part before has found, through open shadow roots.
    return " >> ".join(parts) if all(parts) else ""


def _part(part: str) -> str:
    if part.startswith("text/"):
        # A part of the text, with the case of its letters: as text, Playwright would ignore the case.
        return f"text=/{literal(part.removeprefix('text/'))}/"
    form = "xpath=" if part.startswith("xpath/") else "css="
    body = part.removeprefix("xpath/" if form == "xpath=" else "pierce/")
    # These would be read as joined selectors, or are known to Puppeteer only.
    unknown = part.startswith("aria/") or ">>" in body or "::-p-" in body or not body.strip()
    return "" if unknown else form + body


def _aria(body: str) -> str:
    """``NAME``, ``NAME[role="ROLE"]``, ``[name="NAME"][role="ROLE"]``; empty without a name, or with another attribute."""
    tests = {found["key"]: found["value"] for found in _ARIA.finditer(body)}
    name = tests.pop("name", "") or _ARIA.sub("", body).strip()
    role = tests.pop("role", "")
    if tests or not name or "\\" in role + name or name.endswith('"]'):
        return ""
    return f'aria/{name}[role="{role}"]' if role else f"aria/{name}"
