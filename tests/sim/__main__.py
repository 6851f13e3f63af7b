"""``python -m tests.sim``: one seed with every event, or many seeds."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time

from tests.sim.run import Outcome, run_seed


def main() -> int:
    """0 when every promise was kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seed", type=int, help="this seed only, and print every event")
    parser.add_argument("--first", type=int, default=1, help="the first of many seeds (1)")
    parser.add_argument("--count", type=int, default=200, help="how many (200)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (one for each processor)")
    asked = parser.parse_args()
    if asked.seed is not None:
        outcome = run_seed(asked.seed, aloud=True)
        print(_line(outcome))
        return _say([outcome]) if outcome.broken else 0
    began = time.perf_counter()
    seeds = range(asked.first, asked.first + asked.count)
    failed: list[Outcome] = []
    events = 0
    with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
        for outcome in pool.imap_unordered(run_seed, seeds):
            events += outcome.lines
            if outcome.broken:
                failed.append(outcome)
                print(f"seed {outcome.seed}: {outcome.broken[0]}", flush=True)
    print(f"{asked.count} seeds, {events} events, {len(failed)} failed, {time.perf_counter() - began:.0f} s")
    return _say(failed[:1]) if failed else 0


def _line(outcome: Outcome) -> str:
    return (
        f"seed {outcome.seed}: {outcome.nodes} nodes, {outcome.lines} events, {outcome.virtual_s:.0f} s there, "
        f"{outcome.real_s:.2f} s here, trace {outcome.digest[:16]}"
    )


def _say(failed: list[Outcome]) -> int:
    for outcome in failed:
        print(outcome.report())
    return 1


if __name__ == "__main__":
    sys.exit(main())
