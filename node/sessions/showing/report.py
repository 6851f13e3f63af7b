"""Renders a recording, or a replay of it, as one HTML file without scripts or external resources.

Everything shown came from a page or a peer, so everything is escaped. The content security policy allows only the style sheet (by
its hash) and pictures inside the file.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import jinja2
import msgspec

from node.base.plain import counted
from node.live.recording import compacted, data_address
from node.sessions.showing.lines import ComparedLine, compare_lines
from node.sessions.showing.pictures import compare_pictures
from node.sessions.showing.seen import ReplaySeen, Signature
from node.sessions.showing.told import Told, ToldStep
from node.verbs.sessions.session_results import ShownSession
from protocol import ids
from protocol.capsule.policy import Policy, class_in_words, presses_in_words
from protocol.page.showing.markup import MarkupShown
from protocol.recording.records.findings import in_words, where
from protocol.recording.records.session import Session, Step
from protocol.recording.records.snapshot import snapshot_text
from protocol.recording.records.verdict import Verdict
from protocol.recording.records.verdicts import doubts
from protocol.recording.replays.call_log import PageLine
from protocol.wire.line import without_controls

_TEMPLATE: Final = "session.html.j2"
_STYLE: Final = "session.css"
_TAGS: Final = {"matched": "good", "differs": "bad", "not performed": "bad", "not reached": "warn"}


class StepRow(msgspec.Struct, frozen=True, kw_only=True):
    """One step in the file."""

    step: Step
    did: str
    status: str
    tag: str
    why: str = ""
    duration_ms: int
    recorded: bytes = b""
    """The recorded picture; empty if there is none."""
    met: bytes = b""
    marked: bytes = b""
    pictures: str = ""
    """The comparison of the two pictures, in words."""
    differences: Sequence[Any] = ()
    lines: Sequence[ComparedLine] = ()
    """The recorded text and the replay's text of the page, compared; empty if they are missing or equal."""
    call_log: Sequence[str] = ()
    page: Sequence[PageLine] = ()
    """The page at which the replay ended, or on which a recorded step failed."""
    document: MarkupShown | None = None
    """The document of that page."""
    notes: Sequence[str] = ()
    """Notes on how the step was performed in the replay."""
    console: Sequence[str] = ()
    """Errors in the console of the page."""
    refused: Sequence[str] = ()
    """Requests that the guard refused."""


def render_recording(
    shown: ShownSession,
    pictures: Mapping[bytes, bytes],
    signed: Sequence[Signature],
    *,
    made_ms: int,
    documents: Mapping[int, MarkupShown] = {},
) -> str:
    """A recording as HTML. pictures: screenshots by SHA-256; made_ms: now, since 1970. documents: as ``ReplaySeen.documents``;
    they exist only for a recording that was just made.
    """
    rows = [
        StepRow(
            step=step,
            did=did,
            status="done" if step.ok else step.error,
            tag="good" if step.ok else "bad",
            duration_ms=step.duration_ms,
            recorded=pictures.get(step.screenshot, b""),
            refused=step.blocked,
            console=step.console,
            page=_failed_page(shown, step),
            document=documents.get(step.index),
        )
        for step, did in zip(shown.steps, shown.described, strict=True)
    ]
    return render(shown.session, "Recording", shown.session.verdict, rows, signed, made_ms, reports=shown.reports)


def _failed_page(shown: ShownSession, step: Step) -> Sequence[PageLine]:
    if shown.failed is None or shown.failed.step != step.index:
        return ()
    return [PageLine(text=line, marked=False) for line in shown.failed.lines]


def render_replay(
    told: Told,
    blobs: Mapping[bytes, bytes],
    seen: ReplaySeen,
    signed: Sequence[Signature],
    *,
    made_ms: int,
) -> str:
    """A replay beside its recording as HTML. blobs: recorded screenshots and texts by SHA-256; made_ms: now, since 1970."""
    rows = [_replayed(each, blobs, seen) for each in told.steps]
    report = told.replayed.report
    # A report does not tell during which step a request was refused.
    others = Counter(report.blocked) - Counter(item for row in rows for item in row.refused)
    return render(
        told.session,
        "Replay",
        report.verdict,
        rows,
        signed,
        made_ms,
        refused=tuple(others.elements()),
        summary=told.summary,
        reasons=told.reasons,
        origin=report.origin,
    )


