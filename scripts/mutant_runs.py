"""Runs tests in copies of the project, for ``scripts/mutants.py``: once as it is, then with a mistake; keeps what came of it."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from scripts import guards, reached
from scripts.guard_table import ROOT
from scripts.imports import imports
from scripts.mutations import Mutation
from scripts.segments import Marks, Reach, read

STATE = ROOT / "build" / "mutants"
_CODE = ("protocol", "adapters", "node", "tests/conftest.py", "pyproject.toml")
"""What a result depends on, besides the tests that gave it and what they import."""
_NOT_COPIED = frozenset({"build", "demo-out"})
_TEST_S, _PATIENCE = 20.0, 5.0
"""A test with a mistake may take so long, and so many times as long as without it."""
_GRACE_S = 60.0
"""Over all tests of a run, until their process is ended."""
_MEASURED_S = 900.0
_RAN = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
_NOTICED = (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)
"""A test failed, a file of tests could not be imported, or a test that there was is not in it any more."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Tests that run in one process."""

    tests: tuple[str, ...]
    seconds: tuple[float, ...]
    """Of each, in the unmodified copy."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one mistake."""

    mutation: Mutation
    killed: bool
    by: str = ""
    """The test that failed, or why there was no answer."""
    tests: int = 0
    """That were chosen."""
    seconds: float = 0.0


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a run as soon as it is known."""

    result: Result | None = None
    file: str = ""
    """A file of tests that was run in the unmodified copy …"""
    reached: dict[str, Reach] = {}
    """… what each of its tests reached …"""
    failed: tuple[str, ...] = ()
    """… and which of them do not pass there."""
    digest: str = ""
    """Of what it depends on: the tests and what they import of tests/."""


def digest_of(files: Sequence[str]) -> str:
    """Of the contents of these files."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.encode() + hashlib.sha256((ROOT / file).read_bytes()).digest())
    return digest.hexdigest()[:16]


def _files_of(tests: Sequence[str]) -> list[str]:
    return sorted({test.partition("::")[0] for test in tests})


class State:
    """Results that are kept from one run to the next, for one state of everything but the tests."""

    def __init__(self, folder: Path = STATE) -> None:
        found = (ROOT / name for name in _CODE)
        paths = (path for top in found for path in ([top] if top.is_file() else top.rglob("*.py")))
        self._graph = imports(ROOT)
        self._path = folder / f"{digest_of(sorted(path.relative_to(ROOT).as_posix() for path in paths))}.jsonl"
        self._digests: dict[tuple[str, ...], str] = {}
        self.reached: dict[str, Reach] = {}
        """By test that passes in the unmodified copy."""
        self.measured: dict[str, tuple[str, ...]] = {}
        """Files of tests that ran there, with the tests in it that do not pass."""
        self._killed: dict[Mutation, Result] = {}
        self._survived: dict[tuple[Mutation, str], Result] = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self._path.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # the last line of a run that was cut off
                    self._take(msgspec.json.decode(line, type=Line))

    def _digest(self, tests: Sequence[str]) -> str:
        files = tuple(_files_of(tests))
        if files not in self._digests:
            needed, pending = set[str](), list(files)
            while pending:
                file = pending.pop()
                if file.startswith("tests/") and file not in needed:
                    needed.add(file)
                    pending.extend(self._graph.get(file, ()))
            with contextlib.suppress(FileNotFoundError):  # a test of before that is gone
                self._digests[files] = digest_of(sorted(needed))
        return self._digests.get(files, "")

    def _take(self, line: Line) -> None:
        result = line.result
        if result is None:
            if line.digest == self._digest([line.file]):
                self.measured[line.file] = line.failed
                self.reached |= line.reached
        elif not result.killed:
            self._survived[result.mutation, line.digest] = result
        elif line.digest == self._digest([result.by]):
            self._killed[result.mutation] = result

    def _keep(self, line: Line) -> None:
        self._take(line)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")

    def keep_reach(self, file: str, found: dict[str, Reach], failed: Sequence[str]) -> None:
        """What a file of tests did in the unmodified copy."""
        passing = {test: reach for test, reach in found.items() if test not in failed}
        self._keep(Line(file=file, reached=passing, failed=tuple(sorted(failed)), digest=self._digest([file])))

    def keep_result(self, result: Result, runs: Sequence[Run]) -> None:
        """What came of a mistake under these tests."""
        self._keep(Line(result=result, digest=self._digest([result.by]) if result.killed else self._chosen(runs)))

    def is_killed(self, mutation: Mutation) -> bool:
        """Whether a test that is still the same has noticed it before."""
        return mutation in self._killed

    def known(self, mutation: Mutation, runs: Sequence[Run]) -> Result | None:
        """A result of before that holds for these tests too."""
        return self._killed.get(mutation) or self._survived.get((mutation, self._chosen(runs)))

    def _chosen(self, runs: Sequence[Run]) -> str:
        tests = sorted(test for run in runs for test in run.tests)
        return hashlib.sha256("\n".join([self._digest(tests), *tests]).encode()).hexdigest()[:16]


