"""MCP over HTTP before programs that others wrote: the conformance suite of the protocol, and the command line of the MCP
inspector. Then our tools beside those of Playwright MCP. ``make interop`` runs it, with the Node.js that it installs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import ClientResponse, ClientSession, web
from mcp.client.session import ClientSession as McpClient
from mcp.client.stdio import StdioServerParameters, stdio_client

from node.doors.tools.profiles import PROFILES
from node.verbs.live.live import LiveList, Pictured
from protocol.errors import MeshError
from tests.doors import Served, served
from tests.mesh_nodes import ROOT

HERE = Path(__file__).parent / "mcp"
PROGRAMS = ROOT / ".venv-interop" / "mcp" / "node_modules"
NODE_JS = ROOT / ".venv-interop" / "bin" / "node"
_OURS = {
    "test_simple_text": ("node_whoami", {}),
    "test_error_handling": ("session_show", {"session": "none"}),
    "test_tool_with_progress": ("live_list", {}),
    "test_image_content": ("browser_take_screenshot", {"session": "liv-1"}),
}
"""The tools that the suite calls by fixed names, and ours of the same kind."""
_OTHERWISE = {
    "browser_click": {"modifiers"},
    "browser_evaluate": {"filename"},
    "browser_find": {"filename", "regex"},
    "browser_snapshot": {"boxes", "depth", "filename"},
    "browser_take_screenshot": {"filename", "fullPage", "target"},
}
"""Parameters of Playwright MCP that our tool of the same name refuses: it writes no file, and has nothing of that effect."""
_NEEDED = {"browser_file_upload": {"paths", "target"}, "browser_find": {"text"}}
"""Parameters that only our tool needs, besides the session: there is no file chooser that stays open, and no regular expression."""
_HOPS = frozenset({"connection", "content-length", "transfer-encoding"})


async def ran(script: str, *words: str) -> tuple[int, str]:
    """Exit status and output of a program of ``PROGRAMS``."""
    process = await asyncio.create_subprocess_exec(
        str(NODE_JS),
        str(PROGRAMS / script),
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(300):
        out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


def renamed(body: bytes) -> bytes:
    """A message in which a tool of the suite is ours."""
    with contextlib.suppress(msgspec.DecodeError):
        message = msgspec.json.decode(body)
        if message.get("method") == "tools/call" and (ours := _OURS.get(message["params"]["name"])):
            message["params"]["name"], message["params"]["arguments"] = ours
            return msgspec.json.encode(message)
    return body


@contextlib.asynccontextmanager
async def relayed(at: Served) -> AsyncIterator[str]:
    """An address that adds the token, because the suite can send none."""
    async with ClientSession(auto_decompress=False) as http:

        async def relay(request: web.Request) -> web.StreamResponse:
            headers = {name: each for name, each in request.headers.items() if name.lower() not in _HOPS}
            for name in {"Host", "Origin"} & set(headers):
                headers[name] = headers[name].replace(f":{port}", f":{at.port}")
            headers["Authorization"] = f"Bearer {at.token}"
            body = renamed(await request.read())
            while True:
                asked = http.request(request.method, f"{at.address}{request.path}", headers=headers, data=body or None)
                async with asked as answer:
                    if answer.status != 429:
                        return await passed_on(request, answer)
                    await asyncio.sleep(int(answer.headers["Retry-After"]))  # the suite calls faster than an agent may

        async def passed_on(request: web.Request, answer: ClientResponse) -> web.StreamResponse:
            told = {name: each for name, each in answer.headers.items() if name.lower() not in _HOPS}
            response = web.StreamResponse(status=answer.status, headers=told)
            await response.prepare(request)
            async for part in answer.content.iter_any():
                await response.write(part)
            await response.write_eof()
            return response

        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", relay)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = int(runner.addresses[0][1])
        try:
            yield f"http://localhost:{port}"
        finally:
            await runner.cleanup()


def answering(at: Served) -> None:
    """Let the verbs behind the tools of the suite answer without a browser."""

    async def listed(params: Any, tell: Any) -> LiveList:
        for number in range(3):
            tell({"did": f"step {number}"})
        return LiveList(sessions=[])

    async def shot(params: Any, tell: Any) -> Any:
        return Pictured(session=params.session, bytes=8, png="iVBORw0KGgo=")

    for name, run in (("live.list", listed), ("live.screenshot", shot)):
        verb, _ = at.node.verbs[name]
        at.node.verbs[name] = (verb, run)


async def test_the_conformance_suite_of_the_protocol_passes_with_every_scenario_about_what_is_offered(
    tmp_path: Path,
) -> None:
    async with served(tmp_path / "home") as at, relayed(at) as address:
        answering(at)
        script = "@modelcontextprotocol/conformance/dist/index.js"
        baseline = str(HERE / "not_offered.yaml")
        words = ("--url", f"{address}/mcp/full", "--suite", "all", "--expected-failures", baseline)
        status, out = await ran(script, "server", *words)
        passed = {line.split()[1].rstrip(":") for line in out.splitlines() if line.startswith("✓")}
    assert status == 0, out
    assert {"server-initialize", "tools-list", "tools-call-error", "dns-rebinding-protection"} <= passed, out


async def test_the_command_line_of_the_inspector_lists_and_calls_the_tools(tmp_path: Path) -> None:
    async with served(tmp_path / "home", "read") as at:
        script = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        base = ("--cli", f"{at.address}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {at.token}")
        status, out = await ran(script, *base, "--method", "tools/list")
        assert status == 0, out
        assert [tool["name"] for tool in json.loads(out)["tools"]] == ["question_state"]
        called = ("--method", "tools/call", "--tool-name", "question_state", "--tool-arg", "question=none")
        _, out = await ran(script, *base, *called)
        assert "id.invalid" in out, out
        status, out = await ran(script, *base[:-1], "Authorization: Bearer nobody", "--method", "tools/list")
        assert status != 0 and "question_state" not in out


def sample(schema: dict[str, Any], target: str = "e1") -> Any:
    """A value of a schema of Playwright MCP."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "boolean":
            return True
        case "number" | "integer":
            return 1
        case "array":
            return [sample(schema["items"])]
        case "object":
            return {name: sample(each) for name, each in schema.get("properties", {}).items()}
    return target


async def test_a_call_for_playwright_mcp_is_one_for_our_tool_of_the_same_name() -> None:
    command = StdioServerParameters(command=str(NODE_JS), args=[str(PROGRAMS / "@playwright/mcp/cli.js"), "--headless"])
    async with stdio_client(command) as streams, McpClient(*streams) as session:
        await session.initialize()
        theirs = {tool.name: tool.input_schema for tool in (await session.list_tools()).tools}
    ours = PROFILES["full"]
    shared = theirs.keys() & ours.keys()
    assert len(shared) > 15, "it lists its tools"
    refuses, needs = dict[str, set[str]](), dict[str, set[str]]()
    for name in shared:
        fields, required = theirs[name].get("properties", {}), set(theirs[name].get("required", ()))
        base = {"session": "liv-1"} | {each: sample(fields[each]) for each in required}
        base |= {
            each: "e1" if each == "target" else ["a"] if each == "paths" else "x" for each in _NEEDED.get(name, ())
        }
        for field, schema in fields.items():
            try:
                ours[name].read(base | {field: sample(schema)})
            except MeshError:
                refuses.setdefault(name, set()).add(field)
        if more := set(ours[name].told.input_schema["required"]) - required - {"session"}:
            needs[name] = more
    assert (refuses, needs) == (_OTHERWISE, _NEEDED)
