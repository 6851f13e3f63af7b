"""``python -m benchmarks.agents [--only TASK] [--tool NAME]… [--dialogue FILE]``: compare, and print a table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.agents import installing
from benchmarks.agents.comparing import TOOLS, Done, compared


def _table(found: list[Done]) -> Table:
    table = Table("task", "tool", "done", "calls", "seconds", "bytes", "why not")
    for each in found:
        why = each.said.strip().partition("\n")[0][:90]
        told = (f"{len(each.calls)}", f"{each.seconds:.2f}", f"{each.size}", why)
        table.add_row(each.task, each.tool, "yes" if each.done else "no", *told)
    for name in dict.fromkeys(each.tool for each in found):
        mine = [each for each in found if each.tool == name]
        done, calls = sum(each.done for each in mine), sum(len(each.calls) for each in mine)
        seconds, size = sum(each.seconds for each in mine), sum(each.size for each in mine)
        table.add_row("all", name, f"{done}/{len(mine)}", str(calls), f"{seconds:.2f}", str(size), "")
    return table


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agents", description="Compare tools for agents.")
    parser.add_argument("--only", default="", metavar="TASK", help="tasks with this in their name")
    parser.add_argument("--tool", action="append", choices=list(TOOLS), help="only this one; repeat for more")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--dialogue", type=Path, help="write every call and answer there")
    given = parser.parse_args()
    if not installing.installed():
        installing.install()
    found, read = compared(given.tool or list(TOOLS), given.rounds, given.only)
    if given.dialogue:
        lines = [
            json.dumps({"task": each.task, "tool": each.tool, **call._asdict()})
            for each in found
            for call in each.calls
        ]
        given.dialogue.write_text("\n".join(lines) + "\n", encoding="utf-8")
    console = Console()
    console.print(_table(found))
    console.print("read before the first call, bytes:", read)


if __name__ == "__main__":
    main()