# --- copies ----------------------------------------------------------------------------------------------------------


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
        self.homes = [folder / f"copy{number}" for number in range(jobs)]
        self._free = list(self.homes)
        self._children: list[Child] = []
        self.homes[0].mkdir()
        for path in ROOT.iterdir():
            if path.name not in _NOT_COPIED and not path.name.startswith(
                (".venv", ".git", ".mypy", ".ruff", ".pytest", ".hyp")
            ):
                to = self.homes[0] / path.name
                if path.is_dir():
                    shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
                else:
                    shutil.copy2(path, to)
        for home in self.homes[1:]:
            shutil.copytree(self.homes[0], home)

    def mark(self, marks: Marks | None) -> None:
        """Mark the code of every copy; None: no more."""
        for home in self.homes:
            for compiled in (path for name in ("protocol", "node") for path in (home / name).rglob("__pycache__")):
                shutil.rmtree(compiled)
        if marks is not None:
            marks.make(self.homes)

    @property
    def busy(self) -> bool:
        """Whether tests are running."""
        return bool(self._children)

    @property
    def has_room(self) -> bool:
        """Whether another run can begin."""
        return bool(self._free)

    def begin(self, run: Run, plugins: Sequence[str] = (), mutation: Mutation | None = None) -> None:
        """Run tests in a free copy, with ``mutation`` made in it, until the first fails; all of them without one."""
        home, now_s = self._free.pop(), time.monotonic()
        test_s = max(_TEST_S, _PATIENCE * max(run.seconds, default=0))
        within_s = _GRACE_S + test_s + _PATIENCE * sum(run.seconds) if mutation else _MEASURED_S
        if mutation is not None:
            _write(home / mutation.file, mutation.applied((ROOT / mutation.file).read_bytes()))
        for left in (guards.VERDICT, os.path.basename(reached.FILE)):
            (home / left).unlink(missing_ok=True)
        tests = [test.removeprefix("tests/") for test in run.tests]
        pid = guards.start(home, tests, stop=mutation is not None, plugins=plugins, test_s=test_s if mutation else 120)
        self._children.append(
            Child(pid=pid, home=home, tests=run.tests, began_s=now_s, ends_s=now_s + within_s, mutation=mutation)
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


@contextlib.contextmanager
def benches(jobs: int) -> Iterator[Callable[[], Bench]]:
    """Gives one bench, made when it is first asked for."""
    made = list[Bench]()
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as folder:

        def bench() -> Bench:
            if not made:
                for name in guards.PRELOADED:
                    importlib.import_module(name)
                made.append(Bench(Path(folder).resolve(), jobs))
            return made[0]

        try:
            yield bench
        finally:
            for each in made:
                each.close()


# --- running ---------------------------------------------------------------------------------------------------------


def measure(files: Sequence[str], marks: Marks, state: State, get_bench: Callable[[], Bench]) -> list[str]:
    """Run test files in marked copies and keep what each of their tests reached; which do not pass there."""
    left = [file for file in files if file not in state.measured]
    if left:
        bench = get_bench()
        bench.mark(marks)
        while left or bench.busy:
            while left and bench.has_room:
                bench.begin(Run(tests=(left.pop(),), seconds=()), plugins=["scripts.reached"])
            _keep_reach(state, *bench.wait())
        bench.mark(None)
    return [test for file in files for test in state.measured[file]]


def _keep_reach(state: State, child: Child, code: int | None) -> None:
    told = child.home / os.path.basename(reached.FILE)
    found = read(told.read_text()) if told.exists() else {}
    outcome = guards.outcome_of(child.home, (code or 0) << 8) if code in _RAN else ""
    if isinstance(outcome, str):
        state.keep_reach(child.tests[0], {}, child.tests)
    else:
        failed = {name.partition("[")[0] for name, _, _ in outcome.failed}
        state.keep_reach(child.tests[0], found, sorted(failed))


def judged(child: Child, code: int | None) -> Result:
    """Killed by a test that fails, or by the end of the program; not by anything that says nothing of the mistake."""
    assert child.mutation is not None
    by = "the tests did not end in time"
    if code is not None:
        outcome = guards.outcome_of(child.home, code << 8 if code >= 0 else -code)
        if isinstance(outcome, str):
            by = f"{child.tests[0]}: the process ended: {outcome.splitlines()[-1][:200] if outcome else code}"
        else:
            by = outcome.failed[0][0] if outcome.failed else next(iter(outcome.uncollected), "")
    killed = code is not None and (code in _NOTICED or code < 0)  # a crash by a signal is noticed as well
    return Result(
        mutation=child.mutation,
        killed=killed,
        by=by,
        tests=len(child.tests),
        seconds=round(time.monotonic() - child.began_s, 1),
    )


def judging(
    runs: Mapping[Mutation, Sequence[Run]], state: State, get_bench: Callable[[], Bench], *, confirm: bool = False
) -> Iterator[Result]:
    """What came of each mistake under its runs, one after the other until one notices, as it becomes known.

    confirm: only a test that fails twice counts.
    """
    pending = list[Mutation]()
    for mutation, chosen in runs.items():
        result = state.known(mutation, chosen)
        if result is not None:
            yield result
        elif not chosen:
            yield Result(mutation=mutation, killed=False, by="no test reaches it")
        else:
            pending.append(mutation)
    if not pending:
        return
    left = {mutation: list(runs[mutation]) for mutation in pending}
    suspected = set[Mutation]()
    bench = get_bench()
    while pending or bench.busy:
        while pending and bench.has_room:
            bench.begin(left[pending[0]].pop(0), mutation=pending.pop(0))
        result = judged(*bench.wait())
        mutation = result.mutation
        if result.killed and confirm and mutation not in suspected:
            suspected.add(mutation)
            again = result.by.partition(": ")[0].partition("[")[0]
            left[mutation].insert(0, Run(tests=(again,), seconds=(_TEST_S,)))
        elif result.killed or not left[mutation]:
            state.keep_result(result, runs[mutation])
            yield result
            continue
        pending.insert(0, mutation)


__all__ = ["Bench", "Child", "Line", "Result", "Run", "State", "benches", "judging", "measure"]
