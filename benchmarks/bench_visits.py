"""How many pages a search sees, against a plain crawler.

Conditions: the demo shop in a process of its own on loopback, without added delay; one node with one worker, a goal that no page
reaches. The search and the crawler (``crawler.py``) have the site in turns, each ``TURNS`` times for ``SECONDS``, so that both meet
the same machine. An address counts once, without its fragment, when its page was opened and observed.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any, Final
from urllib.parse import urldefrag

from adapters.browser.settings import find_executable
from benchmarks.bench_session import SETTINGS, shop
from benchmarks.crawler import crawl
from benchmarks.live_mesh import serving
from benchmarks.registry import benchmark
from node.explorer.working.worker import Worker
from protocol.errors import MeshError

SECONDS: Final = 15
TURNS: Final = 2
_CONFIG: Final = json.dumps({"log_level": "error", "browser": {"sandbox": False}})
_NEVER: Final = {"url": "*/there-is-no-such-page"}


class Seen:
    """Addresses that workers observe until the end of the block."""

    def __init__(self) -> None:
        self.addresses: set[str] = set()
        self.first_s = 0.0
        self._look: Any = Worker._look
        self._began = time.monotonic()

    def __enter__(self) -> Seen:
        look, seen = self._look, self

        async def noted(worker: Worker, path: Any, page: Any, states: Any) -> Any:
            seen.first_s = seen.first_s or time.monotonic() - seen._began
            seen.addresses.add(urldefrag(page.url)[0])
            return await look(worker, path, page, states)

        setattr(Worker, "_look", noted)  # noqa: B010 (a method in the place of another)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(Worker, "_look", self._look)  # noqa: B010


async def _searched(url: str) -> tuple[int, float]:
    """Distinct addresses, and seconds until the first one."""
    with tempfile.TemporaryDirectory() as directory:
        async with serving(Path(directory) / "anna", "anna", config=_CONFIG) as node:
            with Seen() as seen:
                try:
                    await node.run("explore.run", goal="open every page", start=url, until=_NEVER, seconds=SECONDS)
                except MeshError as error:
                    if not error.code.startswith("search."):
                        raise
    return len(seen.addresses), seen.first_s


async def _in_turns() -> tuple[float, float]:
    """What a search sees over what the crawler sees, and the longest wait for a first visit."""
    searched, crawled, first_s = 0, 0, 0.0
    for _ in range(TURNS):
        async with shop() as url:
            crawled += await crawl(url, SECONDS, find_executable(SETTINGS))
            count, began_s = await _searched(url)
            searched, first_s = searched + count, max(first_s, began_s)
    return searched / max(crawled, 1), first_s


@benchmark("explore.visits_ratio", unit="ratio", target=0.6, direction="at least")
def visits_ratio() -> float:
    """Distinct addresses that one worker opens and observes, over those of a plain crawler in as much time."""
    ratio, first_s = asyncio.run(_in_turns())
    print(f"the first visit of a search came after at most {first_s:.1f} s")
    return ratio
