"""The HTML of a page on which a step failed, prepared for a person to read."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.actions.action import Action, Drag, Locator, target_of
from protocol.page.actions.evidence import ElementEvidence
from protocol.page.seen.observation import Observation
from protocol.page.showing.markup import MarkupShown, shown
from protocol.recording.replays.call_log import likest


async def document_of(
    page: Page, seen: Observation | None, action: Action, evidence: ElementEvidence | None, secrets: Mapping[str, str]
) -> MarkupShown | None:
    """The document of the page, redacted as in a recording. Two kinds of elements are marked in it: those that the selectors of
    ``action`` find, and those most similar to the recorded element. seen: the last observation. None if the page does not give its
    document.
    """
    near = await asyncio.to_thread(likest, action, evidence, seen) if seen is not None else []
    try:
        markup = await page.markup(list(_targets(action)), [element.ref for element in near])
    except MeshError:
        return None  # the error of the step is still reported; only its document is missing
    return await asyncio.to_thread(shown, markup, secrets)


def _targets(action: Action) -> Iterator[Locator]:
    """All locators of ``action``: its element, the element around it, and the element that a drag ends on."""
    target = target_of(action)
    for each in (target, action.onto if isinstance(action, Drag) else None):
        if each is None:
            continue
        yield each
        if each.within is not None:
            around = each.within
            yield Locator(role=around.role, name=around.name, frame=each.frame, selectors=around.selectors)
