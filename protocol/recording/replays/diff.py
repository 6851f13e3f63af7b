"""Compares two recordings: pairs their equal steps, and compares the pages after each pair."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from protocol.page.actions.action import Goto, describe
from protocol.recording.records.findings import Difference
from protocol.recording.records.session import Session, Step
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.replays.explaining import explain
from protocol.recording.replays.replay import Met, Rebase
from protocol.shown import shown

Status = Literal["same", "differs", "only first", "only second"]


class StepDiff(msgspec.Struct, frozen=True, kw_only=True):
    """A step of one recording, or of both."""

    first: Annotated[int, shown("first")] = 0
    """Its index in the first recording; 0 if that recording lacks it."""
    second: Annotated[int, shown("second")] = 0
    did: Annotated[str, shown("did")]
    """The action in words."""
    status: Annotated[Status, shown("status")]
    differences: Annotated[tuple[Difference, ...], shown("differences")] = ()
    """In each difference, ``recorded`` belongs to the first recording and ``met`` to the second."""


def pair_steps(first: Sequence[Step], second: Sequence[Step]) -> list[tuple[Step | None, Step | None]]:
    """Steps with the same action, in order; steps that only one recording has stand alone.

    Opened addresses are compared without their origin.
    """
    ours, theirs = ([_key(step) for step in steps] for steps in (first, second))
    pairs: list[tuple[Step | None, Step | None]] = []
    # Without autojunk, because a frequent action is as good a match as a rare one.
    for kind, a, b, c, d in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            pairs += zip(first[a:b], second[c:d], strict=True)
        else:
            pairs += [(step, None) for step in first[a:b]]
            pairs += [(None, step) for step in second[c:d]]
    return pairs


def _key(step: Step) -> str:
    """The key by which steps of two recordings are equal. It leaves out the origin, because the same flow may be recorded on two
    servers.
    """
    match step.action:
        case Goto(url=url):
            return describe(Goto(url=url[len(_origin(url)) :] or "/"))
        case action:
            return describe(action)


def between(first: Session, second: Session) -> Rebase:
    """The mapping that brings addresses of ``second`` to the origin of ``first``."""
    ours, theirs = _origin(first.start_url), _origin(second.start_url)
    return Rebase(ours, theirs) if ours and theirs else Rebase()


def diff_steps(
    old: Step | None, new: Step | None, snapshots: tuple[bytes | None, bytes | None], mapping: Rebase
) -> StepDiff:
    """The differences of the pages after two paired steps. snapshots: the stored texts of both."""
    if old is None or new is None:
        only = old or new
        assert only is not None
        return StepDiff(
            first=old.index if old else 0,
            second=new.index if new else 0,
            did=describe(only.action),
            status="only first" if old else "only second",
        )
    # A missing snapshot is no difference of the pages.
    recorded = snapshots[0] if snapshots[1] is not None else None
    found = explain(old, _met(new, snapshots[1], mapping), recorded)
    outcomes = [("done" if step.ok else f"not performed: {step.error}") for step in (old, new)]
    if outcomes[0] != outcomes[1]:
        found = (Difference(step=old.index, what="action", recorded=outcomes[0], met=outcomes[1]), *found)
    return StepDiff(
        first=old.index,
        second=new.index,
        did=describe(old.action),
        status="differs" if found else "same",
        differences=found,
    )


def _met(step: Step, snapshot: bytes | None, mapping: Rebase) -> Met:
    """``step`` in the form of a page of a replay."""
    text = mapping.text_homeward(snapshot_text(snapshot) or "")
    return Met(
        state=step.state,
        url=mapping.homeward(step.url),
        title=step.title,
        extracted=step.extracted,
        text=text,
        digest=hashlib.sha256(text.encode()).digest(),
    )


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}".lower() if parts.scheme and parts.netloc else ""
