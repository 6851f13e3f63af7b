"""Each call that redacts is known, and a test is named that notices if it is left out; `make guards` leaves them out."""

from __future__ import annotations

import ast

from scripts import redactions
from scripts.guard_table import ROOT
from scripts.guards import removed
from scripts.redactions import Call, calls_in, table
from tests.tables import each

CALLS = list(redactions.calls())
SOURCE = """
def kept(page, secrets):
    def inner():
        return redact_text(page.text, secrets)
    both = redact_text(redact_address(page.url, secrets), secrets), redact_text(page.text, secrets)
    return asyncio.to_thread(redact_snapshot, page.text, secrets), self._redacted(page)
"""


def test_every_redaction_has_a_test_that_misses_it_and_no_other_is_listed() -> None:
    """A new call belongs into tests/guards/redactions.toml; `make guards ONLY=` its function shows whether its test notices."""
    assert len(CALLS) > 50
    assert {one.label for one in CALLS} == set(table())


def test_the_tests_are_there() -> None:
    for test in sorted(set(table().values())):
        file, _, name = test.partition("[")[0].partition("::")
        tree = ast.parse((ROOT / "tests" / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}, (
            test
        )


@each("one", CALLS)
def test_it_can_be_left_out_alone(one: Call) -> None:
    source = (ROOT / one.file).read_text()
    left = removed(source, one.guard)
    ast.parse(left)
    assert len(list(calls_in(one.file, left))) < len(list(calls_in(one.file, source)))


def test_calls_are_found_wherever_they_stand() -> None:
    found = list(calls_in("node/x.py", SOURCE))
    assert [(one.name, one.call) for one in found] == [
        ("kept.inner", "redact_text(page.text, secrets)"),
        ("kept", "redact_text(redact_address(page.url, secrets), secrets)"),
        ("kept", "redact_address(page.url, secrets)"),
        ("kept", "redact_text(page.text, secrets)"),
        ("kept", "redact_snapshot"),
        ("kept", "self._redacted(page)"),
    ]
    assert "(redact_address(page.url, secrets))," in removed(SOURCE, found[1].guard)
    assert "to_thread((lambda text, *_: text), page.text" in removed(SOURCE, found[4].guard)
