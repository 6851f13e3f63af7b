"""Lets a person log in in a window. The window belongs to this process; its state reaches the node only over the control socket."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from protocol.errors import MeshError
from protocol.risk.pressing.unguarded import limits_of

if TYPE_CHECKING:
    from adapters.ports.watching import ObservedAct, WatchedPage
    from node.verbs import Tell
    from protocol.capsule.flows.login import Look
    from protocol.goal.condition import Condition

_LOOK_S: Final = 0.5
"""How often the state of the window is read."""


async def log_in(home: Path, url: str, until: Any, attach: str, tell: Tell) -> dict[str, Any]:
    """The state of the browser once a person has logged in at ``url``, as parameters of ``capsule.keep``.

    until: a condition in plain data; None if the page shows the login by itself. attach: address of the debugging port of a
    running Chromium; empty to start one. The window is closed at the end, even after an error. Errors: ``input.invalid``,
    ``condition.invalid``, ``browser.*``, ``config.invalid``; ``capsule.not_logged_in`` if the window was closed before.
    """
    from node.live.browsers import guard_for
    from node.process.watching import configured
    from node.process.wiring import open_watched
    from protocol.goal import condition
    from protocol.page.seen.web_address import require_web

    require_web(url)
    wanted = None if until is None else condition.parse(until)
    config = configured(home, "")
    # A person's own acts need no approval by the same person. The policy still decides where pages may lead.
    guard = msgspec.structs.replace(guard_for(config.policy), read_only=False)
    profile = config.browser.profile
    async with open_watched(config.browser, attach)(profile, guard, _unheard) as page:
        return {
            "storage": await logged_in(page, url, wanted, tell),
            "browser": msgspec.to_builtins(page.info),
            "profile": msgspec.to_builtins(profile),
        }


async def logged_in(page: WatchedPage, url: str, until: Condition | None, tell: Tell) -> str:
    """The state of the browser, in JSON, as soon as a person has logged in at ``url``.

    tell: called once, when the person may begin. Errors: ``capsule.not_logged_in``, ``browser.*``.
    """
    from protocol.capsule.flows.login import judge_login

    await page.open(url)
    # Before the person is told to begin: on a slow machine, a quick person's login could otherwise be part of the first state.
    before, _ = await _look(page)
    tell({"open": url, "unguarded": list(limits_of(page.info.backend))})
    closed = asyncio.ensure_future(page.ended())
    fails = "the page still asks for a password or a code"
    try:
        while not closed.done():
            await asyncio.wait({closed}, timeout=_LOOK_S)
            if closed.done():
                break
            now, storage = await _look(page)
            fails = judge_login(before, now, until)
            if not fails:
                return storage
    except MeshError as error:
        if error.code != "browser.crashed":  # closed during the query
            raise
    finally:
        closed.cancel()
    raise MeshError("capsule.not_logged_in", f"the window was closed, and {fails}")


async def _look(page: WatchedPage) -> tuple[Look, str]:
    from node.capsules.seal import digests, from_browser
    from protocol.capsule.flows.login import Look
    from protocol.capsule.state import CapsuleState

    state = await page.state()
    return Look(seen=page.seen, held=digests(from_browser(state, CapsuleState()))), state.storage.decode()


async def _unheard(heard: ObservedAct) -> None:
    """Ignore the acts of the person: nothing is written down."""
