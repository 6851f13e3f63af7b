"""Reads the state of a live session, in the form of a capsule. Only the owner gets here, no agent and no peer."""

from __future__ import annotations

import asyncio

from node.capsules.seal.browser_state import from_browser
from node.capsules.seal.proving import LiveState, StateSource
from node.live.sessions import LiveSessions
from protocol.capsule.capsule import BrowserProfile
from protocol.capsule.state import CapsuleState


def from_live(sessions: LiveSessions) -> LiveState:
    """A ``LiveState`` that reads ``sessions``."""

    async def read(live_id: str) -> StateSource:
        async with sessions.use(live_id) as session:
            held = await session.login()
        browser = BrowserProfile(name=held.browser.name, version=held.browser.version, profile=held.profile)
        state = await asyncio.to_thread(from_browser, held.state, CapsuleState())
        return StateSource(state=state, browser=browser, url=held.url)

    return read
