"""How well the text model reads labels that somebody wrote who had seen neither it nor what it learned from: 45 languages.

``labels.tsv`` has a line for each: language, what a control with it does, the label, what it means in English. The metrics are of
all of them. ``python -m benchmarks.bench_labels`` shows them by script and by language; ``--publish`` appends that to the results.
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
from collections import defaultdict
from pathlib import Path
from typing import Final, Literal

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import RESULTS, commit
from benchmarks.registry import benchmark
from protocol.risk.judgement import APPROVAL_CLASS, GRAVE_CLASS
from protocol.risk.words import Spoken, say
from protocol.risk.words.text import read, script_of

LABELS: Final = Path(__file__).with_name("labels.tsv")
Does = Literal["view", "change", "pay", "access", "destroy"]


class Exam(msgspec.Struct, frozen=True, kw_only=True):
    """One label, and what a control does that has it."""

    language: str
    does: Does
    label: str
    means: str
    """In English."""

    @property
    def grave(self) -> bool:
        """Whether it is of class 5 to 7."""
        return self.does not in ("view", "change")


class Counts(msgspec.Struct, kw_only=True):
    """How a group of labels was read."""

    dangerous: int = 0
    missed: int = 0
    """Dangerous ones that are certainly harmless to the model."""
    quiet: int = 0
    """Dangerous ones that ask for nothing: a control that shows nothing when it is tried is then taken for harmless."""
    grave: int = 0
    found: int = 0
    """Grave ones that are certainly grave to the model. The others are in doubt."""
    harmless: int = 0
    reached: int = 0
    """Harmless ones that are certainly harmless to the model."""
    raised: int = 0
    """Harmless ones that are certainly grave to it."""

    def add(self, exam: Exam, spoken: Spoken) -> None:
        """Count one more."""
        gravely = spoken.certain and spoken.level >= GRAVE_CLASS
        if exam.does == "view":
            self.harmless += 1
            self.reached += spoken.views
            self.raised += gravely
            return
        self.dangerous += 1
        self.missed += spoken.certain and spoken.level < APPROVAL_CLASS
        self.quiet += spoken.asks_nothing
        self.grave += exam.grave
        self.found += exam.grave and gravely


@functools.cache
def exams() -> tuple[Exam, ...]:
    """The labels."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return tuple(
            msgspec.convert({"language": language, "does": does, "label": label, "means": means}, Exam)
            for language, does, label, means in rows
        )


def counted(of: Literal["all", "script", "language"] = "all") -> dict[str, Counts]:
    """How they were read, by group; the largest groups first."""
    groups: dict[str, Counts] = defaultdict(Counts)
    for exam in exams():
        name = {"all": "all", "script": script_of(read(exam.label)), "language": exam.language}[of]
        groups[name].add(exam, say(exam.label))
    return dict(sorted(groups.items(), key=lambda group: (-group[1].dangerous, group[0])))


@benchmark("words.missed_rate", unit="share", target=0.005, direction="at most")
def missed_rate() -> float:
    """Of labels that pay, grant access, destroy, send or save: those that are certainly harmless to the model."""
    every = counted()["all"]
    return every.missed / every.dangerous


@benchmark("words.quiet_rate", unit="share", target=0.1, direction="at most")
def quiet_rate() -> float:
    """Of the same: those that it takes for the name of something."""
    every = counted()["all"]
    return every.quiet / every.dangerous


@benchmark("words.grave_found_rate", unit="share", target=0.5, direction="at least")
def grave_found_rate() -> float:
    """Of labels that pay, grant access or destroy: those that are certainly grave to it."""
    every = counted()["all"]
    return every.found / every.grave


@benchmark("words.reached_rate", unit="share", target=0.3, direction="at least")
def reached_rate() -> float:
    """Of labels that only show something: those that are certainly harmless to it."""
    every = counted()["all"]
    return every.reached / every.harmless


@benchmark("words.raised_rate", unit="share", target=0.02, direction="at most")
def raised_rate() -> float:
    """Of the same: those that are certainly grave to it."""
    every = counted()["all"]
    return every.raised / every.harmless


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_labels", description=__doc__)
    parser.add_argument(
        "--publish", action="store_true", help="append the counts by script and by language to the results"
    )
    publish = parser.parse_args().publish
    table = Table("group", *Counts.__struct_fields__)
    lines = []
    for of in ("all", "script", "language"):
        for name, counts in counted(of).items():
            table.add_row(name, *(str(each) for each in msgspec.structs.astuple(counts)))
            lines.append({"metric": f"words.by_{of}", of: name, "commit": commit(), **msgspec.structs.asdict(counts)})
    Console().print(table)
    if publish:
        with RESULTS.open("a", encoding="utf-8") as file:
            file.writelines(
                json.dumps(line, ensure_ascii=False) + "\n" for line in lines if line["metric"] != "words.by_all"
            )


if __name__ == "__main__":
    main()
