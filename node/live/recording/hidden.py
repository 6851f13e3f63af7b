"""Stores, with each step, the hidden texts of a page that address a language model."""

from __future__ import annotations

import asyncio

from adapters.ports.browser import Page
from protocol.errors import MeshError
from protocol.page.instructions.hidden_text import HiddenTexts, speaking
from protocol.page.secrets.redaction import redact_text
from protocol.page.secrets.secrets import SecretsAndTokens
from protocol.page.seen.observation import Observation


async def hidden_on(page: Page, seen: Observation | None, secrets: SecretsAndTokens) -> HiddenTexts:
    """The hidden texts stored with a step, and whether they are complete. seen: the page after the step; None if it could not be
    read.
    """
    if seen is None:
        return HiddenTexts()
    try:
        read = await page.hidden_texts()
    except MeshError:
        return HiddenTexts(whole=False)  # the next step reports the error
    kept, every = await asyncio.to_thread(speaking, read.texts, lambda text: redact_text(text, secrets))
    return HiddenTexts(texts=kept, whole=every and read.whole)
