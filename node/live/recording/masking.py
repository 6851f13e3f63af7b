"""Finds the parts of a page that change by themselves during a recording."""

from __future__ import annotations

import asyncio

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.secrets.comparing import comparable_snapshot
from protocol.page.secrets.secrets import Secrets
from protocol.page.seen.observation import Observation
from protocol.recording.pages.masks import find_masks, learn_masks
from protocol.recording.records.session import Mask


class Masking:
    """The masks of the steps on one page."""

    def __init__(self, page: Page, secrets: Secrets) -> None:
        self._page = page
        self._secrets = secrets
        self._seen: tuple[str, tuple[Mask, ...]] = ("", ())
        """The text of the last step, and its masks."""

    async def look(self, text: str, page: Observation) -> tuple[tuple[Mask, ...], Observation]:
        """The masks of ``text``, by the form of its numbers and, if it differs from the last text, by a second observation; and
        the observation in which the next action finds its element.
        """
        if self._seen[0] == text:
            return self._seen[1], page
        masks = await asyncio.to_thread(find_masks, text)
        try:
            # Most pages do not change, and say so in a tenth of the time of a new observation.
            later = page if await self._page.unchanged() else await self._page.observe()
        except MeshError:
            later = page  # the next step reports the error
        if later is not page and later.state == page.state:
            again = await asyncio.to_thread(comparable_snapshot, later.text, self._secrets.stored_at(later.url))
            masks = await asyncio.to_thread(learn_masks, text, again, masks)
        self._seen = text, masks
        # If elements changed, refs are numbered anew: the refs of ``page`` would lead the next action to other elements.
        if later is page:
            return masks, page
        same = await asyncio.to_thread(lambda: later.elements == page.elements)
        return masks, page if same else later
