"""Every command asks its node for what it asked before, and prints an answer as before."""

from __future__ import annotations

from node.cli.base import (
    build,  # noqa: F401 (held)
    common,  # noqa: F401 (held)
)
from node.cli.nodes import (
    distrust,  # noqa: F401 (held)
    keys,  # noqa: F401 (held)
    log,  # noqa: F401 (held)
    node,  # noqa: F401 (held)
    pairing,  # noqa: F401 (held)
)
from node.cli.searches import (
    explore,  # noqa: F401 (held)
    schedule,  # noqa: F401 (held)
)
from node.cli.sessions import (
    live,  # noqa: F401 (held)
    session,  # noqa: F401 (held)
)
from tests.pinned.texts import differs


def test_commands_ask_and_print_what_they_did() -> None:
    now, kept = differs("cli.txt")
    assert now == kept
