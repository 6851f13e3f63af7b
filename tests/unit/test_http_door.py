"""The HTTP door: who is let in, in which order that is checked, and how it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node import __version__
from node.config import HttpConfig
from node.doors.door import check_host
from node.doors.http_door import DOOR, HttpDoor
from protocol import limits
from protocol.errors import MeshError
from tests.doors import Served, served

WHOAMI = "/v1/node.whoami"


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Served]:
    """A node whose door is open."""
    async with served(tmp_path / "home") as found:
        yield found


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A client without headers of its own."""
    async with aiohttp.ClientSession() as session:
        yield session


async def asked(
    http: aiohttp.ClientSession,
    at: Served,
    path: str = WHOAMI,
    *,
    method: str = "POST",
    data: Any = b"",
    **headers: str,
) -> tuple[int, dict[str, Any], Any]:
    """Status, answer and headers. headers: named with _ for -."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if "Authorization" not in given:
        given["Authorization"] = f"Bearer {at.token}"
    async with http.request(method, at.address + path, data=data, headers=given) as response:
        return response.status, await response.json(), response.headers


async def test_a_verb_is_called_by_its_name_and_answered_in_an_envelope(
    at: Served, http: aiohttp.ClientSession
) -> None:
    status, answer, headers = await asked(http, at, "/v1/live.list", data=b'{"limit": 3}')
    assert (status, answer["ok"], answer["data"]) == (200, True, {"sessions": []})
    assert answer["meta"] == {"verb": "live.list", "version": __version__, "task_id": None}
    assert headers["Cache-Control"] == "no-store" and headers["X-Content-Type-Options"] == "nosniff"
    status, answer, _ = await asked(http, at, "/api/version", method="GET")
    assert answer["data"] == {"name": "trailmesh", "version": __version__}


async def test_a_refusal_says_its_code_the_stage_and_if_it_may_be_repeated(
    at: Served, http: aiohttp.ClientSession
) -> None:
    status, answer, _ = await asked(http, at, "/v1/agent.add", data=b'{"name": "x"}')
    error = answer["error"]
    assert (answer["ok"], error["code"], error["stage"]) == (False, "caller.refused", "call")
    assert (status, error["retryable"], error["task_id"]) == (400, False, None)
    status, answer, _ = await asked(http, at, "/elsewhere", method="GET")
    assert (status, answer["error"]["code"]) == (404, "input.not_found")


async def test_nothing_is_answered_without_a_token(at: Served, http: aiohttp.ClientSession) -> None:
    """Guard: node/doors/http_door.py, HttpDoor._admit."""
    asks = [
        (method, path, "")
        for path in (WHOAMI, "/api/version", "/mcp", "/mcp/full", "/elsewhere")
        for method in ("GET", "POST")
    ]
    asks += [
        ("POST", WHOAMI, token) for token in ("Bearer", "Bearer x", f"Basic {at.token}", f"Bearer {at.token[:-1]}")
    ]
    assert len(asks) < limits.CONTROL_FAILURES_PER_MINUTE, "further ones wait"
    for method, path, token in asks:
        status, answer, _ = await asked(http, at, path, method=method, Authorization=token)
        error = answer.get("error", {})
        assert (status, error.get("code"), error.get("stage")) == (401, "control.unauthorised", "door"), (
            method, path, token,
        )  # fmt: skip


HOSTILE = [
    ("door.host", {"Host": "evil.example"}),
    ("door.host", {"Host": "evil.example:PORT"}),
    ("door.host", {"Host": "127.0.0.1"}),
    ("door.host", {"Host": "127.0.0.1:1"}),
    ("door.host", {"Host": "127.0.0.1.evil.example:PORT"}),
    ("door.origin", {"Origin": "http://evil.example"}),
    ("door.origin", {"Origin": "null"}),
    ("door.origin", {"Origin": "http://localhost:1"}),
    ("door.origin", {"Origin": "https://127.0.0.1:PORT"}),
    ("door.origin", {"Sec-Fetch-Site": "cross-site"}),
    ("door.origin", {"Sec-Fetch-Site": "same-site"}),
]


async def test_a_page_is_refused_before_its_token_is_looked_at(at: Served, http: aiohttp.ClientSession) -> None:
    """Guard: node/doors/door.py, check_from."""
    for code, headers in HOSTILE:
        given = {name: value.replace("PORT", str(at.port)) for name, value in headers.items()}
        for token in (f"Bearer {at.token}", "Bearer wrong"):
            status, answer, _ = await asked(http, at, Authorization=token, **given)
            assert (answer.get("error", {}).get("code"), status) == (code, 421 if code == "door.host" else 403), (
                given,
                token,
            )
    for headers in ({"Host": f"localhost:{at.port}"}, {"Origin": at.address}, {"Sec-Fetch-Site": "same-origin"}):
        status, _, _ = await asked(http, at, **headers)
        assert status == 200, headers


async def test_a_caller_that_calls_too_often_is_told_when_to_come_again(
    at: Served, http: aiohttp.ClientSession
) -> None:
    """Guard: node/doors/http_door.py, HttpDoor._check_rate."""
    answers = [await asked(http, at, "/api/version", method="GET") for _ in range(DOOR.calls_in_a_row * 2)]
    busy = [answer for answer in answers if answer[0] == 429]
    assert busy and {answer["error"]["code"] for _, answer, _ in busy} == {"node.busy"}
    assert {headers["Retry-After"] for _, _, headers in busy} == {"1"} and busy[0][1]["error"]["retryable"]
    added = await at.node.dispatch("agent.add", b'{"name": "other", "scopes": ["read"]}', lambda event: None)
    status, _, _ = await asked(http, at, Authorization=f"Bearer {added.token}")
    assert status == 200, "another caller is not kept out"


async def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(
    at: Served, http: aiohttp.ClientSession
) -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(DOOR.body_bytes_max // 1024 + 1):
            yield b" " * 1024

    for path in (WHOAMI, "/mcp"):
        for data in (b" " * (DOOR.body_bytes_max + 1), parts()):
            status, answer, _ = await asked(http, at, path, data=data)
            assert (status, answer["error"]["code"]) == (413, "input.too_large")


async def test_a_client_that_goes_away_ends_its_call(at: Served, http: aiohttp.ClientSession) -> None:
    began, ended = asyncio.Event(), asyncio.Event()
    verb, _ = at.node.verbs["live.list"]

    async def hang(params: Any, tell: Any) -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    at.node.verbs["live.list"] = (verb, hang)
    call = asyncio.create_task(asked(http, at, "/v1/live.list", data=b"{}"))
    async with asyncio.timeout(60):
        await began.wait()
        call.cancel()
        await ended.wait()


def test_an_address_that_others_can_reach_is_refused_unless_it_is_meant(tmp_path: Path) -> None:
    """Guard: node/doors/http_door.py, HttpDoor.__init__."""
    for host in ("0.0.0.0", "::", "192.0.2.1", "node.example"):
        with pytest.raises(MeshError, match=r"doors\.http\.public must be true"):
            HttpDoor(tmp_path, HttpConfig(serve=True, host=host), None, None)  # type: ignore[arg-type]
        check_host("doors.http", host, public=True)
    check_host("doors.http", "::1", public=False)
