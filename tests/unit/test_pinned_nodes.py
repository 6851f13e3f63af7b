"""Whole nodes answer on a made day what they answered before, and refuse what they refused."""

from __future__ import annotations

from node.api import node  # noqa: F401 (held, with every room below it)
from tests.pinned.texts import differs
from tests.tables import each


@each("name", ["alone.txt", "together.txt"])
def test_nodes_answer_what_they_did(name: str) -> None:
    now, kept = differs(name)
    assert now == kept


def test_in_simulated_meshes_as_much_is_asked_stored_and_said_as_before() -> None:
    now, kept = differs("meshes.txt")
    assert now == kept
