"""Whole nodes answer on a made day what they answered before, and refuse what they refused."""

from __future__ import annotations

import pytest

from node.api import node  # noqa: F401 (held, with every room below it)
from tests.pinned.texts import FOLDER, TEXTS


@pytest.mark.parametrize("name", ["alone.txt", "together.txt"])
def test_nodes_answer_what_they_did(name: str) -> None:
    """If this is meant, write it with ``python -m tests.pinned`` and read the diff."""
    kept = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    assert list(TEXTS[name]()) == kept
