"""Checks that a login performed once can be used often, on two nodes and for every mechanism by which sites keep logins.

Conditions: two nodes in this process with SQLite stores, mutual TLS over loopback and a headless Chromium each. On the one a file
logs in, once for each site; the login is exported to the other one; both use it in turn. A use is a recording of its own that
waits for, and asserts, what only the login shows. Where a token rotates, the work is moved to the login. The sites: one of our own
for each mechanism that can be carried (``tests/sites/mechanisms.py``), and real applications where they are installed
(``scripts/drift_apps.py``; the variable ``TRAILMESH_DRIFT_APPS`` says where). A login that fails counts as all of its uses.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from adapters.browser.launch.chromium import launcher
from benchmarks.bench_capsule import SETTINGS
from benchmarks.drift import applications, served
from benchmarks.live_mesh import LiveNode, pair, serving
from benchmarks.login_uses import Way, give, grant, log_in, use, way_of
from benchmarks.registry import benchmark
from protocol.errors import MeshError
from tests.sites.mechanisms import NAMES, MechanismSite

USES: Final = 200
_CONFIG: Final = "browser: {sandbox: false}\n"
_PORTS_ABOVE: Final = 10_000
"""Above those of the other benchmarks: they may run at the same time."""

log = logging.getLogger(__name__)

_REAL: Final = (
    (
        "django-4-5",
        "/admin/login/?next=/admin/",
        "/admin/",
        (
            'fill: {role: textbox, name: "Username:", value: owner}',
            'fill: {selectors: ["css=input[name=password]"], value: {secret: word}}',
            "click: {role: button, name: Log in}",
        ),
        "Site administration",
    ),
    (
        "roundup",
        "/tracker/",
        "/tracker/user1",
        (
            'fill: {selectors: ["css=input[name=__login_name]"], value: admin}',
            'fill: {selectors: ["css=input[name=__login_password]"], value: {secret: word}}',
            'press: {selectors: ["css=input[name=__login_password]"], key: Enter}',
        ),
        "Your Details",
    ),
    (
        "spirit",
        "/user/login/",
        "/user/",
        (
            'fill: {role: textbox, name: "Username:", value: owner}',
            'fill: {role: textbox, name: "Password:", value: {secret: word}}',
            'click: {selectors: ["css=form button[type=submit], form input[type=submit]"]}',
        ),
        "Change password",
    ),
)
"""Application, pages of the form and behind the login, steps, what shows behind it."""


async def _sites(stack: contextlib.AsyncExitStack, cache: Path) -> list[Way]:
    """Every site, running until the end of the stack."""
    found = []
    for name in (*NAMES, "rotating"):
        site = MechanismSite(name)
        await site.start()
        stack.push_async_callback(site.stop)
        found.append(way_of(site))
    for name, start, page, steps, shows in _REAL:
        usual = applications.application(name)
        if not served.installed(usual):
            continue
        own = msgspec.structs.replace(usual, port=usual.port + _PORTS_ABOVE)
        await stack.enter_async_context(served.serve(own, "newer", cache))
        found.append(
            Way(
                name=name,
                origin=own.public("newer"),
                start=start,
                page=page,
                steps=steps,
                shows=shows,
                posts="/**",
                password=applications.PASSWORD,
                until={"text": shows},
            )
        )
    return found


async def _used(anna: LiveNode, bruno: LiveNode, way: Way, uses: int, file: Path) -> int:
    """How many of so many uses succeed."""
    try:
        await grant(anna, bruno, way.origin)
        await log_in(anna, way)
        if not way.moves:
            await give(anna, bruno, way, file)
    except MeshError as error:
        log.warning("%s: no login: %s", way.name, error)
        return 0
    good = 0
    for number in range(uses):
        node, at = (bruno, "anna" if way.moves else "") if number % 2 else (anna, "")
        try:
            good += await use(node, way, at=at)
        except MeshError as error:
            log.warning("%s, use %d: %s", way.name, number, error)
    return good


async def measured(uses: int = USES) -> dict[str, tuple[int, int]]:
    """By site, how many uses succeeded, and how many were tried."""
    with tempfile.TemporaryDirectory(prefix="trailmesh-bench-") as given:
        async with contextlib.AsyncExitStack() as stack:
            directory = Path(given)
            ways = await _sites(stack, directory)
            anna, bruno = [
                await stack.enter_async_context(
                    serving(directory / name, name, config=_CONFIG, browser=launcher(SETTINGS))
                )
                for name in ("anna", "bruno")
            ]
            await pair(anna, bruno, "status")
            found = {}
            for place, way in enumerate(ways):
                tried = uses // len(ways) + (place < uses % len(ways))
                found[way.name] = await _used(anna, bruno, way, tried, directory / "login.capsule"), tried
                log.warning("%s: %d of %d", way.name, *found[way.name])
    return found


@benchmark("capsule.use_success", unit="of 200 uses on two nodes", target=0.98, direction="at least")
def use_success() -> float:
    """Share of the uses of a login that show the page of somebody who is logged in."""
    found = asyncio.run(measured()).values()
    return sum(good for good, _ in found) / sum(tried for _, tried in found)
