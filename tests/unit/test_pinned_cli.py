"""Every command asks its node for what it asked before, and prints an answer as before."""

from __future__ import annotations

from node.cli import build, common, distrust, explore, keys, live, log, node, pairing, schedule, session  # noqa: F401 (held)
from tests.pinned.texts import FOLDER, TEXTS


def test_commands_ask_and_print_what_they_did() -> None:
    """If this is meant, write it with ``python -m tests.pinned`` and read the diff."""
    kept = (FOLDER / "cli.txt").read_text(encoding="utf-8").splitlines()
    assert list(TEXTS["cli.txt"]()) == kept
