"""``python -m benchmarks [--only PREFIX]``: measure, print a table, append a line each to ``benchmarks/results.jsonl``.

A missed target is a finding, not a failure: the exit code is 0 unless a benchmark itself breaks.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.registry import Benchmark, load

RESULTS = Path(__file__).parent / "results.jsonl"


def commit() -> str:
    """Short hash of the checked-out commit, ``+`` after it when files differ from it; empty outside of git."""
    git = shutil.which("git")
    if git is None:
        return ""
    answer = subprocess.run(
        [git, "describe", "--always", "--dirty=+", "--exclude=*"],
        capture_output=True,
        text=True,
        cwd=RESULTS.parent,
        timeout=30,
        check=False,
    )
    return answer.stdout.strip()


def measure(
    benchmarks: Sequence[Benchmark], results: Path, *, revision: str = "", conditions: Mapping[str, int] | None = None
) -> Table:
    """Run ``benchmarks``, append their lines to ``results``; the table for people.

    revision: what is measured, if it is not the checked-out commit. conditions: how much was measured.
    """
    table = Table("metric", "value", "unit", "target", "")
    revision = revision or commit()
    for item in benchmarks:
        value = item.run()
        # A share of .9997 is none of 1: it is judged as it was measured.
        line = {
            "metric": item.metric,
            "value": round(value, 4),
            "unit": item.unit,
            "target": item.target,
            "commit": revision,
        }
        line |= conditions or {}
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        verdict = "[green]met[/]" if item.met(value) else "[red]missed[/]"
        table.add_row(item.metric, f"{round(value, 4):g}", item.unit, f"{item.direction} {item.target:g}", verdict)
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what trailmesh promises.")
    parser.add_argument("--only", default="", metavar="PREFIX", help="run only metrics that start with PREFIX")
    chosen = load(parser.parse_args(arguments).only)
    Console().print(measure(chosen, RESULTS))


if __name__ == "__main__":
    main()
