"""Makes small mistakes in protocol/ and node/, one at a time in a copy, and counts how many of them the tests notice.

A seeded sample of the mistakes of ``scripts/mutations.py`` is taken; the seed is the commit, so a sample is not chosen
and can be repeated. For each, the test files that import the changed file are run until one fails: those that import it
directly first, then over one or two others, the fastest first. Which they are is read from the source by path, so files
may move. First all of them must pass in the unmodified copy. A mistake that no test notices has *survived*; so has one
that changes nothing, as nobody decides here which ones those are, and one whose tests do not end in time.

Libraries for this (mutmut, cosmic-ray) take neither a sample nor, per mistake, the tests that import the file.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.__main__ import commit as named_commit
from scripts import guards
from scripts.imports import importers, imports
from scripts.mutations import Mutation, mutations

ROOT = guards.ROOT
RESULTS = ROOT / "benchmarks" / "results.jsonl"
STATE = ROOT / "build" / "mutants"
METRIC, TARGET, SAMPLE = "tests.mutants_killed", 0.9, 150
MUTATED = ("protocol", "node")
_STEPS_MAX = 3
"""A test that reaches a file over more others than this says little about it."""
_BUDGET_S = 60.0
"""Seconds of tests for one mistake, as they take in the unmodified copy; the first test file runs anyway."""
_PATIENCE = 4.0
"""A mistake may make its tests so much slower before they are ended."""
_HANGING_S = 150.0
"""And by this, within which pytest ends a test that hangs."""
_SLOW = ("tests/e2e/", "tests/sim/", "tests/contract/test_browser")
"""With browsers or processes: only those that import the file directly, and only if hardly any other test does."""
_FAST_MIN = 3
_FAILS = -1.0
"""In place of the seconds of a test file that does not pass by itself."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one mistake."""

    mutation: Mutation
    killed: bool
    by: str = ""
    """The test that failed, or why there was no answer."""
    tests: int = 0
    """Files of tests that were chosen."""
    seconds: float = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Which mistakes are made, and what tests each of them."""

    room: str
    seed: int
    sample: tuple[Mutation, ...]
    tests: dict[str, dict[str, int]]
    """By mutated file: test files below tests/, with the steps to it."""


def commit() -> str:
    """The checked-out commit, in full. Raises ``SystemExit`` outside of git."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=False)
    if found.returncode:
        raise SystemExit("no commit to take the seed from: give one with --seed")
    return found.stdout.strip()


def fits(file: str, room: str) -> bool:
    """Whether ``file`` is ``room``, or below a folder of that path or name."""
    room = room.strip("/")
    return not room or f"/{room}/" in f"/{file}/" or file.removesuffix(".py").endswith(f"/{room}")


def plan(root: Path, room: str, seed: int, count: int) -> Plan:
    """The sample: ``count`` mistakes in ``room``, or all there are. Raises ``SystemExit`` for a room without any."""
    files = sorted(path.relative_to(root).as_posix() for top in MUTATED for path in (root / top).rglob("*.py"))
    found = [each for file in files if fits(file, room) for each in mutations(file, (root / file).read_bytes())]
    if not found:
        raise SystemExit(f"nothing to change in {room!r}: give a path or the name of a folder or file of {MUTATED}")
    sample = random.Random(seed).sample(found, min(count, len(found)))  # noqa: S311 (meant to be repeated)
    graph = imports(root)
    tests = {file: _chosen(importers(graph, file)) for file in {each.file for each in sample}}
    return Plan(room=room, seed=seed, sample=tuple(sample), tests=tests)


def _chosen(reached: dict[str, int]) -> dict[str, int]:
    """The tests that count, below tests/: those that are near, and slow ones where there are few others."""
    fast = {file for file, steps in reached.items() if steps <= _STEPS_MAX and not file.startswith(_SLOW)}
    slow = {file for file, steps in reached.items() if steps == 1 and file.startswith(_SLOW)}
    return {file.removeprefix("tests/"): reached[file] for file in (fast if len(fast) >= _FAST_MIN else fast | slow)}


def order(tests: dict[str, int], seconds: dict[str, float]) -> list[str]:
    """The test files to run, near ones first and fast ones of those, within the budget; none that fails by itself."""
    left, taken = _BUDGET_S, list[str]()
    passing = (file for file in tests if seconds.get(file, _FAILS) != _FAILS)
    for file in sorted(passing, key=lambda file: (tests[file], seconds[file], file)):
        if not taken or left >= seconds[file]:
            taken.append(file)
            left -= seconds[file]
    return taken


def difference(root: Path, mutation: Mutation) -> str:
    """For people: what the mistake changes."""
    source = (root / mutation.file).read_bytes()
    before, after = source.decode().splitlines(), mutation.applied(source).decode().splitlines()
    lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[3:]
    return "\n".join(f"    {line}" for line in lines)


