"""A table in one test fails with each of its rows."""

from __future__ import annotations

import inspect

import pytest

from tests.tables import each


def _small(number: int, limit: int) -> None:
    assert number < limit


def test_a_table_runs_every_row_and_its_failure_names_all_rows_that_fail() -> None:
    table = each("number", [1, 7, 2, 9])(_small)
    assert list(inspect.signature(table).parameters) == ["limit"]
    table(limit=10)
    with pytest.raises(AssertionError) as caught:
        table(limit=5)
    told = "\n".join(caught.value.__notes__)
    assert "2 of 4 rows fail" in told and "  7: AssertionError" in told and "  9: AssertionError" in told
    with pytest.raises(AssertionError):
        each(("number", "limit"), [(1, 2), (2, 1)])(_small)()


def test_a_table_without_rows_fails() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        each("number", [])(_small)(limit=1)
