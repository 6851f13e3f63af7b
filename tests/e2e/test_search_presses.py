"""In a real Chromium: a search presses what nobody understands, finds what lies behind it, and changes nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

import pytest

from adapters.ports.browser import Browser
from adapters.ports.records import SearchRecord
from node.explorer.progress import Progress
from protocol.goal.condition import Condition
from protocol.wire import cbor
from tests.browsers import borrowing
from tests.mesh_memory import MemoryMesh, MemoryNode, QuickClock
from tests.sites.pages.doubtful import BEHIND, pages
from tests.sites.pages.server import PageServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

_ICON: Final = "<svg width=12 height=12><path d='M0 0h12v12z'/></svg>"
_MANY: Final = "".join(f"<li><a href=/rows/{number}>Row {number}</a></li>" for number in range(40))
_SHOP: Final = {
    "/": f"""<!doctype html><meta charset=utf-8><title>店</title><nav><ul>
<li title="Alerts"><a href=/projects/2/a/>{_ICON}</a></li></ul></nav>
<button id=menu>⋮</button><ul id=entries hidden><li><a href=/history>History</a></li></ul>
<button id=order>Zorp</button> <button id=quiet>Blick</button><ul>{_MANY}</ul><script>
const post = (to) => fetch(to, {{method: 'POST'}}).catch(() => 0);
menu.onclick = () => {{ post('/seen'); entries.hidden = false; }};
order.onclick = () => {{ post('/orders'); order.outerHTML = '<h1>Thanks, ordered</h1>'; }};
quiet.onclick = () => post('/quiet');
post('/opened');
</script>""",
    "/projects/2/a/": "<!doctype html><title>Two</title><h1>What went wrong</h1>",
    "/history": "<!doctype html><title>Past</title><h1>What was before</h1>",
    **{f"/rows/{number}": f"<!doctype html><title>Row</title><p>Row {number}</p>" for number in range(40)},
}
"""An icon whose wrapper names it, a menu that tells the site that it was opened, a page that shows an order before it is taken."""


@contextlib.asynccontextmanager
async def searching(browser: Browser, extra: dict[str, str]) -> AsyncIterator[tuple[MemoryNode, PageServer]]:
    """A node with a real browser, and the site."""
    server, mesh = PageServer(), MemoryMesh()
    mesh.clock = QuickClock(1.0)
    server.extra = extra
    await server.start()
    node = await mesh.add("anna", lease_seconds=60, lease_iterations=20)
    try:
        await node.stop()
        node._open_browser = borrowing(browser)  # type: ignore[assignment]
        await node.start()
        yield node, server
    finally:
        await node.stop()
        await server.stop()


async def explored(node: MemoryNode, server: PageServer, goal: str, condition: Condition) -> SearchRecord:
    """The search at its end."""
    async with asyncio.timeout(280):
        return await node.explorer.run(
            goal=goal,
            start_url=f"{server.origin}/",
            condition=condition,
            peers=[],
            seconds=240,
            seed=7,
            tell=lambda event: None,
        )


def _writes(server: PageServer) -> list[str]:
    return [line for line in server.reached if not line.startswith(("GET ", "OPTIONS "))]


async def test_a_search_reaches_what_lies_behind_buttons_nobody_understands_and_changes_nothing(
    browser: Browser,
) -> None:
    async with searching(browser, pages()) as (node, server):
        search = asyncio.create_task(explored(node, server, "find the page", Condition(url="*/never")))
        for path in sorted(BEHIND):
            await server.was_asked(f"GET {path}", within_s=200)
        search.cancel()
        await asyncio.gather(search, return_exceptions=True)
        assert _writes(server) == []
        assert not any("delete" in line for line in server.reached)


@pytest.mark.parametrize(
    ("goal", "condition", "found"),
    [
        ("alerts", Condition(text="What went wrong"), True),
        ("the history of the page", Condition(text="What was before"), True),
        ("order it", Condition(text="Thanks, ordered"), False),
    ],
    ids=["icon", "menu", "order"],
)
async def test_what_a_page_shows_after_a_refused_write_is_not_believed_and_what_it_opened_is_looked_at(
    browser: Browser, goal: str, condition: Condition, found: bool
) -> None:
    site = dict(_SHOP) if found else {"/": _SHOP["/"].replace(_MANY, "")}
    async with searching(browser, site) as (node, server):
        record = await explored(node, server, goal, condition)
        progress = cbor.decode_as(record.state, Progress)
        assert (progress.verified is not None) is found
        assert _writes(server) == []
        if not found:
            assert progress.error == "search.exhausted"
            assert {told.partition(",")[0] for told in progress.would_send} == {
                "POST /orders",
                "POST /quiet",
                "POST /seen",
            }