# --- running ---------------------------------------------------------------------------------------------------------


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a run as soon as it is known."""

    result: Result | None = None
    test: str = ""
    seconds: float = _FAILS


class State:
    """Results that are kept from one run to the next, for one sample over one state of the files."""

    def __init__(self, made: Plan, folder: Path = STATE) -> None:
        digest = hashlib.sha256(f"{made.room} {made.seed} {len(made.sample)}".encode())
        for name in sorted(guards.COPIED):
            for path in sorted((ROOT / name).rglob("*.py")) if (ROOT / name).is_dir() else [ROOT / name]:
                digest.update(hashlib.sha256(path.read_bytes()).digest())
        self._path = folder / f"{digest.hexdigest()[:16]}.jsonl"
        self.seconds: dict[str, float] = {}
        """By test file that was run in the unmodified copy."""
        self.results: dict[Mutation, Result] = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self._path.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # the last line of a run that was cut off
                    self._take(msgspec.json.decode(line, type=Line))

    def _take(self, line: Line) -> None:
        if line.result is not None:
            self.results[line.result.mutation] = line.result
        else:
            self.seconds[line.test] = line.seconds

    def keep(self, line: Line) -> None:
        """Remember it beyond this run."""
        self._take(line)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """One run of pytest in a process of its own."""

    pid: int
    home: Path
    tests: tuple[str, ...]
    began_s: float
    ends_s: float
    mutation: Mutation | None = None


class Bench:
    """As many copies of the project as tests run at once; each is used again and again."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self._free = [folder / f"copy{number}" for number in range(jobs)]
        self._children: list[Child] = []
        guards.copy_project(self._free[0])
        for home in self._free[1:]:
            shutil.copytree(self._free[0], home)

    @property
    def busy(self) -> bool:
        """Whether tests are running."""
        return bool(self._children)

    @property
    def has_room(self) -> bool:
        """Whether another run can begin."""
        return bool(self._free)

    def begin(self, tests: Sequence[str], within_s: float, mutation: Mutation | None = None) -> None:
        """Run ``tests`` in a free copy, with ``mutation`` made in it."""
        home, now_s = self._free.pop(), time.monotonic()
        if mutation is not None:
            _write(home / mutation.file, mutation.applied((ROOT / mutation.file).read_bytes()))
        (home / guards.VERDICT).unlink(missing_ok=True)
        pid = guards.start(home, tests, stop=mutation is not None)
        self._children.append(
            Child(pid=pid, home=home, tests=tuple(tests), began_s=now_s, ends_s=now_s + within_s, mutation=mutation)
        )

    def wait(self) -> tuple[Child, int | None]:
        """The next run that ends, and the exit code of its pytest; None if it was out of time. Its copy is as before."""
        while True:
            for child in self._children:
                ended, status = os.waitpid(child.pid, os.WNOHANG)
                late = not ended and time.monotonic() > child.ends_s
                if ended or late:
                    self._end(child, reap=late)
                    return child, None if late else os.waitstatus_to_exitcode(status)
            time.sleep(0.02)

    def _end(self, child: Child, *, reap: bool) -> None:
        self._children.remove(child)
        guards.end_group(child.pid)
        if reap:
            os.waitpid(child.pid, 0)
        if child.mutation is not None:
            _write(child.home / child.mutation.file, (ROOT / child.mutation.file).read_bytes())
        self._free.append(child.home)

    def close(self) -> None:
        """End whatever still runs."""
        for child in list(self._children):
            self._end(child, reap=True)


def _write(file: Path, source: bytes) -> None:
    """Also forget what was compiled of it: a change within a second and of the same length looks like none."""
    file.write_bytes(source)
    for stale in (file.parent / "__pycache__").glob(f"{file.stem}.*"):
        stale.unlink()


def measure(bench: Bench, files: Sequence[str], state: State) -> list[str]:
    """Run ``files`` in the unmodified copies and keep how long each took; those that do not pass there by themselves."""
    left = [file for file in files if file not in state.seconds]
    while left or bench.busy:
        while left and bench.has_room:
            bench.begin([left.pop()], 600)
        child, code = bench.wait()
        seconds = round(time.monotonic() - child.began_s, 2) if code == pytest.ExitCode.OK else _FAILS
        state.keep(Line(test=child.tests[0], seconds=seconds))
    return [file for file in files if state.seconds[file] == _FAILS]


