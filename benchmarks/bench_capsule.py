"""Measures the cost of a capsule with 1 MB of state, from its capture to a browser of another node.

Conditions: two nodes in this process with SQLite stores and mutual TLS over loopback; one headless Chromium at the node that
imports. The state: 64 entries of localStorage and 64 of IndexedDB with 8 KiB each, half of them text of an application, half what
looks generated, and one cookie; ``STATE_BYTES_MIN`` is held against what was sealed. Each figure is the fastest of ``ROUNDS`` on
the same nodes: whatever else the machine does can only add to it.

``capture``: read the file, scan, sign what was found, seal, store; the page is not opened (``--unproven``). ``seal``: encrypt and
sign alone. ``export``: ask the peer for its key, seal to it, prove, write. ``import``: read, verify, open, scan, store. ``mount``:
judge, count, sign and report the use to the issuer, open the state, and until the first page of a context stands open with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.settings import BrowserSettings
from benchmarks.live_mesh import LiveNode, pair, serving
from benchmarks.registry import benchmark
from node.live.browsers import Wish, guard_for, mounted_context
from protocol.recording.records.session import Profile

ROUNDS: Final = 7
ORIGIN: Final = "http://127.0.0.1:9"
"""Nothing listens there: a browser takes state for a site without asking it."""
STATE_BYTES_MIN: Final = 1_000_000
SETTINGS: Final = BrowserSettings(sandbox=False)
_ENTRIES: Final = 64
_ENTRY_CHARS: Final = 8_192
_WORDS: Final = ("oak", "elm", "ash", "fir", "yew", "true", "false", "dark", "light", "2026-11-23")


def storage_state(origin: str, *, entries: int = _ENTRIES, chars: int = _ENTRY_CHARS) -> dict[str, Any]:
    """The state of a browser as Playwright writes it: ``entries`` of ``chars`` each in localStorage, and as many in IndexedDB."""
    made = random.Random(entries * chars)

    def value(place: int) -> str:
        if place % 2:
            return made.randbytes(chars // 2).hex()
        words = ", ".join(f'"{made.choice(_WORDS)}": {made.randrange(1_000)}' for _ in range(chars // 14))
        return f"{{{words}}}"[:chars]

    cookie = {"name": "sid", "value": made.randbytes(16).hex(), "domain": "127.0.0.1", "path": "/", "httpOnly": True}
    local = [{"name": f"entry-{place}", "value": value(place)} for place in range(entries)]
    records = [{"key": f"record-{place}", "value": value(place)} for place in range(entries)]
    store = {"name": "kept", "autoIncrement": False, "indexes": [], "records": records}
    databases = [{"name": "application", "version": 1, "stores": [store]}]
    return {
        "cookies": [cookie | {"expires": -1}],
        "origins": [{"origin": origin, "localStorage": local, "indexedDB": databases}],
    }


async def _fastest_ms(call: Callable[[int], Awaitable[object]]) -> float:
    taken = []
    for number in range(ROUNDS):
        began = time.perf_counter()
        await call(number)
        taken.append(time.perf_counter() - began)
    return min(taken) * 1_000


async def _measured(directory: Path) -> dict[str, float]:
    async with contextlib.AsyncExitStack() as stack:
        anna = await stack.enter_async_context(serving(directory / "anna", "anna"))
        bruno = await stack.enter_async_context(serving(directory / "bruno", "bruno", browser=launcher(SETTINGS)))
        await pair(anna, bruno, f"capsule:import={ORIGIN}", f"capsule:offer={ORIGIN}")
        return await _between(directory, anna, bruno)


async def _between(directory: Path, anna: LiveNode, bruno: LiveNode) -> dict[str, float]:
    file, out = directory / "state.json", directory / "login.capsule"
    file.write_text(json.dumps(storage_state(ORIGIN)))
    policy = {"origins": [ORIGIN], "cross_installation": True, "cross_device": True, "replays_max": 1_000}
    policy["unproven"] = (
        True  # no page is opened: nothing listens there, and a browser that is started is no part of the figure
    )

    async def capture(number: int) -> object:
        return await anna.run("capsule.capture", file=str(file), name=f"login-{number}", **policy)

    async def export(number: int) -> object:
        return await anna.run("capsule.export", capsule="login-0", to="bruno", out=str(out))

    found = {"capture": await _fastest_ms(capture)}
    kept = anna.rooms.sealed.capsules.kept
    record = await kept.find("login-0")
    header, state = kept.open(record).header, await kept.state(record)
    assert header.state_bytes >= STATE_BYTES_MIN, header.state_bytes
    found["seal"] = await _fastest_ms(lambda _: kept.seal(state, header, {}, ()))
    found["export"] = await _fastest_ms(export)
    found["import"] = await _fastest_ms(lambda _: bruno.run("capsule.import", file=str(out)))
    browsers, config = bruno.rooms.browsers, bruno.rooms.config
    wish = Wish(task="replay", guard=guard_for(config.policy), start_url=f"{ORIGIN}/", risk_max=1)
    taken = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        async with mounted_context(browsers, Profile(), header.id, wish):
            taken.append(time.perf_counter() - began)
    return found | {"mount": min(taken) * 1_000}


@functools.cache
def _figures() -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="trailmesh-bench-") as directory:
        return asyncio.run(_measured(Path(directory)))


@benchmark("capsule.capture_ms", unit="ms for 1 MB of state", target=500, direction="at most")
def capture_ms() -> float:
    """From the file to the stored capsule."""
    return _figures()["capture"]


@benchmark("capsule.seal_ms", unit="ms for 1 MB of state", target=50, direction="at most")
def seal_ms() -> float:
    """Encrypted and signed, in the witness log."""
    return _figures()["seal"]


@benchmark("capsule.export_ms", unit="ms for 1 MB of state", target=250, direction="at most")
def export_ms() -> float:
    """From the command to the file for a peer."""
    return _figures()["export"]


@benchmark("capsule.import_ms", unit="ms for 1 MB of state", target=500, direction="at most")
def import_ms() -> float:
    """From the file to the stored capsule of a peer."""
    return _figures()["import"]


@benchmark("capsule.mount_ms", unit="ms for 1 MB of state", target=1_000, direction="at most")
def mount_ms() -> float:
    """From the wish to the first page of a browser that holds the login of a peer."""
    return _figures()["mount"]
