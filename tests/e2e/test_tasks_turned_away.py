"""Tasks at a site that asks to come back later, or to prove that a person is there: a real node, browser and server."""

from __future__ import annotations

import asyncio
import base64
import time
from collections import Counter
from typing import Any

import pytest
from aiohttp import web

import trailmesh
from tests.mesh_nodes import Node, cli
from tests.sites.loopback import LoopbackSite
from tests.visitor import entered

pytestmark = pytest.mark.browser

_OVER_S = 120
_WALL = """<title>Just a moment...</title><h1>127.0.0.1</h1><p>Verify you are human by completing the action below.</p>
<label><input type=checkbox> I am not a robot</label>
<p id=now>Waiting</p>
<script>setTimeout(() => { now.textContent = "Still waiting"; new Image().src = "/changed"; }, 1500)</script>"""
_SLOW = """<title>Slow down</title><p id=now>Too many requests</p>
<script>setTimeout(() => { now.textContent = "Still too many"; }, 800)</script>"""
_HOME = """<title>Home</title><h1>Home</h1><a href=/limited/linked>Cups</a>
<form method=post action=/limited/sent><button>Find cups</button></form>
<button onclick="fetch('/limited/data').then(answer => {out.textContent = 'answered ' + answer.status})">Load</button>
<output id=out></output>"""


