"""The Python client against a real node, a real browser and the demo shop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trailmesh
from tests.mesh_nodes import Node

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def token_file(served: Node, shop_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The token of an agent that may visit the shop: private addresses have to be named for an agent."""
    scopes = [word for scope in ("read", "record", "replay", "live", "explore") for word in ("--scope", scope)]
    token = served.run("agent", "add", "program", *scopes, "--origin", shop_url)["token"]
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(token)
    yield file
    served.run("agent", "rm", "program")


async def test_a_program_opens_a_page_acts_by_ids_and_gets_a_signed_recording(
    served: Node, shop_url: str, token_file: Path
) -> None:
    async with trailmesh.connect(served.home, token_file=token_file) as node:
        async with node.open(f"{shop_url}/", title="Mugs") as page:
            assert page.opened is not None
            assert page.opened.observation.url.rstrip("/") == shop_url
            search = await page.one("searchbox")
            acted = await page.fill({search: "mug"}, submit=True)
            assert len(acted.did) == 2
            table = await page.table()
            assert (table.shows, table.session) == ("table", page.session)
            with pytest.raises(trailmesh.MeshError) as caught:
                await page.click(search)
            assert (caught.value.code, caught.value.retryable) == ("live.stale_ref", True)
            await page.check_that("address", "mug")
            assert await page.extract("results", kind="text")
            assert (await page.screenshot()).startswith(b"\x89PNG")
            await page.back()
        (recorded,) = page.recorded
        assert (recorded.title, recorded.verdict) == ("Mugs", "pass")
        replayed = await node.replay(recorded.id)
        assert replayed.report.session == recorded.id
        own = [change.kind async for change in node.events(after=0, follow=False)]
        assert {"live.opened", "live.ended", "session.replayed"} <= set(own)
        with pytest.raises(trailmesh.MeshError) as caught:
            await node.verify(recorded.id)
        assert caught.value.code == "caller.refused"
    async with trailmesh.connect(served.home, as_owner=True) as node:
        assert (await node.verify(recorded.id)).verdict == "pass"


async def test_programs_that_come_at_once_share_the_agent_that_is_made_for_them(served: Node, shop_url: str) -> None:
    nodes = [trailmesh.connect(served.home, origins=[shop_url]) for _ in range(6)]
    first = await asyncio.gather(*(node.verbs.node.whoami() for node in nodes))
    again = await asyncio.gather(*(node.verbs.node.whoami() for node in nodes))
    assert len({each.caller for each in [*first, *again]}) == 1


def test_the_same_without_an_event_loop(served: Node, shop_url: str, token_file: Path) -> None:
    with trailmesh.sync.connect(served.home, token_file=token_file) as node:
        with node.open(f"{shop_url}/") as page:
            with pytest.raises(trailmesh.MeshError) as caught:
                page.one("Mugs", role="link")
            assert (caught.value.code, caught.value.message.count("Mugs")) == ("input.not_found", 3)
            chosen = page.choose("a mug")
            assert (chosen.deed, chosen.why) != ("", "")
            assert chosen.line.startswith(f"{chosen.ref} ")
            assert page.fill({chosen.ref: chosen.value}).did if chosen.deed == "fill" else page.click(chosen.ref).did
            page.goto(f"{shop_url}/")
            page.click(page.one("Show mugs"))
            assert page.find("heading").lines
        assert page.recorded[0].steps == 4
        searching = node.explore("a mug", start=f"{shop_url}/", until={"url": "*/products/*"}, seconds=60)
        events = list(searching)
        found = searching.result()
        assert events
        assert found.search.startswith("sea-")
        again = [node.verbs.explore.show(found.search).status, *(each.search for each in [found])]
        assert again == [found.status, found.search]


async def test_a_page_without_a_block_opens_with_its_first_call_and_never_acts_in_another_one(
    served: Node, shop_url: str, token_file: Path
) -> None:
    node = trailmesh.connect(served.home, token_file=token_file)
    other = await node.open(f"{shop_url}/products")
    page = node.open(f"{shop_url}/")
    assert (page.session, repr(page)) == ("", "<Page not open yet>")
    await page.click(await page.one("Show mugs"))
    assert page.session not in ("", other.session)
    assert len((await other.close())[0].title) > 0
    (recorded,) = await page.close()
    assert recorded.steps == 2, "nothing was done in the other one"
    with pytest.raises(trailmesh.MeshError) as caught:
        await page.table()
    assert caught.value.code == "live.ended"
    assert f"→ {caught.value.remedy}" in str(caught.value)


