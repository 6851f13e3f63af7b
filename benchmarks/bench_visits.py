"""How many pages a search sees, and how many goals it finds, against a plain crawler.

Conditions: the demo shop in a process of its own on loopback, without added delay, or a real application where it is installed
(``scripts/drift_apps.py``), with a login if it has one; one node with one worker. The search and the crawler (``crawler.py``) have
the site in turns, so that both meet the same machine.

``explore.visits_ratio``: a goal that no page reaches, ``TURNS`` times ``SECONDS``. An address counts once, without its fragment,
when its page was opened and observed. ``explore.found``: each goal of ``goals.toml`` for ``GOAL_SECONDS``, once by each.
"""

from __future__ import annotations

import asyncio
import os
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from adapters.browser.launch.settings import find_executable
from benchmarks.bench_session import SETTINGS, shop
from benchmarks.crawler import crawl
from benchmarks.registry import benchmark
from benchmarks.searched_sites import Site, installed, real, searched
from protocol.goal.condition import parse

SECONDS: Final = 15
TURNS: Final = 2
GOALS: Final = Path(__file__).parent / "goals.toml"
GOAL_SECONDS: Final = 60
_CONSOLE: Final = Console()
_REAL: Final = {"bugsink": "/", "datasette": "/", "trac": "/wiki"}
"""Applications, and where they are entered."""


class Hunt(NamedTuple):
    """One goal, and after how many seconds the search and the crawler have found it; None if they have not."""

    goal: dict[str, Any]
    searched_s: float | None
    crawled_s: float | None


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


async def _in_turns(name: str, serve: Callable[[], AbstractAsyncContextManager[Site]], start: str) -> float:
    """The ratio of addresses a minute, search to crawler, measured in turns on the same site."""
    seen, crawled, first_s = 0, 0, 0.0
    for _ in range(TURNS):
        async with serve() as site:
            crawled += (
                await crawl(site.origin + start, SECONDS, find_executable(SETTINGS), state=site.state)
            ).addresses
            found = await searched(site, start, SECONDS)
            seen, first_s = seen + found.addresses, max(first_s, found.first_s)
    per_minute = 60 / (TURNS * SECONDS)
    _CONSOLE.print(
        f"{name}: {seen * per_minute:.0f} addresses a minute by the search, {crawled * per_minute:.0f} by the crawler; "
        f"the first visit after at most {first_s:.1f} s; {_load()}"
    )
    return seen / max(crawled, 1)


@asynccontextmanager
async def _shop() -> AsyncIterator[Site]:
    async with shop() as url:
        yield Site(url)


@benchmark("explore.visits_ratio", unit="ratio", target=0.6, direction="at least")
def visits_ratio() -> float:
    """Distinct addresses that one worker opens and observes, over those of a plain crawler in as much time."""
    return asyncio.run(_in_turns("the demo shop", _shop, ""))


def _real_ratio(name: str) -> float:
    return asyncio.run(_in_turns(name, partial(real, name), _REAL[name]))


for _name in filter(installed, _REAL):
    benchmark(f"explore.visits_ratio_{_name}", unit="ratio", target=0.6, direction="at least")(
        partial(_real_ratio, _name)
    )


async def _hunted(goals: list[dict[str, Any]]) -> list[Hunt]:
    hunts = []
    for name, wanted in groupby(goals, key=itemgetter("application")):
        async with real(name) as site:  # a search changes nothing in it
            for goal in wanted:
                hunts.append(await _hunt(site, goal))
                line = f"{_words(hunts[-1].searched_s)}, crawler {_words(hunts[-1].crawled_s)}"
                _CONSOLE.print(f"{name}: {goal['goal']}: {line}")
    return hunts


async def _hunt(site: Site, goal: dict[str, Any]) -> Hunt:
    start, until = goal["start"], parse(goal["until"])
    by = await crawl(site.origin + start, GOAL_SECONDS, find_executable(SETTINGS), state=site.state, until=until)
    found = await searched(site, start, GOAL_SECONDS, goal=goal["goal"], until=goal["until"])
    return Hunt(goal, found.found_s, by.found_s)


def _words(seconds: float | None) -> str:
    return "not found" if seconds is None else f"{seconds:.1f} s"


@cache
def _hunts() -> tuple[Hunt, ...]:
    """Both arms on each goal of an application that is installed, told as a table."""
    listed = tomllib.loads(GOALS.read_text(encoding="utf-8"))["goal"]
    hunts = asyncio.run(_hunted([each for each in listed if installed(each["application"])]))
    table = Table("application", "goal", "clicks", "behind", "search", "crawler", title=_load(), title_justify="left")
    for goal, ours, other in hunts:
        about = (goal["application"], goal["goal"], str(goal["clicks"]), goal["behind"] or "links")
        table.add_row(*about, _words(ours), _words(other))
    _CONSOLE.print(table)
    return tuple(hunts)


def found() -> float:
    """Goals that the search finds, over those that the crawler finds."""
    return sum(each.searched_s is not None for each in _hunts()) / sum(each.crawled_s is not None for each in _hunts())


def found_near() -> float:
    """The share of the goals within two clicks that the search finds."""
    near = [each for each in _hunts() if each.goal["clicks"] <= 2]
    return sum(each.searched_s is not None for each in near) / len(near)


if any(map(installed, ("bugsink", "datasette", "flask-admin", "wagtail"))):
    benchmark("explore.found", unit="ratio", target=1, direction="at least")(found)
    benchmark("explore.found_near", unit="share", target=1, direction="at least")(found_near)
