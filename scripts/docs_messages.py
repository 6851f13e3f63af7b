"""Writes ``docs/protocol/messages.md`` from ``protocol/messages.py`` and ``protocol/routes.py``: routes, records, their bounds."""

from __future__ import annotations

from typing import get_args

import msgspec

from protocol import messages
from protocol.keys.key_event import Genesis, Recover, Revoke, Rotate
from protocol.limits import KIB
from protocol.log.witness_log import Opening
from protocol.page.actions.action import Action
from protocol.recording.records.session import ReplayReport, Session, Step
from protocol.routes import ROUTES
from protocol.search.delta import Delta
from protocol.search.entry import LeaseEntry, NodeEntry
from protocol.wire.frames import AnswerFrame, CallFrame
from scripts.docs_records import link, tables, with_inner

_ELSEWHERE: dict[str, tuple[str, tuple[type[msgspec.Struct], ...]]] = {
    "Actions": (
        "An action is one of these, told by `type`. In a step of a recording, in the `prefix` and `claim` of a lease and in\n"
        "[deltas](deltas.md); as a byte string it is the CBOR of its one encoding, every default left out.",
        get_args(Action),
    ),
    "Key events": ("The statements of a [key log](keylog.md), told by `op`.", (Genesis, Rotate, Recover, Revoke)),
    "Other artefacts": (
        "Payloads of the [witness log](witness-log.md), of [deltas](deltas.md) with the values of their maps, and of what a\n"
        "[bundle](bundle.md) holds; a [replay report](replay.md) is an artefact of kind `replay-report`.",
        (Opening, Delta, NodeEntry, LeaseEntry, Session, Step, ReplayReport),
    ),
    "Frames": ("What travels over a [held connection](reach.md).", (CallFrame, AnswerFrame)),
}
"""Records of other pages, written here with the same bounds: title, what they are, records."""

_ID_WORDS = {"node": "node", "sea": "search", "lea": "lease", "ses": "session", "rep": "report"}

_INTRODUCTION = """\
# Messages

A request is `POST /peer/v1/<route>` with a message envelope ([envelope](envelope.md)) as body; the answer's body is the
bare record, since the channel says whose it is. A refusal is an error record with its code ([channel](channel.md),
[errors](../errors.md)). Vectors: `tests/vectors/messages.json`.

Records are strict CBOR maps ([cbor](cbor.md)) with text keys: the names of the fields. A field with a default may be left
out; any other is required. A field that is not listed is refused, as is a value outside of its bounds, or an
[id](ids.md) that is not in its canonical form or whose check digits do not fit: `message.invalid`. A request is no
larger, in its envelope, than its route takes: `input.too_large`. What is signed within a record is an artefact envelope
and travels as a byte string.
"""


def messages_page(notice: str) -> str:
    """The page, below ``notice``."""
    lines = [
        notice,
        _INTRODUCTION,
        "## Routes",
        "",
        "| route | scope of the caller | request | largest, KiB | answer |",
        "|---|---|---|---|---|",
    ]
    for name, route in ROUTES.items():
        scope = f"`{route.scope}`" if route.scope else "any peer"
        lines.append(
            f"| `{name}` | {scope} | {link(route.request)} | {route.bytes_max // KIB} | {link(route.answer)} |"
        )
    made = [value for value in vars(messages).values() if isinstance(value, type) and issubclass(value, msgspec.Struct)]
    written = with_inner([record for record in made if not record.__name__.startswith("_")])
    lines += ["", "## Records", *tables(written)]
    for title, (text, records) in _ELSEWHERE.items():
        new = [record for record in with_inner(records) if record not in written]
        lines += ["", f"## {title}", "", text, *tables(new)]
        written += new
    return "\n".join(lines) + "\n"