def test_a_notebook_needs_no_block_and_reaches_sites_of_this_machine_or_only_those_that_it_names(
    served: Node, shop_url: str
) -> None:
    node = trailmesh.sync.connect(served.home, origins=[shop_url])
    myself = node.verbs.node.whoami()
    assert myself.caller.startswith("agent:python-")
    assert myself.origins == (shop_url,)
    page = node.open(f"{shop_url}/")
    shown = str(page.table())
    assert 'e1 link "Skip to content"' in shown
    assert "unconfirmed" not in shown, "what says nothing is left out"
    assert page.screenshot()._repr_png_().startswith(b"\x89PNG")
    assert page.close()[0].verdict == "pass"
    node.close()
    with trailmesh.sync.connect(served.home) as anywhere, anywhere.open(f"{shop_url}/") as page:
        assert (anywhere.verbs.node.whoami().caller, bool(page.table().lines)) == ("agent:python", True)
    served.run("agent", "rm", "python")
    assert trailmesh.sync.connect(served.home, origins=[shop_url]).verbs.node.whoami().caller == myself.caller
    with pytest.raises(trailmesh.MeshError) as caught:
        trailmesh.sync.connect(served.home, origins=[shop_url], as_owner=True)
    assert caught.value.code == "input.invalid"
    served.run("agent", "rm", myself.caller.removeprefix("agent:"))


async def test_a_call_that_is_cancelled_ends_at_the_node_and_a_page_left_by_an_error_is_closed(
    served: Node, shop_url: str, token_file: Path
) -> None:
    async with trailmesh.connect(served.home, token_file=token_file) as node:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5), node.open(f"{shop_url}/") as page:
                await page.wait(text="never there", seconds=60)
        assert page.recorded, "it was closed"
        assert (await node.verbs.live.list()).sessions == ()


async def test_a_task_is_cancelled_with_its_browser(served: Node, shop_url: str, token_file: Path) -> None:
    async with trailmesh.connect(served.home, token_file=token_file) as node:
        started = await node.verbs.task.start(
            "explore.run",
            {"goal": "what is not there", "start": f"{shop_url}/", "until": {"title": "nowhere"}, "seconds": 100},
        )
        async for event in node.follow_task(started.task):
            if event.kind == "progress":
                break

        async def contexts() -> float:
            lines = (await node.verbs.node.metrics()).text.splitlines()
            return float(next(line.split()[1] for line in lines if line.startswith("trailmesh_browser_contexts ")))

        assert await contexts() > 0
        cancelled = await node.verbs.task.cancel(started.task)
        assert (cancelled.state, bool(cancelled.ended_ms)) == ("cancelled", True)
        assert await contexts() == 0
        (search,) = (await node.verbs.explore.list(limit=1)).searches
        assert search.status != "running"


def test_a_task_of_a_node_that_is_killed_is_interrupted_and_not_begun_again(anna: Node, shop_url: str) -> None:
    asked = {"goal": "what is not there", "start": f"{shop_url}/", "until": {"title": "nowhere"}, "seconds": 100}
    with trailmesh.sync.connect(anna.home, as_owner=True) as node:
        task = node.verbs.task.start("explore.run", asked).task
        next(event for event in node.follow_task(task) if event.kind == "progress")
        assert anna.process is not None
        anna.process.kill()
        with pytest.raises(trailmesh.MeshError) as caught:
            list(node.follow_task(task))
        assert caught.value.code in ("node.stopped", "node.not_serving")
        anna.start()
        shown = node.verbs.task.show(task)
        assert (shown.state, shown.error and shown.error.code) == ("interrupted", "node.stopped")
        assert node.verbs.task.list(open=True).tasks == ()


def test_importing_the_package_imports_neither_browser_nor_store_nor_the_node() -> None:
    words = "import sys, trailmesh; trailmesh.connect; trailmesh.sync; print(*sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"node", "adapters", "protocol", "aiohttp", "playwright", "sqlite3", "cryptography", "numpy"}
    assert not heavy & {name.partition(".")[0] for name in out}


def test_a_program_starts_a_node_where_none_serves(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with pytest.raises(trailmesh.MeshError) as caught, trailmesh.sync.connect(home):
        pass
    assert caught.value.code == "node.not_serving"
    node = Node(home, "made")
    try:
        with trailmesh.sync.connect(home, start=True) as made:
            assert made.verbs.node.whoami().caller == "agent:python"
            node.run("agent", "rm", "python")
        with trailmesh.sync.connect(home) as made:
            assert made.verbs.node.whoami().caller == "agent:python", "its token was withdrawn, and made anew"
    finally:
        node.run("node", "stop")
