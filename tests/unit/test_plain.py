"""What people are given to read."""

from __future__ import annotations

from node.base.plain import counted
from tests.tables import each


@each(
    ("count", "nouns", "said"),
    [
        (0, ("lease",), "0 leases"),
        (1, ("lease",), "1 lease"),
        (2, ("lease",), "2 leases"),
        (1, ("branch", "branches"), "1 branch"),
        (2, ("branch", "branches"), "2 branches"),
    ],
)
def test_only_one_thing_is_singular(count: int, nouns: tuple[str, ...], said: str) -> None:
    assert counted(count, *nouns) == said
