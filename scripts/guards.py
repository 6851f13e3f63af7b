"""Takes the guards of docs/THREATS.md out, one at a time, and demands that their tests notice.

``tests/guards/*.toml`` says for each guard where it stands, what removes it, and which test must fail then. Each removal
happens in a throw-away copy; the checkout is only read. First the unmodified copy must pass every test that is needed.
A guard is *caught* when its test was collected, ran against the copy, and failed because an assertion did not hold, or a
refusal or an end it waits for did not come. A test that breaks in another way proves nothing and counts as a failure
here, as does a removal that no longer fits the source.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests" / "guards"
PAGE = ROOT / "docs" / "THREATS.md"
NOT_BUILT = "not built yet"
COPIED = ("protocol", "adapters", "node", "tests", "scripts", "pyproject.toml")
REFUSAL_MISSING = frozenset({"AssertionError", "Failed", "TimeoutError"})
"""How a test fails that has noticed: an assertion, no error where one is expected, an end that does not come."""
_TEST_TIMEOUT_S = 90
_AT_ONCE = 2
_TABLE_LINE = re.compile(r"^\|(?!-)")
_LINK = re.compile(r"\[(\w+)\]\(\.\./tests/([\w/]+\.py)\)")


class Guard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One guard and the test that misses it."""

    file: str
    """Below the root of the project."""
    name: str
    """Function or class in it, as the page and the docstring of the test name it."""
    snippet: str
    """The guard, word for word. It stands exactly once in the file."""
    without: str = ""
    """What stands in its place once it is removed."""
    test: str
    """``unit/test_x.py::test_y``, below tests/; with ``[id]``, one case of it."""

    @property
    def function(self) -> str:
        """The test without the id of its case."""
        return self.test.partition("[")[0]

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.file}, {self.name}"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One threat of the page."""

    threat: str
    guard: str
    tests: tuple[str, ...]
    """As in ``Guard.function``."""
    built: bool = True


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one removal."""

    status: str
    """caught, SURVIVED or broken."""
    reason: str = ""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one run of pytest wrote down; see ``tests/guards/verdict.py``."""

    home: str
    """Where the code under test was imported from."""
    failed: tuple[tuple[str, str, str], ...]
    """Id of the test, type of the exception, its first line."""
    passed: dict[str, float]
    """Seconds by id."""
    uncollected: tuple[str, ...]


def table(folder: Path = TABLES) -> list[Guard]:
    """Every guard, by file of the table and place in it. Raises ``msgspec.ValidationError``."""
    return [
        guard
        for path in sorted(folder.glob("*.toml"))
        for guard in msgspec.convert(tomllib.loads(path.read_text()).get("guard", []), list[Guard])
    ]


def rows(text: str | None = None) -> list[Row]:
    """The threats of the page."""
    lines = (PAGE.read_text() if text is None else text).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if _TABLE_LINE.match(line)]
    return [
        Row(
            threat=threat,
            guard=guard,
            tests=tuple(f"{file}::test_{name}" for name, file in _LINK.findall(tests)),
            built=tests != NOT_BUILT,
        )
        for threat, guard, tests in cells
        if threat != "threat"
    ]


def removed(source: str, guard: Guard) -> str:
    """``source`` without the guard. Raises ``ValueError`` unless the snippet stands in it exactly once."""
    count = source.count(guard.snippet)
    if count != 1 or guard.snippet == guard.without:
        raise ValueError(f"{guard.label}: the snippet stands {count} times in the file: {guard.snippet[:60]!r}")
    return source.replace(guard.snippet, guard.without)


# --- running ---------------------------------------------------------------------------------------------------------


def copy_project(to: Path) -> None:
    """What the tests need, without anything that was built."""
    to.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, to / name)


