"""The findings of the gates in a stored session: personal data by kind, and text that addresses a model.

They are computed from the stored session and are not signed. Nothing acts upon them; they are shown with the session.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence

from node.verbs.sessions.session_gates import PersonalData, SpokenTo
from protocol.errors import MeshError
from protocol.page.actions.action import describe
from protocol.page.instructions.hidden_text import HiddenText, in_words, unseen_by_people
from protocol.page.instructions.instructions import FINDINGS_MAX, Instruction, instructions_in
from protocol.page.secrets.personal import counted, personal_data
from protocol.recording.records.session import Step
from protocol.recording.records.snapshot import snapshot_text
from protocol.trust.origin import origin_of

_SNAPSHOTS_MAX = 200
"""The number of different texts that are searched. A session with more reports the findings in its first ones."""


async def gated(
    steps: Sequence[Step], blob: Callable[[bytes], Awaitable[bytes]]
) -> tuple[tuple[PersonalData, ...], tuple[SpokenTo, ...]]:
    """Personal data in ``steps`` by place and kind, and text that addresses a model. blob: reads a stored text."""
    personal: Counter[tuple[str, str, bool]] = Counter()
    spoken: list[SpokenTo] = []
    seen, hidden = set[bytes](), set[HiddenText]()
    for step in steps:
        for where, text in _said(step):
            personal.update({(kind, where, True): count for kind, count in counted(text).items()})
            spoken += await asyncio.to_thread(_spoken, step, where, text)
        for one in step.hidden:
            if one not in hidden:  # most texts occur in several steps
                hidden.add(one)
                personal.update({(kind, "hidden", True): count for kind, count in counted(one.text).items()})
                spoken += await asyncio.to_thread(_spoken_hidden, step, one)
        # Text of an author is kept, because a replay needs it. It is reported so that the author knows.
        kept = Counter(kind for _, _, kind, _ in personal_data(describe(step.action)))
        personal.update({(kind, "action", False): count for kind, count in kept.items()})
        if step.snapshot and step.snapshot not in seen and len(seen) < _SNAPSHOTS_MAX:
            seen.add(step.snapshot)
            text = await _text(step, blob)
            personal.update({(kind, "text", True): count for kind, count in counted(text).items()})
            spoken += await asyncio.to_thread(_spoken, step, "text", text)
    found = (
        PersonalData(kind=kind, where=where, replaced=out, count=count)
        for (kind, where, out), count in personal.items()
    )
    return tuple(sorted(found, key=lambda one: (one.where, one.kind))), tuple(spoken[:FINDINGS_MAX])


def _said(step: Step) -> Iterator[tuple[str, str]]:
    yield "title", step.title
    yield "address", step.url
    yield "extracted", step.extracted
    for dialog in step.dialogs:
        yield "dialog", dialog.message
    for evidence in filter(None, (step.evidence, step.evidence_onto)):
        yield "evidence", "\n".join((evidence.name, evidence.label, *evidence.cells, *evidence.links))


def _spoken(step: Step, where: str, text: str) -> list[SpokenTo]:
    return [_told(step, where, one) for one in instructions_in(text)]


def _spoken_hidden(step: Step, hidden: HiddenText) -> list[SpokenTo]:
    # Judged again, because the stored session may come from another node.
    found = instructions_in(hidden.text, hidden=unseen_by_people(hidden))
    why = in_words(hidden.why, hidden.at)
    return [_told(step, "hidden", one, why) for one in found]


def _told(step: Step, where: str, one: Instruction, why: str = "") -> SpokenTo:
    return SpokenTo(
        step=step.index,
        where=where,
        line=one.line,
        rules=one.rules,
        quote=one.quote,
        hidden=one.hidden,
        why=why,
        origin=origin_of(step.url),
    )


async def _text(step: Step, blob: Callable[[bytes], Awaitable[bytes]]) -> str:
    try:
        return snapshot_text(await blob(step.snapshot)) or ""
    except MeshError:
        return ""  # a text that is missing in the store is reported elsewhere
