"""Makes small mistakes in protocol/ and node/, one at a time in a copy, and counts how many of them the tests notice.

A seeded sample of the mistakes of ``scripts/mutations.py`` is taken; the seed is the commit, so a sample is not chosen
and can be repeated. For each, the tests are run that reach the changed lines, until one fails: which they are is found by
running all tests once (``scripts/segments.py``). Those in files that import the changed file directly come first, then those
over one other and so on, the fastest first; tests with browsers or processes come only if all others have passed. What
a mistake in code that runs at import could change is not known, so there the imports alone decide.

A mistake that no test notices has *survived*; so has one that changes nothing, as nobody decides here which ones those
are, and one whose tests do not end in time.

Libraries for this (mutmut, cosmic-ray) take neither a sample nor, per mistake, the tests that reach the line.
"""

from __future__ import annotations

import argparse
import difflib
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.__main__ import commit as named_commit
from scripts.guard_table import ROOT
from scripts.imports import importers, imports
from scripts.mutant_runs import Result, Run, State, benches, judging, measure
from scripts.mutations import Mutation, mutations
from scripts.segments import Marks, Reach

RESULTS = ROOT / "benchmarks" / "results.jsonl"
METRIC, TARGET, SAMPLE = "tests.mutants_killed", 0.9, 150
MUTATED = ("protocol", "node")
_FAR = 99
"""Steps from a test file that imports the changed file over no way at all: it runs a command."""
_NEAR = 3
"""For code that runs at import: a test that imports it over more others says little about it."""
_BUDGET_S = 120.0
"""Seconds of tests for one mistake, as they take in the unmodified copy; the first test runs anyway."""
_FIRST_S, _FIRST_FILES = 4.0, 2
"""Most mistakes are noticed by the nearest tests; only then the others are loaded."""
_SLOW = ("tests/e2e/", "tests/sim/", "tests/contract/test_browser")
"""With browsers or processes."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Which mistakes are made, and how near each test file is to them."""

    room: str
    seed: int
    sample: tuple[Mutation, ...]
    near: dict[str, dict[str, int]]
    """By mutated file: test files, with the steps to it."""
    tests: dict[bool, tuple[str, ...]]
    """The test files: those with browsers or processes (True), and the others."""


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
    near = {file: importers(graph, file) for file in sorted({each.file for each in sample})}
    tests = {slow: tuple(test_files(root, slow=slow)) for slow in (False, True)}
    return Plan(room=room, seed=seed, sample=tuple(sample), near=near, tests=tests)


def test_files(root: Path, *, slow: bool) -> list[str]:
    """All files with tests, those with browsers and processes or the others."""
    found = (path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))
    return sorted(file for file in found if file.startswith(_SLOW) is slow)


def order(made: Plan, mutation: Mutation, reached: dict[str, Reach], segment: int | None) -> list[str]:
    """The tests to run for a mistake, near ones first and fast ones of those, within the budget.

    reached: what each test reaches. segment: in which the mistake stands; None if the code runs at import.
    """
    near, chosen = made.near.get(mutation.file, {}), list[tuple[int, float, str]]()
    for test, reach in reached.items():
        steps = near.get(test.partition("::")[0], _FAR)
        if steps <= _NEAR if segment is None else reach.runs(segment):
            chosen.append((steps, reach.seconds, test))
    left, taken = _BUDGET_S, list[str]()
    for _, seconds, test in sorted(chosen):
        if not taken or left >= seconds:
            taken.append(test)
            left -= seconds
    return taken


def batches(tests: Sequence[str], reached: dict[str, Reach]) -> list[Run]:
    """``tests`` in two runs: the first few files of them, and the rest."""
    seconds, files, first = 0.0, set[str](), list[str]()
    for test in tests:
        seconds += reached[test].seconds
        files.add(test.partition("::")[0])
        if first and (len(files) > _FIRST_FILES or seconds > _FIRST_S):
            break
        first.append(test)
    parts = [part for part in (first, list(tests[len(first) :])) if part]
    return [Run(tests=tuple(part), seconds=tuple(reached[test].seconds for test in part)) for part in parts]


def difference(root: Path, mutation: Mutation) -> str:
    """For people: what the mistake changes."""
    source = (root / mutation.file).read_bytes()
    before, after = source.decode().splitlines(), mutation.applied(source).decode().splitlines()
    lines = list(difflib.unified_diff(before, after, lineterm="", n=1))[3:]
    return "\n".join(f"    {line}" for line in lines)


def results(made: Plan, state: State, jobs: int, *, fast: bool = False) -> Iterator[Result]:
    """What came of each mistake, as it becomes known.

    fast: without tests with browsers or processes.
    """
    marks, pending = Marks(ROOT, MUTATED), list(made.sample)
    with benches(jobs) as bench:
        for slow in (False,) if fast else (False, True):
            if all(state.is_killed(each) for each in pending):
                yield from judging(dict.fromkeys(pending, ()), state, bench)
                return
            bad = measure(made.tests[slow], marks, state, bench)
            if bad:
                print(f"left out, as they do not pass unmodified: {', '.join(bad)}", file=sys.stderr)
            files = set(made.tests[slow])
            reached = {test: reach for test, reach in state.reached.items() if test.partition("::")[0] in files}
            runs = {each: _runs(made, each, marks, reached) for each in pending}
            pending.clear()
            for result in judging(runs, state, bench, confirm=slow):
                if result.killed or slow or fast:
                    yield result
                else:
                    pending.append(result.mutation)


def _runs(made: Plan, mutation: Mutation, marks: Marks, reached: dict[str, Reach]) -> list[Run]:
    return batches(order(made, mutation, reached, marks.number(mutation.file, mutation.line)), reached)


# --- telling ---------------------------------------------------------------------------------------------------------


def publish(value: float, revision: str) -> None:
    """Append the score to the results of the benchmarks."""
    line = {"metric": METRIC, "value": round(value, 3), "unit": "ratio", "target": TARGET, "commit": revision}
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def report(made: Plan, jobs: int, *, as_json: bool, fast: bool) -> list[Result]:
    """Judge the sample and print what came of it, survivors with their difference."""
    began_s, state, told = time.monotonic(), State(), list[Result]()
    for result in results(made, state, jobs, fast=fast):
        told.append(result)
        mutation = result.mutation
        if as_json:
            continue
        where = f"{mutation.file}:{mutation.line} ({mutation.kind})"
        if result.killed:
            print(f"killed    {where} by {result.by}, {result.seconds:g} s", flush=True)
        else:
            why = f" {result.by}" if result.by else f" {result.tests} tests passed"
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
    parser.add_argument("--fast", action="store_true", help="without tests with browsers or processes; not published")
    given = parser.parse_args()
    revision = "" if given.seed is not None else commit()
    made = plan(ROOT, given.room, int(revision, 16) if given.seed is None else given.seed, given.count)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        told = report(made, given.jobs, as_json=given.json, fast=given.fast)
    except KeyboardInterrupt:
        print("stopped; what is known is kept, the same command goes on from here", file=sys.stderr)
        return 130
    ratio = sum(result.killed for result in told) / len(told)
    if not given.room and not given.fast and len(told) == SAMPLE and revision:
        publish(ratio, named_commit())
    return 0 if ratio >= TARGET else 1


if __name__ == "__main__":
    raise SystemExit(main())