def _replayed(each: ToldStep, blobs: Mapping[bytes, bytes], seen: ReplaySeen) -> StepRow:
    index = each.step.index
    old, new = blobs.get(each.step.screenshot, b""), seen.pictures.get(index, b"")
    text = seen.texts.get(index)
    recorded = None if text is None else snapshot_text(blobs.get(each.step.snapshot))
    marked, words = beside(old, new)
    less = each.why if each.status == "matched" else ""
    return StepRow(
        step=each.step,
        did=each.did,
        status=f"{each.status}, {less}" if less else each.status,
        tag="warn" if less else _TAGS[each.status],
        why="" if less else each.why,
        duration_ms=each.match.duration_ms if each.match else 0,
        recorded=old,
        met=compacted(new) if new else b"",
        marked=marked,
        pictures=words,
        differences=each.differences,
        lines=() if recorded is None or text is None else compare_lines(recorded, text),
        call_log=each.call_log,
        page=seen.page.get(index, ()),
        document=seen.documents.get(index),
        console=seen.console.get(index, ()),
        notes=each.notes,
        refused=seen.refused.get(index, ()),
    )


def beside(old: bytes, new: bytes) -> tuple[bytes, str]:
    """The differences of two pictures, as a picture and in words; empty if one of them is missing or cannot be read."""
    compared = compare_pictures(old, new) if old and new else None
    if compared is None:
        return b"", ""
    share = f"{compared.per_mille / 10:.1f} % of the picture differs"
    return compared.marked, share if compared.per_mille else "the pictures are the same"


def style() -> str:
    """The style sheet that all pages share."""
    env = _environment()
    assert env.loader is not None
    return env.loader.get_source(env, _STYLE)[0]


def page_policy() -> str:
    """The content security policy of a page. It allows pictures in the page, and the style sheet by the hash of its exact text."""
    digest = base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def render(
    session: Session,
    kind: str,
    verdict: Verdict,
    rows: Sequence[StepRow],
    signed: Sequence[Signature],
    made_ms: int,
    **more: Any,
) -> str:
    """The file about ``session`` with its rows and the further values of the template."""
    given = {"summary": "", "reasons": (), "origin": "", "refused": (), "reports": ()}
    given |= {"sides": ("recorded", "met")} | more
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            session=session,
            kind=kind,
            verdict=verdict,
            rows=rows,
            signed=signed,
            made_ms=made_ms,
            policy=page_policy(),
            style=style(),
            failed=next((row for row in rows if row.tag == "bad"), None) if kind == "Replay" else None,
            **given,
        )
    )


def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("node.sessions.showing", "templates"),
        autoescape=True,
        finalize=without_controls,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        short=ids.short,
        rules=_rules,
        address=data_address,
        moment=_moment,
        duration=_duration,
        counted=counted,
        where=where,
        in_words=in_words,
        doubts=doubts,
    )
    return env


def _rules(policy: Policy) -> list[str]:
    """The limits of a login's policy, in words."""
    where = [name for name, on in (("machines", policy.cross_device), ("nodes", policy.cross_installation)) if on]
    lines = [
        f"for {policy.purpose}" if policy.purpose else "",
        f"at {', '.join(policy.origins)}",
        f"to {', '.join(policy.tasks)}",
        class_in_words(policy.class_max),
        f"{counted(policy.replays_max, 'use')}, until {_moment(policy.expires_ms)}",
        f"without word from its issuer {policy.fresh_s} s",
        f"second factor at most {policy.mfa_s} s old" if policy.mfa_s else "",
        f"on other {' and '.join(where)}" if where else "on one machine, by one node",
        "with the consent of an owner" if policy.consent else "",
        presses_in_words(probes=policy.probes),
    ]
    return [line for line in lines if line]


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%-d %B %Y, %H:%M:%S UTC")


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1_000 else f"{ms / 1_000:.1f} s"