def run_tests(home: Path, tests: Sequence[str], *, stop: bool) -> Outcome | str:
    """The outcome of ``tests`` in the copy at ``home``, or why there is none. stop: at the first failure."""
    told = home / "verdict.json"
    environment = os.environ | {"PYTHONPATH": str(home), "GUARDS_VERDICT": str(told)}
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.guards.verdict", f"--timeout={_TEST_TIMEOUT_S}"]
    command = [sys.executable, "-m", "pytest", *options, "--hypothesis-seed=0", *(["-x"] if stop else [])]
    done = subprocess.run(
        [*command, *(f"tests/{test}" for test in tests)],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if not told.exists():
        return (done.stdout + done.stderr)[-300:]
    return msgspec.json.decode(told.read_bytes(), type=Outcome)


def judge(home: Path, outcome: Outcome | str) -> Verdict:
    """Whether the removal was noticed, by the right kind of failure, in the copy at ``home``."""
    if isinstance(outcome, str):
        return Verdict(status="broken", reason=f"no test ran: {outcome}")
    if outcome.home != str(home):
        return Verdict(status="broken", reason=f"the code under test came from {outcome.home}")
    if outcome.uncollected:
        return Verdict(status="broken", reason=f"not collected: {outcome.uncollected[0]}")
    if not outcome.failed:
        return Verdict(status="SURVIVED" if outcome.passed else "broken", reason="" if outcome.passed else "no test")
    _, kind, message = outcome.failed[0]
    if kind not in REFUSAL_MISSING or message.startswith("Timeout"):
        return Verdict(status="broken", reason=f"{kind}: {message}")
    return Verdict(status="caught", reason=f"{kind}: {message}")


def judge_guard(base: Path, folder: Path, guard: Guard) -> Verdict:
    """Remove ``guard`` in a copy of ``base`` and run its test there."""
    home = Path(tempfile.mkdtemp(dir=folder)) / "copy"
    try:
        shutil.copytree(base, home)  # with what was compiled: only the changed file is compiled again
        changed = home / guard.file
        text = removed(changed.read_text(), guard)
        changed.unlink()
        changed.write_text(text)
        for stale in (changed.parent / "__pycache__").glob(f"{changed.stem}.*"):
            stale.unlink()
        (home / "verdict.json").unlink(missing_ok=True)
        return judge(home, run_tests(home, [guard.test], stop=True))
    except ValueError as error:
        return Verdict(status="broken", reason=str(error))
    finally:
        shutil.rmtree(home.parent)


def baseline(base: Path, tests: Sequence[str]) -> dict[str, float]:
    """Seconds by test, once each passed in the unmodified copy. Raises ``SystemExit``."""
    outcome = run_tests(base, tests, stop=False)
    if isinstance(outcome, str):
        raise SystemExit(f"the unmodified copy cannot be tested: {outcome}")
    faults = [*outcome.uncollected, *(f"{test}: {kind}: {message}" for test, kind, message in outcome.failed)]
    seconds = {
        test: sum(taken for name, taken in outcome.passed.items() if name == test or name.startswith(f"{test}["))
        for test in (f"tests/{test}" for test in tests)
    }
    faults += [f"{test}: not among the tests that passed" for test, taken in seconds.items() if not taken]
    if faults or outcome.home != str(base):
        raise SystemExit("the unmodified copy does not pass:\n  " + "\n  ".join(faults or [outcome.home]))
    return {test.removeprefix("tests/"): taken for test, taken in seconds.items()}


def verdicts(guards: Sequence[Guard]) -> Iterator[tuple[Guard, Verdict]]:
    """Each guard with what came of its removal, as it becomes known; two at a time, the slowest tests first."""
    with (
        tempfile.TemporaryDirectory(prefix="guards-") as name,
        concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        folder = Path(name).resolve()
        tests = sorted({guard.test for guard in guards})
        # One copy for each run, so that both leave what they compiled; the mutants begin from the first.
        bases = [folder / f"base{number}" for number in range(min(_AT_ONCE, len(tests)))]
        for base in bases:
            copy_project(base)
        shares = [tests[number :: len(bases)] for number in range(len(bases))]
        seconds: dict[str, float] = {}
        for taken in pool.map(baseline, bases, shares):
            seconds |= taken
        ordered = sorted(guards, key=lambda guard: -seconds[guard.test])
        running = {pool.submit(judge_guard, bases[0], folder, guard): guard for guard in ordered}
        try:
            for done in concurrent.futures.as_completed(running):
                yield running[done], done.result()
        finally:
            for left in running:
                left.cancel()


def report(guards: Sequence[Guard], *, as_json: bool) -> int:
    """Judge every guard, print what came of it; the exit code."""
    threats = {test: row.threat for row in rows() for test in row.tests}
    began, results = time.monotonic(), list[dict[str, Any]]()
    for guard, verdict in verdicts(guards):
        threat = threats.get(guard.function, "")
        results.append({"threat": threat, "guard": guard.label, "test": guard.test, **msgspec.to_builtins(verdict)})
        if not as_json:
            why = "" if verdict.status == "caught" else f"\n    {guard.test}\n    {verdict.reason}"
            print(f"{verdict.status:9}{threat} ({guard.label}){why}", flush=True)
    missed = [result for result in results if result["status"] != "caught"]
    seconds = round(time.monotonic() - began)
    if as_json:
        print(json.dumps({"guards": results, "missed": len(missed), "seconds": seconds}, indent=2))
    else:
        print(f"{len(results) - len(missed)} of {len(results)} guards are missed by their test ({seconds} s)")
    return 1 if missed or not results else 0


def main() -> int:
    """The exit code: 1 if a guard can be removed without its test noticing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="only guards whose file, name or test holds one of these texts")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    given = parser.parse_args()
    chosen = [guard for guard in table() if not given.only or any(text in f"{guard}" for text in given.only)]
    return report(chosen, as_json=given.json)


if __name__ == "__main__":
    raise SystemExit(main())
