"""Tables of cases as one test: each test costs as much as hundreds of small cases, in each process that collects it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``pytest.mark.parametrize``, in one test, which runs every row. The first failure is raised and names all rows that fail.

    For cases without a fixture that they change.
    """
    rows = list(rows)
    words = (names,) if isinstance(names, str) else names

    def table(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            assert rows, "a table without rows proves nothing"
            assert not any(hasattr(row, "marks") for row in rows), "a row of pytest.param is none of a table"
            failed: list[tuple[Any, BaseException]] = []
            for row in rows:
                values = (row,) if isinstance(names, str) else row
                try:
                    test(**fixtures, **dict(zip(words, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:  # the second: what was to be raised was not
                    failed.append((row, error))
            if failed:
                first = failed[0][1]
                first.add_note(f"{len(failed)} of {len(rows)} rows fail:")
                for row, fault in failed[:20]:
                    first.add_note(f"  {row!r:.200}: {type(fault).__name__}: {str(fault).partition(chr(10))[0]:.200}")
                raise first

        signature = inspect.signature(test)
        left = [value for name, value in signature.parameters.items() if name not in words]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  # pytest reads it
        return run

    return table
