"""Benchmarks register here; ``python -m benchmarks`` runs them.

A benchmark is a function without arguments that returns the measured number. To add one, write a module
``benchmarks/bench_<area>.py`` and decorate the function with ``benchmark``; nothing else has to know of it.
"""

from __future__ import annotations

import importlib
import pkgutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

Direction = Literal["at least", "at most"]


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """One number worth watching."""

    metric: str
    """``<area>.<what>``; the unit is the last word where there is one."""
    unit: str
    target: float
    direction: Direction
    run: Callable[[], float]

    def met(self, value: float) -> bool:
        """True if ``value`` reaches the target."""
        return value >= self.target if self.direction == "at least" else value <= self.target


REGISTRY: dict[str, Benchmark] = {}


def benchmark(
    metric: str, *, unit: str, target: float, direction: Direction
) -> Callable[[Callable[[], float]], Callable[[], float]]:
    """Register the decorated function under ``metric``."""

    def register(run: Callable[[], float]) -> Callable[[], float]:
        REGISTRY[metric] = Benchmark(metric=metric, unit=unit, target=target, direction=direction, run=run)
        return run

    return register


def load(prefix: str = "") -> list[Benchmark]:
    """The benchmarks of every ``bench_*`` module whose metric starts with ``prefix``, by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.name.startswith("bench_"):
            importlib.import_module(f"benchmarks.{module.name}")
    return [REGISTRY[metric] for metric in sorted(REGISTRY) if metric.startswith(prefix)]


def interleaved(*calls: Callable[[], object], rounds: int) -> list[float]:
    """Median seconds of each call over ``rounds`` rounds.

    Rounds take the calls in turn, so that whatever else the machine does meets all of them alike.
    """
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]
