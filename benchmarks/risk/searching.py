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

from adapters.ports import BrowserState
from benchmarks.live_mesh import LiveNode, serving
from benchmarks.risk.copies import Copy
from benchmarks.risk.effects import effects
from benchmarks.risk.probing import own_browsers, visited
from benchmarks.risk.records import Place, Searched
from protocol.errors import MeshError
from protocol.recording.session import Profile
from protocol.trust.origin import origin_of

_NEVER: Final = {"url": "*/there-is-no-such-page"}
_CAPSULE: Final = "login"


async def search(
    copy: Copy,
    state: Any,
    places: Iterable[Place],
    tell: Callable[[str], None],
    *,
    noise: frozenset[str],
    seconds: int,
    probes: bool,
) -> Searched:
    """Search the application for ``seconds``, from the first of its start pages.

    copy: as it was kept; it is restored if anything was changed. state: the login, as Playwright stores it. places: pages that
    are opened to see what that changes. noise: kinds of changes that come without acting. probes: whether what is in doubt is
    tried.
    """
    target = copy.target
    start = target.origin + target.starts[0]
    # As root Chromium cannot use its sandbox.
    policy = {"probe": probes, "sites": target.policy.sites}
    config = msgspec.json.encode(
        {"log_level": "error", "browser": {"sandbox": os.geteuid() != 0}, "policy": policy}
    ).decode()
    record = Searched(
        application=target.name, part=target.part, probes=probes, login=state is not None, seconds=seconds
    )
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory) / "node"
        async with serving(home, target.name, config=config) as node:
            try:
                if state is not None:
                    await _keep(node, state, start, Path(directory) / "state.json")
                record = await _searched(node, record, start)
            except MeshError as error:
                record = msgspec.structs.replace(record, error=str(error)[:200])
    found = effects(await copy.changes(), noise)
    visit: list[str] = []
    if found:
        await copy.restore()
        login = BrowserState(storage=msgspec.json.encode(state)) if state else None
        async with own_browsers() as browsers:
            visit = effects(await visited(copy, browsers, Profile(), login, places), noise)
    record = msgspec.structs.replace(
        record, effect=tuple(each for each in found if each not in visit), visit=tuple(visit)
    )
    tell(_line(record))
    return record


async def _keep(node: LiveNode, state: Any, page: str, file: Path) -> None:
    """Keep the login as a capsule. Errors: ``capsule.*``."""
    await asyncio.to_thread(file.write_bytes, msgspec.json.encode(state))
    # Cookies do not say the port of their site.
    await node.run("capsule.capture", file=str(file), name=_CAPSULE, page=page, origins=[origin_of(page)])


async def _searched(node: LiveNode, record: Searched, start: str) -> Searched:
    capsule = _CAPSULE if record.login else ""
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
        probed=found["probed"],
        harmless=found["found_harmless"],
        writing=found["found_writing"],
    )


def _line(record: Searched) -> str:
    tried = (
        f"{record.probed} tried, {record.harmless} only read, {record.writing} would write"
        if record.probes
        else "nothing tried"
    )
    reached = f"{record.states} states, {record.actions} actions, {record.visits} visits"
    how = f"{record.seconds:.0f} s{' with a capsule' if record.login else ''}"
    return f"{record.application} {how}: {reached}; {tried}; {', '.join(record.effect) or 'no effect'} {record.error}"
