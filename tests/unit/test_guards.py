"""The threat page, the table of guards and the tests hold together; `make guards` then takes the guards out."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import guards
from scripts.guard_table import ROOT, Change, Guard, table
from scripts.guards import Outcome, Row, Verdict, durations, judge, removed, rows
from tests.tables import each

GUARDS, ROWS = table(), rows()
BY_TEST = {guard.function: [other for other in GUARDS if other.function == guard.function] for guard in GUARDS}
_NAMED = re.compile(r"Guard: ([\w/]+\.py, [\w.]*\w)")
SAMPLE = Guard(file="a.py", name="f", snippet="if x:", without="if False:", test="unit/test_a.py::test_b")


def _docstring(test: str) -> str:
    """The docstring of a test, white space folded. Raises ``KeyError`` if there is no such test."""
    file, _, name = test.partition("::")
    return " ".join(_docstrings(file)[name].split())


@functools.cache
def _docstrings(file: str) -> dict[str, str]:
    tree = ast.parse((ROOT / "tests" / file).read_text())
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {node.name: ast.get_docstring(node) or "" for node in functions}


@each("guard", GUARDS)
def test_a_guard_can_be_removed_and_its_test_says_what_it_guards(guard: Guard) -> None:
    """If a snippet no longer fits, the guard was changed: look whether it still guards, then mend tests/guards."""
    ast.parse(removed((ROOT / guard.file).read_text(), guard))
    assert f"Guard: {guard.label}" in _docstring(guard.function), f"say “Guard: {guard.label}.” in its docstring"


@each("row", ROWS)
def test_every_threat_has_a_guard_that_is_taken_out(row: Row) -> None:
    if not row.built:
        return
    assert row.tests, "link a test, or write: not built yet"
    for test in row.tests:
        for guard in BY_TEST[test]:
            assert f"`{guard.name}`" in row.guard
            assert f"`{guard.file}`" in row.guard


def test_a_docstring_names_no_guard_that_is_not_taken_out() -> None:
    named = {
        f"{path.relative_to(ROOT / 'tests')}::{node.name}: {label}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for label in _NAMED.findall(ast.get_docstring(node) or "")
    }
    assert named == {f"{guard.function}: {guard.label}" for guard in GUARDS}


def test_every_guard_stands_against_a_threat_of_the_page() -> None:
    linked = {test for row in ROWS for test in row.tests}
    assert set(BY_TEST) - linked == set()
    assert len({row.threat for row in ROWS}) == len(ROWS)


# --- the runner ------------------------------------------------------------------------------------------------------


def test_a_snippet_that_does_not_stand_exactly_once_is_refused() -> None:
    assert removed("if x: y", SAMPLE) == "if False: y"
    for source in ("", "if x: y\nif x: z"):
        with pytest.raises(ValueError, match=r"stands \d times"):
            removed(source, SAMPLE)


def test_a_guard_in_two_places_is_removed_from_both() -> None:
    both = Guard(file="a.py", name="f", snippet="a", without="1", test="t", also=(Change(snippet="b", without="2"),))
    assert removed("a b", both) == "1 2"
    with pytest.raises(ValueError, match="stands 0 times"):
        removed("a", both)


def _outcome(home: Path, **fields: object) -> Outcome:
    given: dict[str, object] = {"failed": (), "passed": {}, "uncollected": (), "code_from": str(home)}
    return Outcome(**(given | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"failed": (("t", "AssertionError", "assert 1 == 2"),)}, "caught"),
        ({"failed": (("t", "Failed", "DID NOT RAISE"),)}, "caught"),
        ({"failed": (("t", "Failed", "Timeout (>90.0s) from pytest-timeout."),)}, "broken"),
        ({"failed": (("t", "AssertionError,NameError", "2 sub-exceptions"),)}, "broken"),
        ({"failed": (("t", "ImportError", "no such name"),)}, "broken"),
        ({"uncollected": ("tests/unit/test_a.py",)}, "broken"),
        ({"passed": {"t": 0.1}}, "SURVIVED"),
        ({}, "broken"),
        ({"code_from": "/elsewhere", "failed": (("t", "AssertionError", ""),)}, "broken"),
    ],
)
def test_only_a_missing_refusal_counts_as_caught(tmp_path: Path, fields: dict[str, object], status: str) -> None:
    assert judge(tmp_path, _outcome(tmp_path, **fields)).status == status


def test_a_run_without_an_outcome_is_broken(tmp_path: Path) -> None:
    assert judge(tmp_path, "usage error").status == "broken"


def test_the_unmodified_copy_must_pass_every_test_that_is_needed(tmp_path: Path) -> None:
    passed = {"tests/u.py::test_a": 0.5, "tests/u.py::test_b[x]": 0.25, "tests/u.py::test_b[y]": 0.25}
    assert durations(tmp_path, ["u.py::test_a", "u.py::test_b"], _outcome(tmp_path, passed=passed)) == {
        "u.py::test_a": 0.5,
        "u.py::test_b": 0.5,
    }
    for outcome in (
        _outcome(tmp_path, passed={"tests/u.py::test_b[x]": 0.5}),
        _outcome(tmp_path, passed=passed, failed=(("tests/u.py::test_b[z]", "AssertionError", ""),)),
        _outcome(tmp_path, passed=passed, code_from="/elsewhere"),
        "usage error",
    ):
        with pytest.raises(SystemExit):
            durations(tmp_path, ["u.py::test_a"], outcome)


def test_one_guard_is_taken_out_of_a_copy_and_its_test_notices() -> None:
    """The whole way, with one real guard; the checkout is left as it was."""
    before = (ROOT / "protocol/wire/envelope.py").read_bytes()
    command = [sys.executable, "-m", "scripts.guards", "--json", "test_a_message_is_accepted_once"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert [guard["status"] for guard in told["guards"]] == ["caught"], told
    assert (done.returncode, told["missed"], (ROOT / "protocol/wire/envelope.py").read_bytes()) == (0, 0, before)


@pytest.mark.parametrize(("status", "code"), [("caught", 0), ("SURVIVED", 1), ("broken", 1)])
def test_the_exit_code_tells_whether_a_guard_was_not_missed(
    status: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guards, "verdicts", lambda chosen: iter([(SAMPLE, Verdict(status=status))]))
    assert guards.report([SAMPLE], as_json=False) == code
    assert status in capsys.readouterr().out
