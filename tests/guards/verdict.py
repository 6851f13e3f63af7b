"""A pytest plugin for ``scripts/guards.py``: writes down what ran, from where, and how it failed."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import protocol

_passed: dict[str, float] = {}
_failed: list[tuple[str, str, str]] = []
_uncollected: list[str] = []


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """``error``, or the errors of a group."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the type of the exception, which a report does not keep."""
    report = yield
    if report.failed and call.excinfo is not None:
        message = str(call.excinfo.value).partition("\n")[0]
        kinds = {type(error).__name__ for error in _leaves(call.excinfo.value)}
        _failed.append((item.nodeid, ",".join(sorted(kinds)), message[:200]))
    elif report.passed and report.when == "call":
        _passed[item.nodeid] = report.duration
    return report


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A module that cannot be imported proves nothing."""
    if report.failed:
        _uncollected.append(report.nodeid)


def pytest_sessionfinish() -> None:
    """Leave the verdict where it is asked for."""
    home = Path(protocol.__file__ or "").parents[1]
    told = {"code_from": str(home), "failed": _failed, "passed": _passed, "uncollected": _uncollected}
    Path(os.environ["GUARDS_VERDICT"]).write_text(json.dumps(told))
