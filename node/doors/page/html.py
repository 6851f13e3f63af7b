"""Writes values as HTML. Everything is escaped: most text comes from pages, sites and peers."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final

import jinja2
import msgspec
from markupsafe import Markup, escape

from node.base.plain import counted, plain
from node.verbs import Verb
from node.verbs.nodes.node import Status
from node.verbs.written import ShownItem, TextTable, laid_out
from protocol import ids
from protocol.wire.line import without_controls

PLACES: Final = {
    "ses": "sessions",
    "liv": "live",
    "que": "questions",
    "sea": "searches",
    "cap": "capsules",
    "sch": "schedules",
    "tas": "tasks",
}
"""The page about a thing, by the kind of its id."""
_ID: Final = re.compile(rf"\b({'|'.join(PLACES)})-[{ids.ALPHABET}]{{21}}(?![{ids.ALPHABET}])")
_CODE: Final = re.compile(r"`([^`\n]{1,200})`")
_STATES: Final = {
    "good": {"pass", "done", "valid", "active", "ok", "succeeded", "yes", "sent", "serving", "reached", "true"},
    "bad": {"fail", "failed", "cancelled", "refused", "bad", "revoked", "distrusted", "crashed", "no", "error"},
    "warn": {
        "open",
        "paused",
        "queued",
        "partial",
        "interrupted",
        "held",
        "running",
        "expired",
        "over",
        "warning",
        "unknown",
    },
}
_STATE_HEADS: Final = {"state", "status", "verdict", "standing", "outcome", "ok"}
ASSETS: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "enter.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


@functools.cache
def environment() -> jinja2.Environment:
    """The templates."""
    env = jinja2.Environment(
        loader=jinja2.PackageLoader("node.doors.page", "templates"),
        autoescape=True,
        finalize=without_controls,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(linked=linked, moment=_moment, iso=_iso, duration=_duration, counted=counted, tone=tone)
    env.filters.update(
        first_word=_first_word, caller=_caller, groupby_kind=_by_kind, in_words=in_words, attention=attention
    )
    env.globals.update(state_heads=_STATE_HEADS)
    return env


@functools.cache
def asset(name: str) -> bytes:
    """A file of ``ASSETS``."""
    return resources.files("node.doors.page").joinpath("assets", name).read_bytes()


def parts_of(verb: Verb, result: Any) -> list[Any]:
    """The parts of a result of ``verb``, for the macro ``result``."""
    return list(laid_out(verb.kinds, plain(result)))


@jinja2.pass_context
def linked(context: jinja2.runtime.Context, text: Any) -> Markup:
    """``text`` with links to the pages about the ids in it, and with words in backticks as code."""
    root = escape(context["root"])

    def link(found: re.Match[str]) -> str:
        return f'<a href="{root}{PLACES[found[1]]}/{found[0]}">{found[0]}</a>'

    # Ids and backticks have no character that escaping changes.
    safe = str(escape(without_controls(str(text))))
    return Markup(_ID.sub(link, _CODE.sub(r"<code>\1</code>", safe)))  # noqa: S704 - escaped above


def attention(status: Status) -> list[tuple[str, str]]:
    """The things about the node at which its owner should look, each with the line that shows them."""
    found = []
    if status.revoked_s:
        found.append(("This node has revoked its key: peers turn it away.", "trailmesh node status"))
    if status.log_rollback:
        found.append(("A peer holds a later state of the log of this node.", "trailmesh log audit"))
    if status.peers_frozen:
        found.append(
            (
                f"{counted(status.peers_frozen, 'peer')} cannot do anything until you have looked.",
                "trailmesh node peers",
            )
        )
    return found


def in_words(progress: str) -> str:
    """The progress of a task, which is JSON: its numbers and texts with their names. Ids of other things stay as they are."""
    try:
        found = msgspec.json.decode(progress)
    except msgspec.DecodeError:
        return progress
    if not isinstance(found, dict):
        return progress
    plain_parts = {name: value for name, value in found.items() if isinstance(value, str | int | float)}
    return " · ".join(f"{name.replace('_', ' ')} {_one(value)}" for name, value in plain_parts.items())


def _one(value: str | float) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def tone(text: str) -> str:
    """The tone of a state: ``good``, ``bad``, ``warn``, or empty."""
    word = re.split(r"[\s,(\[:]", str(text).lower(), maxsplit=1)[0]
    return next((name for name, words in _STATES.items() if word in words), "")


def _by_kind(parts: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Parts that stand beside each other and are written in one list, with their kind."""
    return [(kind, list(group)) for kind, group in itertools.groupby(parts, _kind)]


def _kind(part: ShownItem | TextTable | str) -> str:
    return "item" if isinstance(part, ShownItem) else "table" if isinstance(part, TextTable) else "line"


def _first_word(text: str) -> tuple[str, str]:
    """The first word of a state, and what follows it."""
    found = re.match(r"[^\s,:;(\[]+", text)
    return (found[0], text[found.end() :]) if found else (text, "")


def _caller(who: str) -> str:
    """A caller: the id of a node in its short form."""
    return who if ":" in who or len(who) < 40 else ids.short(who)


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%-d %b %Y, %H:%M UTC")


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _duration(ms: int) -> str:
    if ms < 1_000:
        return f"{ms} ms"
    return f"{ms / 1_000:.1f} s" if ms < 60_000 else f"{ms // 60_000} min {ms % 60_000 // 1_000} s"
