"""Reads and chooses the options of a select."""

from __future__ import annotations

from collections.abc import Sequence

from playwright.async_api import Locator

from adapters.browser.base.masking import Mask
from adapters.browser.observing import scripts
from protocol import limits
from protocol.errors import MeshError
from protocol.page.seen.observation import Element


async def label_of(target: Locator, value: str) -> str:
    """As ``adapters.ports.Page.option_label``, for the select ``target``."""
    labels = await target.evaluate(scripts.LABELS_OF, value, timeout=limits.STEP_TIMEOUT_MS)
    if len(labels) > 1:
        # An option is chosen by its label, which would be ambiguous here.
        raise MeshError("action.not_possible", "several options of the list have the same label", option=labels[0])
    return str(labels[0]) if labels else ""


async def choose_options(element: Element, target: Locator, labels: Sequence[str], mask: Mask, limit: int) -> None:
    """Choose exactly the options with these labels. mask: gives a label as the observation shows it.

    Errors: ``action.not_possible``, and those of Playwright.
    """
    if element.options and (missing := set(map(mask, labels)).difference(element.options)):
        raise MeshError("action.not_possible", "the list has no such option", option=min(missing))
    # If a list takes one option, Playwright chooses the first of several and reports that only in its answer.
    if len(await target.select_option(label=list(labels), timeout=limit)) != len(set(labels)):
        raise MeshError("action.not_possible", "the list does not take several options")
