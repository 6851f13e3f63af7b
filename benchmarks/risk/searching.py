"""The stage of searches: what the product's own search reaches in a disposable copy, and that it changes nothing there.

It works as on a node: the login is kept as a capsule, and the search begins with it. Its goal is a page that does not exist.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.live_mesh import LiveNode, serving
from benchmarks.risk.copies import Copy
from benchmarks.risk.driving import Driver
from benchmarks.risk.effects import effects
from benchmarks.risk.records import Place, Searched
from protocol.errors import MeshError
from protocol.trust.origin import origin_of

_NEVER: Final = {"url": "*/there-is-no-such-page"}
CAPSULE: Final = "login"
_VISITS: Final = 2
"""How often a page is opened to see what that changes: some only note that somebody has come again."""


async def search(
    copy: Copy, state: Any, places: Iterable[Place], driver: Driver, tell: Callable[[str], None], *, seconds: int
) -> Searched:
    """Search the application for ``seconds``, from the first of its start pages.

    copy: as it was kept; it is restored if anything was changed. state: the login, as Playwright stores it. places: pages that
    ``driver`` opens to see what that changes.
    """
    target = copy.target
    start = target.origin + target.starts[0]
    # As root Chromium cannot use its sandbox.
    config = {
        "log_level": "error",
        "browser": {"sandbox": os.geteuid() != 0},
        "policy": {"sites": target.policy.sites},
    }
    record = Searched(application=target.name, part=target.part, login=state is not None, seconds=seconds)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "node"
        async with serving(home, target.name, config=msgspec.json.encode(config).decode()) as node:
            try:
                if state is not None:
                    await keep_login(node, state, start, Path(directory) / "state.json")
                record = await _searched(node, record, start)
            except MeshError as error:
                record = msgspec.structs.replace(record, error=str(error)[:200])
    found, visit = effects(await copy.changes(), driver.noise), set[str]()
    if found:
        await copy.restore()
        for place in places:
            visit.update(await driver.only_opened(place, _VISITS))
    record = msgspec.structs.replace(
        record, effect=tuple(each for each in found if each not in visit), visit=tuple(sorted(visit))
    )
    tell(_line(record))
    return record


async def keep_login(node: LiveNode, state: Any, page: str, file: Path) -> None:
    """Keep the login as a capsule. Errors: ``capsule.*``."""
    await asyncio.to_thread(file.write_bytes, msgspec.json.encode(state))
    # Cookies do not say the port of their site.
    await node.run("capsule.capture", file=str(file), name=CAPSULE, page=page, origins=[origin_of(page)])


async def _searched(node: LiveNode, record: Searched, start: str) -> Searched:
    capsule = CAPSULE if record.login else ""
    given = {"goal": "open every page", "start": start, "until": _NEVER, "seconds": int(record.seconds)}
    try:
        await node.run("explore.run", **given, capsule=capsule)
    except MeshError as error:
        if error.code != "search.not_found_goal":
            raise
    (listed,) = (await node.run("explore.list"))["searches"]
    found = await node.run("explore.show", search=listed["id"])
    _, _, _, replica, _ = await node.rooms.explorer.view(listed["id"])
    *_, states = replica.tree.states()
    return msgspec.structs.replace(
        record,
        states=len(set(states.values())),
        actions=found["nodes"],
        visits=sum(each["visits"] for each in found["spend"]),
    )


def _line(record: Searched) -> str:
    reached = f"{record.states} states, {record.actions} actions, {record.visits} visits"
    how = f"{record.seconds:.0f} s{' with a capsule' if record.login else ''}"
    return f"{record.application} {how}: {reached}; {', '.join(record.effect) or 'no effect'} {record.error}"
