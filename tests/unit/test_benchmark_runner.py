"""The benchmark runner: what it registers, prints and writes."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from benchmarks.__main__ import measure
from benchmarks.registry import Benchmark, Direction, interleaved, load


def sample(value: float, direction: Direction) -> Benchmark:
    return Benchmark(metric="x.y_us", unit="us", target=2.0, direction=direction, run=lambda: value)


def test_every_bench_module_is_found_and_chosen_by_prefix() -> None:
    assert {"envelope.check_ratio", "delta.apply_growth", "uct.descent_us"} <= {item.metric for item in load()}
    assert [item.metric for item in load("uct.descent")] == ["uct.descent_us"]
    assert load("nothing") == []


def test_a_target_is_met_from_its_side() -> None:
    assert sample(2.0, "at most").met(2.0)
    assert not sample(2.1, "at most").met(2.1)
    assert sample(2.1, "at least").met(2.1)
    assert not sample(1.9, "at least").met(1.9)


def test_a_missed_target_is_written_down_and_no_failure(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    for value in (1.0, 3.0):
        table = measure([sample(value, "at most")], results)
    console = Console(record=True, width=100)
    console.print(table)
    assert "missed" in console.export_text()
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [line["value"] for line in lines] == [1.0, 3.0]
    assert lines[0].keys() == {"metric", "value", "unit", "target", "commit"}


def test_a_result_says_what_was_measured_and_how_much(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    measure([sample(1.0, "at most")], results, revision="abc", conditions={"replays": 3})
    line = json.loads(results.read_text())
    assert (line["commit"], line["replays"]) == ("abc", 3)


def test_interleaved_calls_take_turns() -> None:
    calls: list[str] = []
    medians = interleaved(lambda: calls.append("a"), lambda: calls.append("b"), rounds=3)
    assert calls == ["a", "b"] * 3
    assert len(medians) == 2
