"""Renders a recording, or a replay of it, as one HTML file without scripts or external resources.

Everything shown passed through a page or a peer before, so everything is escaped, and the content security policy allows the one
style sheet (by its hash) and pictures that are part of the file; nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import jinja2
import msgspec

from node.base import counted
from node.live import compacted, data_address
from node.sessions.showing.files import Signature
from node.sessions.showing.pictures import compare_pictures
from node.sessions.showing.told import Told, ToldStep
from node.verbs.session import Shown
from protocol import ids
from protocol.recording.session import Session, Step, Verdict

_TEMPLATE: Final = "session.html.j2"
_STYLE: Final = "session.css"
_TAGS: Final = {"matched": "good", "differs": "bad", "not performed": "bad", "not reached": "warn"}


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """One step of the file."""

    step: Step
    did: str
    status: str
    tag: str
    why: str = ""
    duration_ms: int
    recorded: str = ""
    """Address of the picture (``data:``); empty if there is none."""
    met: str = ""
    marked: str = ""
    pictures: str = ""
    """How the two pictures compare, in words."""
    differences: Sequence[Any] = ()


def render_recording(
    shown: Shown, pictures: Mapping[bytes, bytes], signed: Sequence[Signature], *, made_ms: int
) -> str:
    """A recording. pictures: screenshots by SHA-256; made_ms: now, since 1970."""
    rows = [
        _Row(
            step=step,
            did=did,
            status="done" if step.ok else step.error,
            tag="good" if step.ok else "bad",
            duration_ms=step.duration_ms,
            recorded=data_address(pictures.get(step.screenshot, b"")),
        )
        for step, did in zip(shown.steps, shown.described, strict=True)
    ]
    refused = [f"step {step.index}: {item}" for step in shown.steps for item in step.blocked]
    return _render(
        shown.session, "Recording", shown.session.verdict, rows, signed, made_ms, refused=refused, reports=shown.reports
    )


def render_replay(
    told: Told,
    recorded: Mapping[bytes, bytes],
    met: Mapping[int, bytes],
    signed: Sequence[Signature],
    *,
    made_ms: int,
) -> str:
    """A replay beside its recording. recorded: screenshots by SHA-256; met: by index of the step; made_ms: now, since 1970."""
    rows = [
        _replayed(each, recorded.get(each.step.screenshot, b""), met.get(each.step.index, b"")) for each in told.steps
    ]
    report = told.replayed.report
    return _render(
        told.session,
        "Replay",
        report.verdict,
        rows,
        signed,
        made_ms,
        refused=report.blocked,
        summary=told.summary,
        reasons=told.reasons,
        origin=report.origin,
    )


def _replayed(each: ToldStep, old: bytes, new: bytes) -> _Row:
    compared = compare_pictures(old, new) if old and new else None
    words = ""
    if compared is not None:
        words = (
            f"{compared.per_mille / 10:.1f} % of the picture differs"
            if compared.per_mille
            else "the pictures are the same"
        )
    return _Row(
        step=each.step,
        did=each.did,
        status=each.status,
        tag=_TAGS[each.status],
        why=each.why,
        duration_ms=each.match.duration_ms if each.match else 0,
        recorded=data_address(old),
        met=data_address(compacted(new) if new else b""),
        marked=data_address(compared.marked) if compared else "",
        pictures=words,
        differences=each.differences,
    )


def _render(
    session: Session,
    kind: str,
    verdict: Verdict,
    rows: Sequence[_Row],
    signed: Sequence[Signature],
    made_ms: int,
    **more: Any,
) -> str:
    env = _environment()
    assert env.loader is not None
    style = env.loader.get_source(env, _STYLE)[0]
    # The hash is over the exact text between the style tags.
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    given = {"summary": "", "reasons": (), "origin": "", "refused": (), "reports": ()} | more
    return env.get_template(_TEMPLATE).render(
        session=session,
        kind=kind,
        verdict=verdict,
        rows=rows,
        signed=signed,
        made_ms=made_ms,
        policy=policy,
        style=style,
        failed=next((row for row in rows if row.tag == "bad"), None) if kind == "Replay" else None,
        **given,
    )


def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("node.sessions.showing", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(short=ids.short, moment=_moment, duration=_duration, counted=counted)
    return env


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%-d %B %Y, %H:%M:%S UTC")


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1_000 else f"{ms / 1_000:.1f} s"
