"""The elements that a selector finds on a page, by Playwright's own method for each form."""

from __future__ import annotations

import re
from typing import Final

from playwright.async_api import Frame, Locator

_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_BY_ROLE: Final = re.compile(
    rf"(?P<role>(?:\A|>> )(?:internal:)?role=[\w-]+(?:\[[\w-]+(?:\*?=(?:{_QUOTED} ?[is]?|/(?:[^/\\]|\\.)*/\w*|[\w-]+))?\])*)"
    r"(?P<place>(?: >> nth=-?\d+)?)\Z"
)


def with_hidden(selector: str) -> str:
    """``selector``, changed if it ends with a role: Playwright then also finds elements outside the accessibility tree."""
    found = _BY_ROLE.search(selector)
    if found is None or "[include-hidden" in found["role"]:
        return selector
    return f"{selector[: found.start()]}{found['role']}[include-hidden=true]{found['place']}"


def way(root: Frame | Locator, selector: str) -> Locator:
    """The elements that ``selector`` finds below ``root`` in Playwright. A text in quotes must be the whole text."""
    kind, _, text = selector.partition("=")
    if selector.startswith("pierce/"):
        return root.locator(
            "css=" + selector.removeprefix("pierce/")
        )  # Playwright's CSS goes through open shadow roots
    exact = len(text) > 1 and text[0] == text[-1] == '"'
    value = text[1:-1] if exact else text
    match kind:
        case "testid":
            return root.get_by_test_id(value)
        case "label":
            return root.get_by_label(value, exact=exact)
        case "placeholder":
            return root.get_by_placeholder(value, exact=exact)
        case "title":
            return root.get_by_title(value, exact=exact)
        case "alt":
            return root.get_by_alt_text(value, exact=exact)
        case _:
            return root.locator(selector)
