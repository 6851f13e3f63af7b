"""In a real Chromium: what probes find out about controls whose listeners no document shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from adapters.browser.chromium import launcher
from adapters.clock.system import SystemClock
from node.live.acting import remembering
from node.live.browsers import Browsers
from node.live.history import Held, History
from node.live.probe_ledger import Ledger, Probes
from node.live.probing import Probing
from protocol import limits
from protocol.page.action import Action, Click, Fill, Goto, Locator, Select, target_of
from protocol.page.action import Press as Key
from protocol.page.locator import resolve
from protocol.recording.session import Profile
from protocol.risk.classes import APPROVAL_CLASS
from protocol.risk.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.doubtful import IDIOMS, SOCKETS
from tests.sites.pages.server import PageServer
from tests.twins.storage import MemoryStore

pytestmark = pytest.mark.browser


def _aim(role: str, name: str) -> Locator:
    return Locator(role=role, name=name)


_WRITE: tuple[Action, ...] = (
    Click(target=_aim("link", "News")),
    Fill(target=_aim("textbox", "Notes"), value="figs"),
    Fill(target=_aim("textbox", "Nick"), value="figs"),
    Select(target=_aim("combobox", "State"), option="packed"),
    Key(key="Enter", target=_aim("textbox", "Task")),
    Click(target=_aim("button", "Later")),
    Click(target=_aim("button", "Wug")),
    Click(target=_aim("button", "Dosh")),
    Click(target=_aim("button", "Ansible")),
    Click(target=_aim("button", "Archive")),
    Click(target=_aim("button", "•")),
    Click(target=_aim("button", "Attach")),
    Key(key="Enter", target=_aim("textbox", "Guest")),
)
_READ: tuple[Action, ...] = (
    Click(target=_aim("link", "Guide")),
    Fill(target=_aim("textbox", "Count"), value="figs"),
    Select(target=_aim("combobox", "Size"), option="M"),
    Key(key="Enter", target=_aim("textbox", "Filter")),
    Click(target=_aim("button", "More")),
    Click(target=_aim("button", "Upload")),
    Click(target=_aim("button", "Gostak")),
    Click(target=_aim("button", "Quoin")),
    Key(key="Enter", target=_aim("textbox", "Start")),
)


async def tried(html: str, actions: Sequence[Action]) -> tuple[dict[str, bool], set[str]]:
    """Which of ``actions`` a search asks about after it has tried them, by the name of the element; what reached the site."""
    server, clock = PageServer(), SystemClock()
    server.extra = {"/idioms.html": html}
    await server.start()
    browsers = Browsers(launcher(SETTINGS))
    history = History(bytes(32), MemoryStore(), clock)
    known = Held(history, GuardPolicy(), wary=True)
    try:
        start = Goto(url=f"{server.origin}/idioms.html")
        async with browsers.opened(Profile(), GuardPolicy()) as (context, page):
            seen = (await page.perform(start)).observation
            ledger = Unhurried(Probes(), clock, 10_000)
            probing = Probing(
                browsers, Profile(), GuardPolicy(), context.state, history=history, ledger=ledger, clock=clock
            )
            while await probing.settle(seen, [start], actions):
                continue
        found = {}
        for action in actions:
            target = target_of(action)
            assert target is not None
            risk = remembering(action, resolve(target, seen), seen, known)
            found[target.name] = risk.level >= APPROVAL_CLASS
    finally:
        await browsers.close()
        await server.stop()
    return found, set(server.reached)


async def test_what_listeners_send_on_a_link_while_typing_choosing_and_after_seconds_is_found_out() -> None:
    """Guard: node/live/probe_visit.py, Visit.press."""
    found, reached = await tried(IDIOMS, (*_WRITE, *_READ))
    assert found == {
        **dict.fromkeys(("News", "Notes", "Nick", "State", "Task", "Later", "Wug", "Dosh", "Guest"), True),
        **dict.fromkeys(("Ansible", "Archive", "•", "Attach"), True),
        **dict.fromkeys(("Guide", "Count", "Size", "Filter", "More", "Upload", "Gostak", "Start", "Quoin"), False),
    }
    assert reached <= {"GET /idioms.html", "GET /ready"}


@pytest.mark.parametrize("shows", [False, True], ids=["held", "refused"])
async def test_on_a_page_with_a_web_socket_only_what_opens_something_is_found_harmless(shows: bool) -> None:
    """Guard: node/live/probe_visit.py, Visit._has_socket. Guard: adapters/browser/network.py, NetworkGuard._socket."""
    names = ("Blick", "Zorp", "Wex", "Frumious", "Gimble", "Tove", "Rath", "Mome")
    actions = [Click(target=_aim("button", name)) for name in names]
    found, reached = await tried(SOCKETS.replace("SHOWS", str(shows).lower()), actions)
    # Where the WebSocket must be refused as in the search, no button says anything on it: only what the page says of one counts.
    assert {name for name, asked in found.items() if not asked} == {"Blick", *(() if shows else ("Zorp", "Wex"))}
    assert reached == {"GET /idioms.html"}


class Unhurried(Ledger):
    """As long as it takes."""

    room = limits.PROBES_PER_PAGE_MAX
    spare = room
