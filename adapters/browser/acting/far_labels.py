"""Reads hidden controls that labels stand for in frames whose isolated world is in another process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from adapters.browser.base.text import well_formed
from adapters.browser.observing import scripts
from adapters.browser.observing.aria import AriaNode
from adapters.browser.observing.label_scripts import FIRST_REF, HIDDEN
from adapters.browser.observing.standing import HiddenControl
from adapters.browser.observing.view import FrameFacts
from adapters.browser.observing.worlds import traits_of

_FRAMES_ASKED_MAX: Final = 20


async def read_far_labels(page: Page, roots: Sequence[AriaNode], facts: FrameFacts) -> None:
    """Add the hidden controls of frames that ``facts`` does not cover. Each such frame costs a round trip."""
    if len(facts.documents) >= len(page.frames):
        return
    untold = list(_untold(roots, facts))
    if any(not frame.url for frame in page.frames):
        # A frame without a document never answers, and shows nothing.
        untold = [frame for frame in untold if frame.children]
    for frame in untold[:_FRAMES_ASKED_MAX]:
        with contextlib.suppress(PlaywrightError):  # the frame has gone
            await _read(page, frame, facts)


def _untold(roots: Sequence[AriaNode], facts: FrameFacts) -> Iterator[AriaNode]:
    told = {ref for each in facts.standing for ref in each.around}
    for node in (node for root in roots for node in root.walk()):
        # A frame from which nothing was read has no visible label, and a frame without a document never answers.
        empty = node.role != "iframe" or not node.ref or not node.children
        if not empty and node.ref not in told and _prefix(node) not in facts.bases:
            yield node


def _prefix(frame: AriaNode) -> str:
    """The prefix of the refs in ``frame``; if it has no refs, a prefix that no other frame has."""
    inner = next((node.ref for node in frame.walk() if node is not frame and node.ref), "")
    return inner.rpartition("e")[0] if inner else f"h{frame.ref}"


async def _read(page: Page, frame: AriaNode, facts: FrameFacts) -> None:
    prefix = _prefix(frame)
    first = f"{prefix}e{FIRST_REF}"
    # Handles first: evaluating on all at once would search for them, and mark them, in the page's own world.
    found = page.locator(f"aria-ref={frame.ref} >> internal:control=enter-frame >> {HIDDEN}={first}")
    handles = await found.element_handles()
    told = await handles[0].evaluate(scripts.HIDDEN_FACTS, handles) if handles else []
    for number, (role, name, states, said, traits) in enumerate(told):
        ref, said = f"{prefix}e{FIRST_REF + number}", well_formed(said)
        facts.traits[ref] = traits_of(traits)
        facts.standing.append(
            HiddenControl(ref, role, well_formed(name), states, said, [*_around(frame, said), frame.ref], [])
        )


def _around(frame: AriaNode, said: str) -> list[str]:
    """The refs of the nodes in ``frame`` that hold the text of a label."""
    for node in frame.walk():
        texts = [node.text, *(child.text for child in node.children if child.role == "text")]
        if said and node.ref and any(said in " ".join(text.split()) for text in texts):
            return [node.ref]
    return []
