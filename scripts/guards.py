"""Takes the guards of docs/THREATS.md out, one at a time, and demands that their tests notice.

``tests/guards/*.toml`` says for each guard where it stands, what removes it, and which test must fail then. Each removal
happens in a throw-away copy; the checkout is only read. First the unmodified copy must pass every test that is needed.
A guard is *caught* when its test was collected, ran against the copy, and failed because an assertion did not hold, or a
refusal or an end it waits for did not come. A test that breaks in another way proves nothing and counts as a failure
here, as does a removal that no longer fits the source.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scripts import redactions
from scripts.guard_table import ROOT, Guard, table

PAGE = ROOT / "docs" / "THREATS.md"
NOT_BUILT = "not built yet"
COPIED = ("protocol", "adapters", "node", "trailmesh", "tests", "scripts", "benchmarks", "pyproject.toml")
REFUSAL_MISSING = frozenset({"AssertionError", "Failed", "TimeoutError", "MemoryError"})
"""How a test fails that has noticed: an assertion, no error where one is expected, an end or a bound that does not come."""
_TESTS_RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
_TEST_TIMEOUT_S = 90
_AT_ONCE = 2
_POLL_S = 0.02
VERDICT, _OUTPUT = "verdict.json", "output.txt"
_NO_BROWSER = ("unit/", "properties/", "vectors/")
_MEMORY_BYTES_MAX = 2 << 30
"""For tests that start no browser: a removed bound on memory must not take the machine down."""
PRELOADED = (
    "aiohttp.web",
    "aiolimiter",
    "apscheduler.schedulers.asyncio",
    "automerge",
    "cbor2",
    "click",
    "cryptography.x509",
    "cryptography.hazmat.primitives.asymmetric.ed25519",
    "hypothesis.strategies",
    "jinja2",
    "nacl.pwhash",
    "nacl.secret",
    "nacl.signing",
    "numpy",
    "playwright.async_api",
    "yaml",
    "zeroconf.asyncio",
)
"""Foreign modules that take long to import: imported once, inherited by every run."""
_TABLE_LINE = re.compile(r"^\|(?!-)")
_LINK = re.compile(r"\[(\w+)\]\(\.\./tests/([\w/]+\.py)\)")


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

    code_from: str
    """Where the code under test was imported from."""
    failed: tuple[tuple[str, str, str], ...]
    """Id of the test, type of the exception (types, of a group), its first line."""
    passed: dict[str, float]
    """Seconds by id."""
    uncollected: tuple[str, ...]


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
    """``source`` without the guard. Raises ``ValueError`` unless each snippet stands in it exactly once."""
    for change in (guard, *guard.also):
        count = source.count(change.snippet)
        if count != 1 or change.snippet == change.without:
            raise ValueError(f"{guard.label}: the snippet stands {count} times in the file: {change.snippet[:60]!r}")
        source = source.replace(change.snippet, change.without)
    return source


# --- running ---------------------------------------------------------------------------------------------------------


def copy_project(to: Path) -> None:
    """What the tests need, without anything that was built."""
    to.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, to / name)


def mutate(base: Path, to: Path, guard: Guard) -> None:
    """A copy of ``base`` without the guard. Raises ``ValueError`` if the removal does not fit."""
    shutil.copytree(base, to)  # with what was compiled: only the changed file is compiled again
    changed = to / guard.file
    text = removed(changed.read_text(), guard)
    changed.unlink()
    changed.write_text(text)
    for stale in (changed.parent / "__pycache__").glob(f"{changed.stem}.*"):
        stale.unlink()
    (to / VERDICT).unlink(missing_ok=True)


def _in_child(home: Path, tests: Sequence[str], *, stop: bool, plugins: Sequence[str], test_s: float) -> int:
    """Run ``tests`` of the copy at ``home`` in this process, which was made for it; the exit code of pytest."""
    os.setsid()
    out = os.open(home / _OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.chdir(home)
    os.environ.update(PYTHONPATH=str(home), GUARDS_VERDICT=str(home / VERDICT))
    for name in [name for name in sys.modules if name.partition(".")[0] in COPIED]:
        del sys.modules[name]
    sys.path[:] = [str(home), *(path for path in sys.path if path not in ("", str(ROOT)))]
    if all(test.startswith(_NO_BROWSER) for test in tests):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES_MAX, _MEMORY_BYTES_MAX))
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.guards.verdict", f"--timeout={test_s:g}"]
    options += [option for plugin in plugins for option in ("-p", plugin)]
    # What this process has imported before, for all that come after it, needs no rewriting of its assertions.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "--hypothesis-seed=0", *(["-x"] if stop else [])]
    return int(pytest.main([*options, *(f"tests/{test}" for test in tests)]))


def start(
    home: Path, tests: Sequence[str], *, stop: bool, plugins: Sequence[str] = (), test_s: float = _TEST_TIMEOUT_S
) -> int:
    """Begin to run ``tests`` in a child of this process, in which everything but our own code is imported; its id.

    stop: at the first failure. plugins: of pytest, by module. test_s: how long one test may take.
    """
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        status = _in_child(home, tests, stop=stop, plugins=plugins, test_s=test_s)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def outcome_of(home: Path, status: int) -> Outcome | str:
    """What a child that has ended found out in the copy at ``home``, or why nothing."""
    told = home / VERDICT
    if not told.exists() or os.waitstatus_to_exitcode(status) not in _TESTS_RAN:
        return (home / _OUTPUT).read_text()[-300:].strip() or f"the process ended with {status}"
    return msgspec.json.decode(told.read_bytes(), type=Outcome)


def judge(home: Path, outcome: Outcome | str) -> Verdict:
    """Whether the removal was noticed, by the right kind of failure, in the copy at ``home``."""
    if isinstance(outcome, str):
        return Verdict(status="broken", reason=f"no test ran: {outcome}")
    if outcome.code_from != str(home):
        return Verdict(status="broken", reason=f"the code under test came from {outcome.code_from}")
    if outcome.uncollected:
        return Verdict(status="broken", reason=f"not collected: {outcome.uncollected[0]}")
    if not outcome.failed:
        return Verdict(status="SURVIVED" if outcome.passed else "broken", reason="" if outcome.passed else "no test")
    _, kind, message = outcome.failed[0]
    if not REFUSAL_MISSING.issuperset(kind.split(",")) or message.startswith("Timeout"):
        return Verdict(status="broken", reason=f"{kind}: {message}")
    return Verdict(status="caught", reason=f"{kind}: {message}")


def durations(base: Path, tests: Sequence[str], outcome: Outcome | str) -> dict[str, float]:
    """Seconds by test, once each passed in the unmodified copy. Raises ``SystemExit``."""
    if isinstance(outcome, str):
        raise SystemExit(f"the unmodified copy cannot be tested: {outcome}")
    faults = [*outcome.uncollected, *(f"{test}: {kind}: {message}" for test, kind, message in outcome.failed)]
    seconds = {
        test: sum(taken for name, taken in outcome.passed.items() if f"{name}[".startswith(f"tests/{test}["))
        for test in tests
    }
    for test in tests:
        if test.endswith("]"):
            seconds[test] = outcome.passed.get(f"tests/{test}", 0)
    faults += [f"{test}: not among the tests that passed" for test, taken in seconds.items() if not taken]
    if faults or outcome.code_from != str(base):
        raise SystemExit("the unmodified copy does not pass:\n  " + "\n  ".join(faults or [outcome.code_from]))
    return seconds


class Running(msgspec.Struct, frozen=True):
    """One child."""

    home: Path
    guard: Guard | None = None
    tests: tuple[str, ...] = ()


def verdicts(guards: Sequence[Guard]) -> Iterator[tuple[Guard, Verdict]]:
    """Each guard with what came of its removal, as it becomes known; two at a time, the slowest tests first."""
    for name in PRELOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="guards-") as name:
        folder = Path(name).resolve()
        children: dict[int, Running] = {}
        try:
            seconds, base = _baseline(folder, sorted({guard.test for guard in guards}), children)
            left = sorted(guards, key=lambda guard: seconds[guard.test])
            number = 0
            while left or children:
                while left and len(children) < _AT_ONCE:
                    guard, number = left.pop(), number + 1
                    home = folder / f"mutant{number}"
                    try:
                        mutate(base, home, guard)
                    except ValueError as error:
                        yield guard, Verdict(status="broken", reason=str(error))
                        continue
                    children[start(home, [guard.test], stop=True)] = Running(home, guard)
                if children:
                    ended, status = _next_end(children)
                    assert ended.guard is not None
                    yield ended.guard, judge(ended.home, outcome_of(ended.home, status))
                    shutil.rmtree(ended.home)
        finally:
            for child in children:
                end_group(child)
                os.waitpid(child, 0)


def _baseline(folder: Path, tests: Sequence[str], children: dict[int, Running]) -> tuple[dict[str, float], Path]:
    """Seconds by test, each run once in an unmodified copy; and such a copy, compiled. Raises ``SystemExit``."""
    for number in range(_AT_ONCE):
        base, share = folder / f"base{number}", tuple(tests[number::_AT_ONCE])
        copy_project(base)
        if share:
            children[start(base, share, stop=False)] = Running(base, None, share)
    seconds: dict[str, float] = {}
    while children:
        ended, status = _next_end(children)
        seconds |= durations(ended.home, ended.tests, outcome_of(ended.home, status))
    return seconds, folder / "base0"


def _next_end(children: dict[int, Running]) -> tuple[Running, int]:
    """Wait until one of ``children`` has ended; what it was, and its status."""
    while True:
        for child in children:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                end_group(child)
                return children.pop(child), status
        time.sleep(_POLL_S)


def end_group(child: int) -> None:
    """End whatever a child has left behind."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


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
        print(f"{len(results) - len(missed)} of {len(results)} removals were noticed ({seconds} s)")
    return 1 if missed or not results else 0


def main() -> int:
    """The exit code: 1 if a guard can be removed without its test noticing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="only guards whose file, name or test holds one of these texts")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    parser.add_argument("--third", type=int, choices=range(3), help="only every third guard, beginning with this one")
    given = parser.parse_args()
    every = [*table(), *redactions.guards()]
    chosen = [guard for guard in every if not given.only or any(text in f"{guard}" for text in given.only)]
    if given.third is not None:
        chosen = chosen[given.third :: 3]
    return report(chosen, as_json=given.json)


if __name__ == "__main__":
    raise SystemExit(main())
