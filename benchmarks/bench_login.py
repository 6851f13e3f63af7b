"""Compares a login by a capsule with a login by the form of the same site.

Conditions: the demo shop in a process of its own on loopback, without added delay; one node in this process with an SQLite store,
and one headless Chromium, which runs already. By form: from a live session with an open page of the shop that asks for nothing,
over the form with its two fields and its button, until the page of the account was seen. By capsule: from the call that opens a
live session with it, so opening its context and page, judging, counting, signing and opening the capsule are in, until the page of
the account was seen: the same probe. Rounds alternate; medians.

``capsule.login_ratio``: the state is what the shop gives, one cookie. ``capsule.login_ratio_64k``: with 32 entries of 1 KiB each
in localStorage, and as many in IndexedDB, as applications keep them beside their login.
"""

from __future__ import annotations

import asyncio
import functools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import aiohttp

from adapters.browser.launch.chromium import launcher
from benchmarks.bench_capsule import SETTINGS, storage_state
from benchmarks.bench_session import shop
from benchmarks.live_mesh import LiveNode, serving
from benchmarks.registry import benchmark
from trailmesh.shop import ShopConfig

ROUNDS: Final = 9
KNOWN: Final = ShopConfig()
_COOKIE: Final = "shop_session"
_SHOWN: Final = "Your account"
_FORM: Final = (
    f"fill: {{role: textbox, name: E-mail address, nth: 0, value: {KNOWN.user_email}}}",
    "fill: {role: textbox, name: Password, value: {secret: word}}",
    "click: {role: button, name: Sign in}",
)


async def cookie_of(url: str) -> dict[str, Any]:
    """The cookie of somebody who has just logged in to the shop."""
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        given = {"email": KNOWN.user_email, "password": KNOWN.password, "next": "/account"}
        async with session.get(f"{url}/login"):
            pass
        async with session.post(f"{url}/login", data=given) as answer:
            assert _SHOWN in await answer.text()
        (value,) = [each.value for each in session.cookie_jar if each.key == _COOKIE]
    return {
        "name": _COOKIE,
        "value": value,
        "domain": "127.0.0.1",
        "path": "/",
        "expires": -1,
        "httpOnly": True,
        "sameSite": "Lax",
    }


async def _captured(node: LiveNode, url: str, file: Path, name: str, *, entries: int) -> int:
    """The size of the state of a new capsule, in bytes."""
    origins = storage_state(url, entries=entries, chars=1_024)["origins"] if entries else []
    stored = {"cookies": [await cookie_of(url)], "origins": origins}
    await asyncio.to_thread(file.write_text, json.dumps(stored))
    kept = await node.run("capsule.capture", file=str(file), name=name, origins=[url], replays_max=1_000)
    return int(kept["state_bytes"])


async def _by_capsule(node: LiveNode, url: str, name: str) -> float:
    began = time.perf_counter()
    opened = await node.run("live.open", url=f"{url}/account", capsule=name)
    taken = time.perf_counter() - began
    assert _SHOWN in json.dumps(opened["observation"]), "a login that failed measures something else"
    await node.run("live.close", session=opened["session"])
    return taken


async def _by_form(node: LiveNode, url: str) -> float:
    secrets = {"word": {"origins": [url], "value": KNOWN.password}}
    opened = await node.run("live.open", url=f"{url}/help", secrets=secrets, allow=[f"POST {url}/login"])
    session = opened["session"]
    began = time.perf_counter()
    seen = await node.run("live.navigate", session=session, url=f"{url}/login?next=/account")
    for action in _FORM:
        seen = await node.run("live.act", session=session, action=action, approve_class=7)
    taken = time.perf_counter() - began
    assert _SHOWN in json.dumps(seen), "a login that failed measures something else"
    await node.run("live.close", session=session)
    return taken


@functools.cache
def _ratios() -> tuple[float, float]:
    async def run() -> tuple[float, float]:
        with tempfile.TemporaryDirectory(prefix="trailmesh-bench-") as given:
            directory = Path(given)
            async with shop() as url, serving(directory / "anna", "anna", browser=launcher(SETTINGS)) as node:
                small = await _captured(node, url, directory / "state.json", "small", entries=0)
                large = await _captured(node, url, directory / "state.json", "large", entries=32)
                assert small < 1_024 and large >= 65_536, (small, large)
                rounds = []
                for _ in range(ROUNDS + 1):
                    form = await _by_form(node, url)
                    rounds.append((form, await _by_capsule(node, url, "small"), await _by_capsule(node, url, "large")))
        form, first, second = (statistics.median(each) for each in zip(*rounds[1:], strict=True))
        return first / form, second / form

    return asyncio.run(run())


@benchmark("capsule.login_ratio", unit="times login by form, state of one cookie", target=0.5, direction="at most")
def login_ratio() -> float:
    """Time to the account by capsule over that by form; medians of rounds taken in turn."""
    return _ratios()[0]


@benchmark("capsule.login_ratio_64k", unit="times login by form, state of 64 KiB", target=0.5, direction="at most")
def login_ratio_64k() -> float:
    """As ``login_ratio``, with storage beside the cookie."""
    return _ratios()[1]
