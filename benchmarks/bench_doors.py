"""Measures the doors for programs: the cost of a call over MCP, the start of a node, and calls by many at once.

Conditions: a node in a process of its own with one headless Chromium; clients in this process, which call over HTTP on the loopback
interface; a page of 40 rows with a button and a field each, served here, which sends nothing. Bare Playwright has a Chromium of its
own on the same page, and calls take turns, so that whatever else the machine does meets all of them alike.

``mcp.read_overhead_ms``, ``mcp.click_overhead_ms``, ``mcp.type_overhead_ms``: the median of a call of a tool, less that of
Playwright for the same (``aria_snapshot``, ``click``, ``fill``). ``mcp.door_overhead_ms``: the median of a small call over MCP,
less that of the same verb over the agents' socket. ``server.start_s``: from the start of the process until the door is open.
``mcp.calls_per_s``: calls that were done in a second while 200 wait for an answer at any time, by 8 agents with a session each. The
others are told to come again, and the node must not have grown.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2
from aiohttp import ClientSession, TCPConnector, web
from mcp.client.session import ClientSession as McpClient
from mcp.client.streamable_http import streamable_http_client
from playwright.async_api import async_playwright

from adapters.browser.launch.settings import BrowserSettings, find_executable
from benchmarks.registry import benchmark
from node.base.control_file import AGENTS_DIRECTORY, AGENTS_SOCKET_FILE
from node.process.client import AsAgent, call

ROUNDS: Final = 40
STARTS: Final = 5
AGENTS: Final = 8
WAITING: Final = 200
LOAD_S: Final = 20
_NODE: Final = (sys.executable, "-m", "node")
_ROW: Final = (
    '<tr><td>Item {n}</td><td><button onclick="this.dataset.n = (this.dataset.n|0) + 1">Mark {n}</button></td>'
    '<td><input aria-label="Note {n}"></td></tr>'
)
PAGE: Final = f"<title>Rows</title><table>{''.join(_ROW.format(n=n) for n in range(40))}</table>"


class Serving(NamedTuple):
    """A node whose door is open."""

    home: Path
    address: str
    process: subprocess.Popen[str]
    start_s: float


@contextlib.contextmanager
def serving(home: Path) -> Iterator[Serving]:
    """The node of ``home``, which is made if there is none."""
    if not home.exists():
        config = home.parent / "config.yaml"
        config.write_text(
            "{listen: {port: 0}, doors: {http: {serve: true}}, browser: {sandbox: false, contexts_max: 16}}"
        )
        made = ["init", "--home", str(home), "--config", str(config), "--recovery-out", str(home.parent / "recovery")]
        subprocess.run([*_NODE, *made], check=True, capture_output=True)
    began = time.perf_counter()
    command = [*_NODE, "serve", "--home", str(home), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            ready = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
            yield Serving(home, ready["http"], process, time.perf_counter() - began)
        finally:
            process.terminate()


@contextlib.asynccontextmanager
async def paged() -> AsyncIterator[str]:
    """The address of the page."""
    app = web.Application()

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=PAGE, content_type="text/html")

    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def token_of(at: Serving, name: str, url: str) -> str:
    """The token of a new agent that may open ``url``."""
    params = {"name": name, "scopes": ["live", "read"], "origins": [url.rstrip("/")]}
    return str((await call(at.home, "agent.add", params, lambda event: None))["token"])


@contextlib.asynccontextmanager
async def client(at: Serving, token: str) -> AsyncIterator[Callable[..., Awaitable[str]]]:
    """A function that calls a tool and returns its text."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        streamable_http_client(f"{at.address}/mcp", http_client=http) as streams,
        McpClient(*streams) as session,
    ):
        await session.initialize()

        async def tool(name: str, **arguments: Any) -> str:
            result: Any = await session.call_tool(name, arguments)
            assert not result.is_error, result.content
            return str(result.content[0].text)

        yield tool


def id_of(told: str, words: str) -> str:
    """The id of the element whose line has ``words``."""
    line = next(line for line in told.splitlines() if words in line)
    return next(word for word in line.split() if word[:1] == "e" and word[1:].isdigit())