def judged(child: Child, code: int | None) -> Result:
    """Killed by a test that fails, or by the end of the program; not by anything that says nothing of the mistake."""
    assert child.mutation is not None
    by = "the tests did not end in time"
    if code is not None:
        outcome = guards.outcome_of(child.home, code << 8 if code >= 0 else -code)
        if isinstance(outcome, str):
            by = f"the process ended: {outcome.splitlines()[-1][:200] if outcome else code}"
        else:
            by = outcome.failed[0][0] if outcome.failed else next(iter(outcome.uncollected), "")
    # 1: a test failed. 2: a test file could not be imported. A crash by a signal is noticed as well.
    killed = code is not None and (code in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED) or code < 0)
    return Result(
        mutation=child.mutation,
        killed=killed,
        by=by,
        tests=len(child.tests),
        seconds=round(time.monotonic() - child.began_s, 1),
    )


def results(made: Plan, state: State, jobs: int) -> Iterator[Result]:
    """What came of each mistake, as it becomes known; those of an earlier run first. Raises ``SystemExit``."""
    yield from (state.results[each] for each in made.sample if each in state.results)
    pending = [each for each in made.sample if each not in state.results]
    if not pending:
        return
    for name in guards.PRELOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        bench = Bench(Path(folder).resolve(), jobs)
        try:
            needed = sorted({test for each in pending for test in made.tests[each.file]})
            bad = measure(bench, needed, state)
            if bad:
                print(f"left out, as they do not pass unmodified: {', '.join(bad)}", file=sys.stderr)
            while pending or bench.busy:
                while pending and bench.has_room:
                    each = pending.pop(0)
                    tests = order(made.tests[each.file], state.seconds)
                    if tests:
                        within_s = _HANGING_S + _PATIENCE * sum(state.seconds[test] for test in tests)
                        bench.begin(tests, within_s, each)
                    else:
                        yield _kept(state, Result(mutation=each, killed=False, by="no test imports the file"))
                if bench.busy:
                    yield _kept(state, judged(*bench.wait()))
        finally:
            bench.close()


def _kept(state: State, result: Result) -> Result:
    state.keep(Line(result=result))
    return result


# --- telling ---------------------------------------------------------------------------------------------------------


def publish(value: float, revision: str) -> None:
    """Append the score to the results of the benchmarks."""
    line = {"metric": METRIC, "value": round(value, 3), "unit": "ratio", "target": TARGET, "commit": revision}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def report(made: Plan, jobs: int, *, as_json: bool) -> list[Result]:
    """Judge the sample and print what came of it, survivors with their difference."""
    began_s, state, told = time.monotonic(), State(made), list[Result]()
    for result in results(made, state, jobs):
        told.append(result)
        mutation = result.mutation
        if as_json:
            continue
        where = f"{mutation.file}:{mutation.line} ({mutation.kind})"
        if result.killed:
            print(f"killed    {where} by {result.by}, {result.seconds:g} s", flush=True)
        else:
            why = f" {result.by}" if result.by else f" {result.tests} test files passed"
            print(f"SURVIVED  {where}:{why}\n{difference(ROOT, mutation)}", flush=True)
    killed, seconds = sum(result.killed for result in told), round(time.monotonic() - began_s)
    if as_json:
        print(json.dumps(_document(made, told, killed, seconds), indent=2))
    else:
        print(
            f"{killed} of {len(told)} mistakes were noticed ({killed / len(told):.3f}; seed {made.seed}; {seconds} s)"
        )
    return told


def _document(made: Plan, told: Sequence[Result], killed: int, seconds: int) -> dict[str, Any]:
    survivors = [
        {**msgspec.to_builtins(each.mutation), "why": each.by, "diff": difference(ROOT, each.mutation)}
        for each in told
        if not each.killed
    ]
    score = {"killed": killed, "of": len(told), "ratio": round(killed / len(told), 3)}
    return {"room": made.room, "seed": made.seed, **score, "seconds": seconds, "survivors": survivors}


def main() -> int:
    """The exit code: 1 if fewer than the target were noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "room", nargs="?", default="", help="a path, or the name of a folder or file; everything if none"
    )
    parser.add_argument("--count", type=int, default=SAMPLE, help=f"how many mistakes (default: {SAMPLE})")
    parser.add_argument("--seed", type=int, help="instead of the one that follows from the commit")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (default: 2)")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    given = parser.parse_args()
    revision = "" if given.seed is not None else commit()
    made = plan(ROOT, given.room, int(revision, 16) if given.seed is None else given.seed, given.count)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        told = report(made, given.jobs, as_json=given.json)
    except KeyboardInterrupt:
        print("stopped; what is known is kept, the same command goes on from here", file=sys.stderr)
        return 130
    ratio = sum(result.killed for result in told) / len(told)
    if not given.room and len(told) == SAMPLE and revision:
        publish(ratio, named_commit())
    return 0 if ratio >= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
