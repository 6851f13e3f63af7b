"""Renders the HTML report of a search: one file without scripts or external resources.

Every text in it came from a page or a peer, so everything is escaped. The content security policy allows only the one style
sheet (by its hash) and pictures that are part of the file.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import jinja2
import msgspec

from node.base.plain import counted
from node.explorer.showing.tree_picture import BOX_HEIGHT, BOX_WIDTH, Picture, TreeNode, draw
from node.live.recording import data_address
from protocol import ids
from protocol.page.actions.action import describe
from protocol.recording.records.session import ReplayReport, Session, Step
from protocol.recording.replays.replay import TEXT_WORDS, differences, text_counts, text_words
from protocol.wire.line import without_controls

_TEMPLATE: Final = "report.html.j2"
_STYLE: Final = "report.css"
_LOOKED_MAX: Final = 3


class SearchCost(msgspec.Struct, frozen=True, kw_only=True):
    """The cost of the search at one node."""

    visits: int
    steps: int
    milliseconds: int
    leases: int = 0


class SearchNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node that took part in the search."""

    name: str
    id: str
    role: str
    """``coordinator``, ``worker``, ``replayer`` …"""
    spent: SearchCost | None = None
    """None for a node that did not explore."""


class SignedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One signed artefact."""

    artefact: str
    """Its subject, in words or as an id."""
    kind: str
    signer: str
    """Name of the node whose key signed it."""
    digest: bytes
    verified: bool
    """True if this node verified the signature while it made the report."""


class ShownReplay(msgspec.Struct, frozen=True, kw_only=True):
    """A replay report, with the name of its node."""

    name: str
    """Name of the replaying node."""
    report: ReplayReport
    screenshots: dict[int, bytes] = {}
    """PNG by index of the step that diverged."""


class ReportInput(msgspec.Struct, frozen=True, kw_only=True):
    """The data of a report; missing parts are left out."""

    title: str
    made_ms: int
    """Milliseconds since 1970."""
    goal: str = ""
    outcome: str = ""
    """One sentence on the result."""
    success: bool = False
    found_by: str = ""
    """Name of the node that first reached the page of the goal."""
    path: tuple[str, ...] = ()
    """The actions that lead there from the start page."""
    would_send: tuple[str, ...] = ()
    """Requests of actions that may change something; none of them left."""
    nodes: tuple[SearchNode, ...] = ()
    tree: TreeNode | None = None
    session: Session | None = None
    steps: Sequence[Step] = ()
    screenshots: dict[bytes, bytes] = {}
    """PNG by SHA-256, for the steps that refer to them."""
    replays: tuple[ShownReplay, ...] = ()
    signed: tuple[SignedRow, ...] = ()


def render_report(data: ReportInput) -> str:
    """The report as one HTML document."""
    env = _environment()
    style = _source(env, _STYLE)
    # The hash is over the exact text between the style tags.
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    peers = [node.name for node in data.nodes]
    picture: Picture | None = draw(data.tree, peers) if data.tree is not None else None
    return env.get_template(_TEMPLATE).render(
        data=data,
        policy=policy,
        style=style,
        picture=picture,
        explorers=[(node, node.spent, _looked(data.tree, node.name)) for node in data.nodes if node.spent],
        box_width=BOX_WIDTH,
        box_height=BOX_HEIGHT,
        steps=_steps(data),
        replays=_replays(data),
    )


def _environment() -> jinja2.Environment:
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("node.explorer.showing", "templates"),
        autoescape=True,
        finalize=without_controls,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        short=ids.short, moment=_moment, duration=_duration, picture=data_address, digest=_digest, counted=counted
    )
    return env


def _source(env: jinja2.Environment, name: str) -> str:
    assert env.loader is not None
    return env.loader.get_source(env, name)[0]


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%-d %B %Y, %H:%M:%S UTC")


def _duration(ms: int) -> str:
    if ms < 1_000:
        return f"{ms} ms"
    return f"{ms / 1_000:.1f} s" if ms < 60_000 else f"{ms // 60_000} min {ms % 60_000 // 1_000} s"


def _digest(data: bytes) -> str:
    return data.hex()[:16]


def _looked(tree: TreeNode | None, name: str) -> str:
    """The actions on the start page behind which the node of this name explored most."""
    shares = [(dict(child.shares).get(name, 0), child.label) for child in tree.children] if tree else []
    labels = [label for count, label in sorted(shares, key=lambda share: -share[0]) if count]
    more = len(labels) - _LOOKED_MAX
    return ", ".join(labels[:_LOOKED_MAX]) + (f" and {more} more" if more > 0 else "")


def _steps(data: ReportInput) -> list[dict[str, Any]]:
    return [
        {"step": step, "text": describe(step.action), "picture": data.screenshots.get(step.screenshot)}
        for step in data.steps
    ]


def _replays(data: ReportInput) -> list[dict[str, Any]]:
    texts = {step.index: describe(step.action) for step in data.steps}
    return [
        {
            "name": shown.name,
            "report": shown.report,
            "text": text_words(text_counts(shown.report.steps)),
            "rows": [
                {
                    "match": match,
                    "text": texts.get(match.index, ""),
                    "differs": ", ".join(differences(match)),
                    "wording": TEXT_WORDS[match.text] if match.text else "",
                    "picture": shown.screenshots.get(match.index),
                }
                for match in shown.report.steps
            ],
            "missing": len([step for step in data.steps if step.ok]) - len(shown.report.steps) if data.steps else 0,
        }
        for shown in data.replays
    ]
