"""The tables of numbers and codes say what the published pages say: a limit is not moved by accident."""

from __future__ import annotations

from protocol import errors, limits
from scripts.docs import PAGES, ROOT


def test_every_limit_is_the_published_one() -> None:
    assert limits.__file__
    assert PAGES["docs/protocol/limits.md"]() == (ROOT / "docs/protocol/limits.md").read_text(encoding="utf-8")


def test_every_error_code_is_the_published_one() -> None:
    assert errors.CODES
    assert PAGES["docs/errors.md"]() == (ROOT / "docs/errors.md").read_text(encoding="utf-8")
