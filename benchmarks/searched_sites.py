"""Real applications on which searches are measured, and one search on them by a node with one worker.

The applications are those of ``make bench-risk``, of its development part alone; ``scripts/drift_apps.py`` installs them. They get
ports and data of their own, so that both benchmarks can run at the same time.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urldefrag

import msgspec
from playwright.async_api import async_playwright

from adapters.browser.launch.settings import find_executable
from benchmarks.bench_session import SETTINGS
from benchmarks.drift.served import REPOSITORY, programs
from benchmarks.live_mesh import serving
from benchmarks.risk.collecting import signed_in
from benchmarks.risk.copies import Copy
from benchmarks.risk.searching import CAPSULE, keep_login
from benchmarks.risk.targets import TARGETS, Target, target
from node.explorer.working.worker import Worker
from protocol.errors import MeshError

_CACHE: Final = REPOSITORY / "risk-out" / "searches"
_PORTS: Final = 19_710
_CONFIG: Final = json.dumps({"log_level": "error", "browser": {"sandbox": False}})
NEVER: Final = {"url": "*/there-is-no-such-page"}


class Site(NamedTuple):
    """A site that is being served."""

    origin: str
    state: Any = None
    """The login, as Playwright stores it."""


class Searched(NamedTuple):
    """The addresses that one search opened, and when it opened the first."""

    addresses: int
    """How many distinct addresses its worker opened and observed."""
    first_s: float
    """After how many seconds it saw the first one."""
    found_s: float | None
    """After how many seconds the goal was reached and verified; None if it was not."""


def development(name: str) -> Target:
    """The application of this name, which nobody is measured by who has not seen it. Raises ``KeyError``."""
    found = target(name)
    if found.part != "development":
        raise KeyError(name)
    port = _PORTS + 10 * [each.name for each in TARGETS].index(name)
    return msgspec.structs.replace(found, on=msgspec.structs.replace(found.on, port=port))


def installed(name: str) -> bool:
    """True if the application can be served here."""
    found = development(name)
    return programs(found.on.environment(found.side)).is_dir()


@asynccontextmanager
async def real(name: str) -> AsyncIterator[Site]:
    """The application on data as they were made, with a login, until the end of the block."""
    # A page that is left while it loads is no news.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    async with Copy(development(name), _CACHE).serving() as copy:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_executable(SETTINGS), args=["--no-sandbox"])
            state = await signed_in(browser, copy)
            await browser.close()
        yield Site(copy.target.origin, state)


class _Seen:
    """Addresses that workers observe until the end of the block."""

    def __init__(self) -> None:
        self.addresses: set[str] = set()
        self.first_s = 0.0
        self._look: Any = Worker._look
        self._began = time.monotonic()

    def __enter__(self) -> _Seen:
        look, seen = self._look, self

        async def noted(worker: Worker, path: Any, page: Any, states: Any) -> Any:
            seen.first_s = seen.first_s or time.monotonic() - seen._began
            seen.addresses.add(urldefrag(page.url)[0])
            return await look(worker, path, page, states)

        setattr(Worker, "_look", noted)  # noqa: B010 (a method in the place of another)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(Worker, "_look", self._look)  # noqa: B010


async def searched(
    site: Site, start: str, seconds: int, *, goal: str = "open every page", until: Any = None
) -> Searched:
    """Search ``site`` from the path ``start`` for ``seconds``, or until a page meets ``until``."""
    url = site.origin + start
    given = {"goal": goal, "start": url, "until": until or NEVER, "seconds": seconds}
    with tempfile.TemporaryDirectory() as directory:
        async with serving(Path(directory) / "anna", "anna", config=_CONFIG) as node:
            if site.state is not None:
                await keep_login(node, site.state, url, Path(directory) / "state.json")
                given["capsule"] = CAPSULE
            found, began = True, time.monotonic()
            with _Seen() as seen:
                try:
                    await node.run("explore.run", **given)
                except MeshError as error:
                    if not error.code.startswith("search."):
                        raise
                    found = False
            return Searched(len(seen.addresses), seen.first_s, time.monotonic() - began if found else None)
