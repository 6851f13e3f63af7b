"""``make bench-drift``: flows on real applications in two versions each. Takes hours, so ``make bench`` does not run it.

Each run is on restored data: the seeded folder of the version is copied, the application started behind a proxy that notes what the
page sends. Older recording on the older version ``REPLAYS`` times, then on the newer version by ``--base-url``, then with changes
of meaning put in between server and browser. Finished runs stand in ``drift-out/runs.jsonl`` and are not repeated: an interrupted
benchmark goes on where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from benchmarks.__main__ import RESULTS, commit, measure
from benchmarks.drift import figures
from benchmarks.drift.applications import HERE
from benchmarks.drift.figures import Kind, Run
from benchmarks.drift.flow import Flow, load
from benchmarks.drift.node import Node
from benchmarks.drift.runs import Bench
from benchmarks.drift.served import REPOSITORY, installed
from benchmarks.registry import Benchmark, Direction

BEFORE: Final = HERE / "before.json"
"""The results of commit 5d4cf22; made by ``--before CHECKOUT``."""
OUT: Final = Path(os.environ.get("TRAILMESH_DRIFT_OUT", REPOSITORY / "drift-out")).absolute()
_CONSOLE: Final = Console(soft_wrap=True, highlight=False)


class Book:
    """The runs that are done, in a file that grows by a line each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_bytes().splitlines() if path.is_file() else []
        self.runs = [msgspec.json.decode(line, type=Run) for line in lines]

    def find(self, key: str, kind: Kind, flow: str, number: int = 0) -> Run | None:
        """The run, if it is done."""
        wanted = (key, kind, flow, number)
        return next((run for run in self.runs if (run.key, run.kind, run.flow, run.number) == wanted), None)

    def add(self, run: Run) -> None:
        """Note a finished run."""
        self.runs.append(run)
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(run) + b"\n")


def key_of(flow: Flow, revision: str) -> str:
    """The key of a run: the product's commit and the flow, without the expected result."""
    flow = msgspec.structs.replace(flow, stops="")
    return f"{revision}:{hashlib.sha256(flow.text.encode() + msgspec.json.encode(flow)).hexdigest()[:12]}"


async def run_flow(flow: Flow, bench: Bench, book: Book, key: str, options: argparse.Namespace) -> None:
    """All runs of one flow that are not done yet."""
    recorded = book.find(key, "record", flow.flow)
    if recorded is None:
        recorded = await bench.record(flow)
        book.add(recorded)
        _tell(recorded)
    if not recorded.session:
        return
    for number in range(1, options.replays + 1):
        if book.find(key, "same", flow.flow, number) is None:
            book.add(await bench.replay(flow, recorded, "older", "same", number))
            _tell(book.runs[-1])
    if book.find(key, "newer", flow.flow) is None:
        book.add(await bench.replay(flow, recorded, "newer", "newer"))
        _tell(book.runs[-1])
    for number in range(options.changes):
        if recorded.verdict == "pass" and book.find(key, "changed", flow.flow, number) is None:
            planned = await bench.planned(flow, recorded, number)
            if planned is not None:
                book.add(await bench.replay(flow, recorded, "older", "changed", number, planned))
                _tell(book.runs[-1])


async def run_before(flow: Flow, bench: Bench, book: Book, key: str) -> None:
    """The same flow with commit 5d4cf22: recorded on the older version, replayed on the newer one."""
    if book.find(key, "before", flow.flow) is not None:
        return
    recorded = await bench.record(flow)
    _tell(recorded)
    if recorded.session:
        book.add(await bench.replay(flow, recorded, "newer", "before"))
        _tell(book.runs[-1])


def before() -> dict[str, tuple[int, int]]:
    """By flow, how many steps commit 5d4cf22 performs on the newer version, and of how many."""
    return msgspec.json.decode(BEFORE.read_bytes(), type=dict[str, tuple[int, int]]) if BEFORE.is_file() else {}


def target(flows: list[Flow]) -> float:
    """The share of steps that commit 5d4cf22 performs on the newer versions of ``flows``."""
    known = before()
    pairs = [known.get(flow.flow, (0, flow.acting)) for flow in flows]
    return sum(done for done, _ in pairs) / max(1, sum(steps for _, steps in pairs))