class Reluctant(LoopbackSite):
    """Puts off what it is asked for first below ``/limited``, and lets nobody in at ``/wall`` while it is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self.at: dict[str, list[float]] = {}
        self.closed = True
        self.changed = asyncio.Event()
        """Set once a page of the wall has changed by itself."""

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        where = f"{request.method} {request.path}"
        self.asked[where] += 1
        self.at.setdefault(where, []).append(time.monotonic())
        if request.path == "/changed":
            self.changed.set()
        if request.path.startswith("/limited/"):
            if self.asked[where] == 1:
                empty = request.path.endswith("empty")
                text = "" if empty else _SLOW
                return web.Response(status=429, headers={"Retry-After": "2"}, text=text, content_type="text/html")
            return web.Response(text="<title>Cups</title><h1>Cups</h1>", content_type="text/html")
        if request.path == "/wall" and self.closed:
            return web.Response(status=403, text=_WALL, content_type="text/html")
        title = "Inside" if request.path == "/wall" else "Home"
        return web.Response(text=_HOME.replace("Home", title), content_type="text/html")

    def waited_s(self, where: str) -> float:
        """The seconds between the first and the second request."""
        first, second = self.at[where][:2]
        return second - first


def actions(start: str, *steps: str) -> dict[str, str]:
    """Parameters of a recording."""
    lines = "\n".join(f"  - {step}" for step in steps)
    return {"actions": f"title: cups\nstart: {start}\nsteps:\n{lines or '  []'}\n"}


async def over(node: trailmesh.Node, task: str) -> Any:
    """The task, once it has ended."""
    async with asyncio.timeout(_OVER_S):
        async for _ in node.follow_task(task):
            pass
    return await node.verbs.task.show(task)


async def paused(node: trailmesh.Node, task: str, times: int = 1) -> Any:
    """The task, once it waits for a person for the ``times``-th time."""
    async with asyncio.timeout(_OVER_S):
        async for event in node.follow_task(task):
            times -= (event.kind, event.said) == ("state", "paused")
            if not times:
                return await node.verbs.task.show(task)
    raise AssertionError(await node.verbs.task.show(task))


async def test_a_task_waits_as_long_as_a_site_asks_says_so_and_sends_no_form_twice(served: Node) -> None:
    async with Reluctant() as site, trailmesh.connect(served.home, as_owner=True) as node:
        steps = (
            f"{site.origin}/limited/opened",
            "assert: {title: Cups}",
            f"goto: {site.origin}/limited/empty",
            f"goto: {site.origin}/",
            "click: {role: link, name: Cups}",
            "assert: {title: Cups}",
            f"goto: {site.origin}/",
            "click: {role: button, name: Load}",
        )
        started = await node.verbs.task.start("session.record", actions(*steps))
        task = await over(node, started.task)
        assert task.state == "done", (task.error, site.asked, task.progress)
        assert task.result["reason"] == "step 8: GET /limited/data was answered with 429", (
            "pages come again, data is the page's"
        )
        events = [event.said async for event in node.follow_task(task.task)]
        waits = [said for said in events if "waits_s" in said]
        assert len(waits) == 4
        assert all('"waits_s":2' in said and "answered 429" in said for said in waits), waits
        for path in ("opened", "empty", "linked"):
            assert site.asked[f"GET /limited/{path}"] == 2
            assert site.waited_s(f"GET /limited/{path}") >= 1.9

        sending = actions(f"{site.origin}/", "click: {role: button, name: Find cups}")
        sent = await node.verbs.task.start(
            "session.record", {**sending, "approve_class": 4, "allow": [f"POST {site.origin}/limited/sent"]}
        )
        ended = await over(node, sent.task)
        assert site.asked["POST /limited/sent"] == 1, f"a form is never sent twice: {ended}"
        assert ended.state == "done", ended

        brief = actions(f"{site.origin}/limited/late", "assert: {title: Cups}")
        late = await over(node, (await node.verbs.task.start("session.record", brief, seconds=1)).task)
        assert (late.state, late.error.code, late.error.detail["retry_after_s"]) == ("failed", "site.busy", 2)


async def test_a_task_shows_a_person_the_page_that_asks_for_one_and_goes_on_after_the_answer(served: Node) -> None:
    async with Reluctant() as site, trailmesh.connect(served.home, as_owner=True) as node:
        walled = actions(f"{site.origin}/wall", "assert: {title: Inside}")
        task = (await node.verbs.task.start("session.record", walled)).task
        shown = await paused(node, task)
        assert shown.state == "paused"
        assert shown.asks == f"{site.origin} answered 403 and asks to prove that a person is there"
        picture = base64.b64decode((await node.verbs.task.picture(task)).png)
        assert picture.startswith(b"\x89PNG")
        assert task in str(served.run("task", "ls", "--open"))
        _, out, _ = await asyncio.to_thread(cli, "approve", "ls", home=served.home)
        assert f"{task} waits for you: {shown.asks} (`trailmesh task show`)" in out, (
            "where a person looks for questions"
        )
        async with entered((await node.verbs.ui.open()).link) as visitor:
            _, start, _ = await visitor.get("")
            assert shown.asks in start and f"trailmesh task resume {task}" in start, "it needs a person now"
            status, _, headers = await visitor.get(f"tasks/{task}/picture")
            assert (status, headers["Content-Type"]) == (200, "image/png")
            assert shown.asks in (await visitor.get(f"tasks/{task}"))[1]

        async with asyncio.timeout(_OVER_S):
            await site.changed.wait()  # its page is another one since, and asks as before
        await node.verbs.task.resume(task)
        again = await paused(node, task, 2)
        assert (again.state, site.asked["GET /wall"]) == ("paused", 2), "it looks again, and asks again"
        site.closed = False
        served.run("task", "resume", task)
        ended = await over(node, task)
        assert (ended.state, ended.asks, ended.result["verdict"]) == ("done", "", "pass")
        with pytest.raises(trailmesh.MeshError) as caught:
            await node.verbs.task.resume(task)
        assert caught.value.code == "task.not_paused"

        site.closed = True
        task = (
            await node.verbs.task.start(
                "session.record", actions(f"{site.origin}/wall", "click: {role: checkbox, name: I am not a robot}")
            )
        ).task
        await paused(node, task)
        await node.verbs.task.resume(task, as_it_is=True)
        ended = await over(node, task)
        assert (ended.state, ended.result["steps"]) == ("done", 2), ended

        task = (await node.verbs.task.start("session.record", walled)).task
        await paused(node, task)
        assert (await node.verbs.task.cancel(task)).state == "cancelled"


async def test_a_search_that_waits_for_a_person_uses_up_no_time(served: Node) -> None:
    async with Reluctant() as site, trailmesh.connect(served.home, as_owner=True) as node:
        asked = {"goal": "home", "start": f"{site.origin}/wall", "until": {"title": "Inside"}, "seconds": 20}
        task = (await node.verbs.task.start("explore.run", asked)).task
        await paused(node, task)
        site.closed = False
        await node.verbs.task.resume(task)
        ended = await over(node, task)
        assert (ended.state, ended.result["status"]) == ("done", "done"), ended


async def test_what_is_no_task_is_told_and_waits_for_nothing(served: Node) -> None:
    async with (
        Reluctant() as site,
        trailmesh.connect(served.home, as_owner=True) as node,
        node.open(f"{site.origin}/wall") as page,
    ):
        assert page.opened is not None
        assert any("asks to prove that a person is there" in note for note in page.opened.notes), page.opened.notes
