"""The tables of numbers, codes, verbs, commands and messages say what the published pages say: none is changed by accident."""

from __future__ import annotations

import node.verbs as declared
from node.base import statuses
from node.cli import main  # noqa: F401 (held, as are the others)
from node.verbs import caller, catalogue, rows, verb  # noqa: F401
from node.verbs.live import live as live_verbs  # noqa: F401
from node.verbs.nodes import node as node_verbs  # noqa: F401
from node.verbs.searches import explore as explore_verbs  # noqa: F401
from node.verbs.sessions import session as session_verbs  # noqa: F401
from protocol import errors, limits, messages
from scripts.docs import PAGES, ROOT
from tests.tables import each

assert all((declared, statuses, errors, limits, messages))


def _is_published(page: str) -> None:
    assert PAGES[page]() == (ROOT / page).read_text(encoding="utf-8")


def test_limits_are_the_published_ones() -> None:
    _is_published("docs/protocol/limits.md")


def test_error_codes_are_the_published_ones() -> None:
    _is_published("docs/errors.md")


def test_messages_are_the_published_ones() -> None:
    _is_published("docs/protocol/messages.md")


@each("page", ["docs/cli.md", "docs/verbs.md"])
def test_commands_and_verbs_are_the_published_ones(page: str) -> None:
    _is_published(page)