async def in_turn(calls: dict[str, Callable[[int], Awaitable[Any]]]) -> dict[str, float]:
    """The median of each, in milliseconds. The first rounds do not count."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(ROUNDS + 3):
        for name, each in calls.items():
            began = time.perf_counter()
            await each(number)
            times[name].append((time.perf_counter() - began) * 1_000)
    return {name: statistics.median(taken[3:]) for name, taken in times.items()}


async def _overheads() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as directory, serving(Path(directory) / "home") as at:
        async with paged() as url, async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=find_executable(BrowserSettings()), args=["--no-sandbox"]
            )
            page = await browser.new_page()
            await page.goto(url)
            token = await token_of(at, "one", url)
            agent = AsAgent(at.home / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE, token)
            async with client(at, token) as tool:
                live = (opened := await tool("browser_navigate", url=url)).split()[1]
                button, field = id_of(opened, '"Mark 7"'), id_of(opened, '"Note 7"')
                shown = await in_turn(
                    {
                        "first look": lambda n: tool("browser_find", session=live, text="Item 7"),  # after a change
                        "mcp find": lambda n: tool("browser_find", session=live, text="Item 7"),
                        "socket find": lambda n: call(
                            at.home, "live.find", {"session": live, "text": "Item 7"}, lambda event: None, agent=agent
                        ),
                        "bare read": lambda n: page.locator("body").aria_snapshot(),
                        "mcp read": lambda n: tool("browser_snapshot", session=live),
                        "bare click": lambda n: page.get_by_role("button", name="Mark 7", exact=True).click(),
                        "mcp click": lambda n: tool("browser_click", session=live, target=button),
                        "bare type": lambda n: page.get_by_label("Note 7", exact=True).fill(f"text {n}"),
                        "mcp type": lambda n: tool("browser_type", session=live, target=field, text=f"text {n}"),
                    }
                )
                await tool("browser_close", session=live)
            await browser.close()
    return shown


@functools.cache
def overheads() -> dict[str, float]:
    """The medians of all calls, measured once."""
    return asyncio.run(_overheads())


class Load(NamedTuple):
    """The outcome of many calls at once."""

    done: int
    seconds: float
    refused: Counter[str]
    grown: float
    """Memory of the node after the load, as a part of that before it."""


def _memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


async def load(seconds: float) -> Load:
    """``WAITING`` calls at once for ``seconds``: each that is told to come again does so."""
    refused: Counter[str] = Counter()
    done = 0
    with tempfile.TemporaryDirectory() as directory, serving(Path(directory) / "home") as at:
        async with paged() as url, ClientSession(connector=TCPConnector(limit=0)) as http:

            async def ask(token: str, verb: str, **params: Any) -> tuple[int, dict[str, Any], float]:
                headers = {"Authorization": f"Bearer {token}"}
                async with http.post(f"{at.address}/v1/{verb}", json=params, headers=headers) as answer:
                    return answer.status, await answer.json(), float(answer.headers.get("Retry-After", 0))

            async def work(token: str, live: str, until: float, *, counted: bool) -> None:
                nonlocal done
                while time.perf_counter() < until:
                    status, answer, after_s = await ask(token, "live.find", session=live, text="Item 7")
                    if status == 200:
                        done += counted
                    else:
                        refused[answer["error"]["code"]] += counted
                        assert answer["error"]["retryable"] and after_s > 0, answer
                        await asyncio.sleep(after_s)

            opened = []
            for number in range(AGENTS):
                token = await token_of(at, f"agent{number}", url)
                _, answer, _ = await ask(token, "live.open", url=url)
                opened.append((token, answer["data"]["session"]))

            async def all_at_once(seconds: float, *, counted: bool) -> float:
                began = time.perf_counter()
                each = [opened[number % AGENTS] for number in range(WAITING)]
                await asyncio.gather(*(work(*who, began + seconds, counted=counted) for who in each))
                return time.perf_counter() - began

            await all_at_once(3, counted=False)
            before = _memory(at.process.pid)
            taken = await all_at_once(seconds, counted=True)
            return Load(done, taken, refused, _memory(at.process.pid) / before)


@benchmark("mcp.read_overhead_ms", unit="ms", target=15, direction="at most")
def read_overhead_ms() -> float:
    """A snapshot over MCP, less one of Playwright."""
    return overheads()["mcp read"] - overheads()["bare read"]


@benchmark("mcp.click_overhead_ms", unit="ms", target=60, direction="at most")
def click_overhead_ms() -> float:
    """A recorded click over MCP, less one of Playwright."""
    return overheads()["mcp click"] - overheads()["bare click"]


@benchmark("mcp.type_overhead_ms", unit="ms", target=60, direction="at most")
def type_overhead_ms() -> float:
    """Recorded typing over MCP, less that of Playwright."""
    return overheads()["mcp type"] - overheads()["bare type"]


@benchmark("mcp.door_overhead_ms", unit="ms", target=15, direction="at most")
def door_overhead_ms() -> float:
    """A look for a text over MCP, less the same verb over the agents' socket."""
    return overheads()["mcp find"] - overheads()["socket find"]


@benchmark("server.start_s", unit="s", target=1.5, direction="at most")
def start_s() -> float:
    """From the start of `trailmesh node serve` until its door is open; median, the first start does not count."""
    with tempfile.TemporaryDirectory() as directory:
        taken = []
        for _ in range(STARTS + 1):
            with serving(Path(directory) / "home") as at:
                taken.append(at.start_s)
        return statistics.median(taken[1:])


@benchmark("mcp.calls_per_s", unit="calls/s", target=20, direction="at least")
def calls_per_s() -> float:
    """Calls done in a second while 200 wait."""
    found = asyncio.run(load(LOAD_S))
    assert found.grown <= 1.1, f"the node has grown to {found.grown:.2f} of its memory"
    return found.done / found.seconds