def _tell(run: Run) -> None:
    ok = not run.wrong and (run.effect or run.performed < run.steps)
    _CONSOLE.print(
        f"{run.kind:8}{run.flow:24}{run.number or '':>3} {run.verdict:8}"
        f"{run.performed:>3}/{run.steps} performed {run.matched:>3} matched {run.seconds:6.1f} s {'' if ok else 'WRONG'}"
        f" {run.error} {run.reason} {run.stopped} {run.change}{'' if run.applied or not run.change else ' (not reached)'}",
        markup=False,
    )
    for line in (*run.wrong, *run.differences):
        _CONSOLE.print(f"          {line}", markup=False)


def published(runs: list[Run], target: float) -> Iterator[Benchmark]:
    """The figures as benchmarks, from what was measured. target: what commit 5d4cf22 performs on newer versions."""
    listed: tuple[tuple[str, str, float, Direction, Callable[[list[Run]], float]], ...] = (
        ("flows.same_version_steps", "share of steps", 1.0, "at least", figures.same_version_steps),
        ("flows.wrong_elements", "runs", 0, "at most", figures.wrong_elements),
        ("flows.drift_performed", "share of steps", target, "at least", figures.drift_performed),
        ("flows.changes_missed", "share of changes", 0.02, "at most", figures.changes_missed),
        ("flows.masked_share", "share of lines", 0.05, "at most", figures.masked_share),
        ("session.bytes_per_step", "bytes", 24_000, "at most", figures.bytes_per_step),
    )
    for metric, unit, aim, direction, figure in listed:
        run = functools.partial(figure, runs)
        yield Benchmark(metric=metric, unit=unit, target=aim, direction=direction, run=run)


async def _measure_before(flows: list[Flow], book: Book, checkout: Path) -> None:
    node = Node(checkout, OUT / "node-before")
    await node.prepare()
    for flow in flows:
        key = key_of(flow, "5d4cf22")
        await run_before(flow, Bench(node, OUT, key, before=True), book, key)
        done = book.find(key, "before", flow.flow)
        known = {**before(), flow.flow: (done.acted if done else 0, flow.acting)}
        BEFORE.write_bytes(msgspec.json.format(msgspec.json.encode(dict(sorted(known.items())))) + b"\n")


async def run(options: argparse.Namespace) -> None:
    """The command."""
    revision = options.revision or commit()
    flows = [flow for flow in load() if options.flow in flow.flow]
    book = Book(OUT / "runs.jsonl")
    if options.before:
        await _measure_before(flows, book, options.before)
        return
    node = Node(REPOSITORY, OUT / "node")
    await node.prepare()
    bench = {flow.flow: Bench(node, OUT, key_of(flow, revision)) for flow in flows}
    async with node.serving():
        for place, flow in enumerate(flows, 1):
            if not installed(flow.on):
                raise SystemExit(f"{flow.on.name} is not installed: run `python scripts/drift_apps.py install`")
            _CONSOLE.print(f"[{place}/{len(flows)}] {flow.flow}", markup=False)
            await run_flow(flow, bench[flow.flow], book, key_of(flow, revision), options)
    keys = {key_of(flow, revision) for flow in flows}
    runs = [each for each in book.runs if each.key in keys]
    stops = {flow.flow: flow.stops for flow in flows}
    for line in figures.wrong_stops(runs, stops):
        _CONSOLE.print(f"stops for another reason than expected: {line}", markup=False)
    if options.publish:
        counted = {"flows": len(flows), "replays": options.replays, "changes": figures.changes_applied(runs)}
        _CONSOLE.print(measure(list(published(runs, target(flows))), RESULTS, revision=revision, conditions=counted))
        return
    for each in published(runs, target(flows)):
        _CONSOLE.print(f"{each.metric:32}{each.run():.4f}", markup=False)


def main() -> None:
    """Read the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_drift", description=__doc__)
    parser.add_argument("--replays", type=int, default=20, help="replays on the same version for each flow")
    parser.add_argument("--changes", type=int, default=8, help="changes of meaning for each flow")
    parser.add_argument("--flow", default="", help="only flows with this in their name")
    parser.add_argument("--revision", default="", help="what is measured; the checked-out commit if it is not given")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="measure that checkout of 5d4cf22 instead")
    parser.add_argument("--publish", action="store_true", help="append the figures to benchmarks/results.jsonl")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
