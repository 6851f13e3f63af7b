"""Checks that a given secret is found in every form and place in which pages repeat it."""

from __future__ import annotations

from benchmarks.registry import benchmark
from tests.carriers import leaks_of
from tests.unit.test_secret_search import MADE, VALUES

_CASES_MIN = 200


@benchmark("secrets.found", unit="leaks", target=0, direction="at most")
def found() -> float:
    """Places in which a secret is left: of each value in each form on one line, said by a site in all of ``CARRIERS``.

    Of sessions that were recorded, shown, replayed and exported there, with a browser that masks and one that does not.
    """
    cases = [(value, text) for value in VALUES for made in MADE.values() if "\n" not in (text := made(value))]
    assert len(cases) >= _CASES_MIN
    return float(sum(len(leaks_of(value, text)) for value, text in cases))
