"""Decoders, risk classes and readers of recordings answer made input as they did."""

from __future__ import annotations

from node.sessions.actions import action_files  # noqa: F401 (held, as are the others)
from node.sessions.importing import (
    devtools_keys,  # noqa: F401 (held, as are the others)
    devtools_recording,  # noqa: F401 (held, as are the others)
)
from protocol.recording.records import (
    bundle,  # noqa: F401
    flat_zip,  # noqa: F401
)
from protocol.risk import graphql  # noqa: F401
from protocol.search import chunk, delta, entry  # noqa: F401
from protocol.wire import address, cbor, envelope  # noqa: F401
from tests.pinned.texts import differs


def test_decoders_accept_and_refuse_what_they_did() -> None:
    now, kept = differs("decoders.txt")
    assert now == kept


def test_controls_and_requests_are_as_risky_as_before() -> None:
    now, kept = differs("risk.txt")
    assert now == kept


def test_recordings_become_the_actions_that_they_became() -> None:
    now, kept = differs("recordings.txt")
    assert now == kept
