"""Every command asks its node for what it asked before, and prints an answer as before."""

from __future__ import annotations

from node.cli import build, common, distrust, explore, keys, live, log, node, pairing, schedule, session  # noqa: F401 (held)
from tests.pinned.texts import differs


def test_commands_ask_and_print_what_they_did() -> None:
    now, kept = differs("cli.txt")
    assert now == kept
