"""What a selector finds on a page, by Playwright's own way for each form."""

from __future__ import annotations

from playwright.async_api import Frame, Locator


def way(root: Frame | Locator, selector: str) -> Locator:
    """What ``selector`` finds below ``root``, as Playwright finds it. A text in quotes must be the whole text."""
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
