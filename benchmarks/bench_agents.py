"""Measures ten tasks done by one chooser through our commands and through the tools of other browsers for agents.

Conditions: Debian's Chromium for all, sites on loopback, one node and one browser a tool that run before the first task. The
chooser (``benchmarks/agents``) sees only what a tool prints. ``agents.dialogue_bytes_ratio``: bytes of all calls and answers over
those of ``@playwright/mcp``, of our commands or our MCP tools, whichever are more. ``agents.wall_ratio``: seconds of our MCP tools
over its seconds. ``agents.done``: share of the tasks that both do.
Only where the other tools are installed (``python -m benchmarks.agents``).
"""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable
from typing import Final

from benchmarks.agents import installing
from benchmarks.agents.comparing import OURS, Done, compared
from benchmarks.agents.tools import OurServer, PlaywrightServer
from benchmarks.registry import benchmark

ROUNDS: Final = 3


@functools.cache
def _found() -> tuple[Done, ...]:
    return tuple(compared((*OURS, PlaywrightServer.name), ROUNDS)[0])


def _total(tool: str, figure: Callable[[Done], float]) -> float:
    """Sum over the tasks, of each the median of the rounds."""
    tasks: dict[str, list[float]] = {}
    for each in _found():
        if each.tool == tool:
            tasks.setdefault(each.task, []).append(figure(each))
    return sum(map(statistics.median, tasks.values()))


def _ratio(tool: str, figure: Callable[[Done], float]) -> float:
    return _total(tool, figure) / _total(PlaywrightServer.name, figure)


def dialogue_bytes_ratio() -> float:
    """Bytes of the whole dialogue."""
    return max(_ratio(tool, lambda each: each.size) for tool in OURS)


def wall_ratio() -> float:
    """Seconds from the first call of a task to its last answer."""
    return _ratio(OurServer.name, lambda each: each.seconds)


def done() -> float:
    """Share of the tasks that we do, in all rounds."""
    ours = [each.done for each in _found() if each.tool in OURS]
    return sum(ours) / len(ours)


if installing.installed():
    benchmark("agents.dialogue_bytes_ratio", unit="ratio", target=0.4, direction="at most")(dialogue_bytes_ratio)
    benchmark("agents.wall_ratio", unit="ratio", target=1.15, direction="at most")(wall_ratio)
    benchmark("agents.done", unit="share", target=1, direction="at least")(done)
