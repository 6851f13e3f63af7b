"""The HTTP door before a real browser: what pages of other sites get, and the tools in real pages."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest
from aiohttp import web
from mcp.client import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from playwright.async_api import async_playwright

from adapters.browser.launch.settings import BrowserSettings, find_executable
from node.verbs import Run
from protocol.approval.owners import sign_change
from protocol.approval.question import Question
from protocol.wire import cbor
from tests.doors import Served, served
from tests.e2e.test_holding import PAGE
from tests.e2e.test_mcp import call, id_of, recorded_in, session_in, text_of
from tests.owners import ANNA, answer
from tests.sites.pages.server import PageServer

# Every way in which a page sends a request: with the stolen token where a script can add it, and without where it cannot.
_TRIES = """async ({door, token}) => {
    const told = {};
    const body = '{"limit": 1}';
    const tries = {
        plain: () => fetch(door + '/v1/live.list', {method: 'POST', mode: 'no-cors', body}),
        readable: () => fetch(door + '/v1/live.list', {method: 'POST', body}),
        token: () => fetch(door + '/v1/live.list', {method: 'POST', body, headers: {authorization: 'Bearer ' + token}}),
        version: () => fetch(door + '/api/version', {headers: {authorization: 'Bearer ' + token}}),
        mcp: () => fetch(door + '/mcp', {method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}'}),
    };
    for (const [name, attempt] of Object.entries(tries)) {
        try {
            const answer = await attempt();
            told[name] = [answer.type, answer.status, answer.type === 'opaque' ? '' : (await answer.text()).slice(0, 200)];
        } catch (error) { told[name] = ['error', 0, String(error)]; }
    }
    return told;
}"""


@asynccontextmanager
async def elsewhere() -> AsyncIterator[str]:
    """A page of another site."""
    app = web.Application()

    async def page(request: web.Request) -> web.Response:
        return web.Response(text="<title>evil</title>", content_type="text/html")

    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield f"http://evil.test:{runner.addresses[0][1]}/"
    await runner.cleanup()


def noting(called: list[str], name: str, run: Run) -> Run:
    """``run``, which notes that it was called."""

    async def noted(params: Any, tell: Any) -> Any:
        called.append(name)
        return await run(params, tell)

    return noted


@pytest.mark.browser
async def test_a_page_of_another_site_gets_nothing_even_with_the_token_of_an_agent(tmp_path: Path) -> None:
    called: list[str] = []

    async with served(tmp_path / "home") as at, elsewhere() as page_url, async_playwright() as playwright:
        for name, (verb, run) in list(at.node.verbs.items()):
            at.node.verbs[name] = (verb, noting(called, name, run))
        browser = await playwright.chromium.launch(
            executable_path=find_executable(BrowserSettings()),
            args=["--no-sandbox", "--host-resolver-rules=MAP *.test 127.0.0.1"],
        )
        page = await browser.new_page()
        given = {"door": at.address, "token": at.token}
        await page.goto(page_url)
        refused = await page.evaluate(_TRIES, given)
        # A name that this site has bound to the address of the door: for the browser, page and door are then one site.
        rebound = f"http://evil.test:{at.port}"
        answer = await page.goto(f"{rebound}/")
        assert answer is not None and answer.status == 421
        bound = await page.evaluate(_TRIES, given | {"door": rebound})
        await browser.close()
    assert called == []
    assert {kind for kind, _, _ in refused.values()} <= {"error", "opaque"}, "it can read nothing"
    assert {status for kind, status, _ in bound.values() if kind == "basic"} == {421}
    assert not any("trailmesh" in text or at.node.rooms.identity.node in text for _, _, text in bound.values())


@asynccontextmanager
async def client(at: Served) -> AsyncIterator[ClientSession]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {at.token}"}, timeout=120) as http,
        streamable_http_client(f"{at.address}/mcp/full", http_client=http) as streams,
        ClientSession(*streams) as session,
    ):
        await session.initialize()
        yield session


@pytest.mark.browser
async def test_two_clients_of_one_agent_each_act_in_the_session_that_they_name(tmp_path: Path, shop_url: str) -> None:
    async with served(tmp_path / "home", origins=(shop_url,)) as at, client(at) as one, client(at) as two:
        seen = {one: await call(one, "browser_navigate", url=f"{shop_url}/")}
        seen[two] = await call(two, "browser_navigate", url=f"{shop_url}/help")
        for _ in range(5):
            for each in (one, two):
                live = session_in(seen[each])
                told = await call(each, "browser__getPageInfo", session=live)
                assert session_in(told) == live and (f"{shop_url}/help" in told) is (each is two)
        live = session_in(seen[one])
        link = id_of(seen[one], 'link "Mugs"')
        first = await call(one, "browser_click", target=link, session=live, idempotency_key="mugs")
        again = await call(two, "browser_click", ref=link, session=live, idempotency_key="mugs")
        assert again == first, "one click, whoever repeats it"
        (recorded,) = recorded_in(await call(one, "browser_close", session=live))
        steps = await at.node.dispatch("session.show", f'{{"session": "{recorded}"}}'.encode(), lambda event: None)
        assert len(steps.steps) == 2


@pytest.mark.browser
async def test_a_held_request_is_shown_by_the_client_and_sent_once_after_the_yes_of_the_owner(tmp_path: Path) -> None:
    site, shown = PageServer(), list[str]()
    site.extra["/shop.html"] = PAGE
    await site.start()

    async with served(tmp_path / "home", origins=(site.origin,)) as at:
        room, now_s = at.node.rooms.approvals, int(time.time())

        async def owner(verb: str, **params: Any) -> Any:
            return await at.node.dispatch(verb, msgspec.json.encode(params), lambda event: None)

        async def person(context: Any, params: Any) -> ElicitResult:
            """The owner, who answers with a key in a terminal, and in the client nothing that counts."""
            shown.append(params.message)
            (asked,) = (await owner("approve.list")).questions
            found = await owner("approve.show", question=asked.id)
            question = cbor.decode_as(bytes.fromhex(found.question), Question)
            signed = answer(question, now_s=now_s, expires_ms=(now_s + 600) * 1000)
            await owner("approve.answer", question=asked.id, signed=signed.hex())
            return ElicitResult(action="decline")

        change = room.keys.owners.change("add", "anna", bytes(ANNA.verify_key), 7)
        proof = sign_change(change, ANNA, now_s=now_s, unique=bytes(16))
        await owner("owner.change", by="first", change=cbor.encode(change).hex(), signed=proof.hex())
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {at.token}"}, timeout=120) as http,
            Client(
                streamable_http_client(f"{at.address}/mcp", http_client=http),
                mode="2026-07-28",
                elicitation_callback=person,
            ) as session,
        ):
            seen = text_of(await session.call_tool("browser_navigate", {"url": f"{site.origin}/shop.html"}))
            live = session_in(seen)
            add = id_of(seen, 'button "Add"')
            told = text_of(await session.call_tool("browser_click", {"session": live, "target": add}))
            (message,) = shown
            assert "trailmesh approve yes que-" in message
            assert "sent, once" in told
            await session.call_tool("browser_close", {"session": live})
    await site.stop()
    assert site.reached.count("POST /cart") == 1, site.reached


_CLIENT = """
import json, sys, threading, urllib.request
address, token, session, ref = sys.argv[1:]
def calls(verb, params):
    body = json.dumps({"session": session, **params}).encode()
    while True:
        asked = urllib.request.Request(f"{address}/v1/{verb}", body, {"Authorization": f"Bearer {token}"})
        try:
            urllib.request.urlopen(asked).read()
        except urllib.error.HTTPError as error:
            assert error.code == 429, error.read()
        print("called", flush=True)
for verb, params in (("live.find", {"text": "Mugs"}), ("live.hover", {"ref": ref}), ("live.snapshot", {})) * 2:
    threading.Thread(target=calls, args=(verb, params)).start()
"""
"""Six threads that call all the time."""


@pytest.mark.browser
async def test_clients_that_are_killed_leave_no_call_no_connection_and_no_page(tmp_path: Path, shop_url: str) -> None:
    async with served(tmp_path / "home", origins=(shop_url,)) as at:
        node = at.node

        async def owner(verb: str, **params: Any) -> Any:
            return await node.dispatch(verb, msgspec.json.encode(params), lambda event: None)

        async with client(at) as one:
            seen = await call(one, "browser_navigate", url=f"{shop_url}/")
            live, link = session_in(seen), id_of(seen, 'link "Mugs"')
            for lines in (1, 5, 9):
                command = [sys.executable, "-c", _CLIENT, at.address, at.token, live, link]
                killed = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
                assert killed.stdout is not None
                for _ in range(lines):
                    assert await killed.stdout.readline(), "it calls"
                killed.kill()
                await killed.wait()
                async with asyncio.timeout(60):
                    while (await owner("agent.list")).agents[0].running:
                        pass
            assert live in await call(one, "live_list"), "who has its id goes on with it"
            (recorded,) = recorded_in(await call(one, "browser_close", session=live))
        assert (await owner("session.show", session=recorded)).session.verdict == "pass", "and it is signed"
        async with asyncio.timeout(60):
            while at.connections or node.rooms.browsers.contexts:  # noqa: ASYNC110 (nobody tells of it)
                await asyncio.sleep(0)
