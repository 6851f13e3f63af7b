"""The control API at its sockets and the metrics port: modes, bounds, what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import socket
import stat
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from node.base.control_file import AGENTS_DIRECTORY, AGENTS_SOCKET_FILE, CONTROL_FILE, SOCKET_FILE
from node.config import ControlConfig
from node.doors.connections import Connections, user_of
from node.doors.control import ControlServer, _trusted
from node.doors.control_socket import _bound
from node.doors.metrics import MetricsServer
from node.process.client import call, control_info
from node.verbs import OWNER, Caller
from protocol import limits
from protocol.errors import MeshError
from tests.mesh_memory import until
from tests.unit.test_control_api import serving


class Behind:
    """What stands behind the socket: tells as many events as it is told to, then answers."""

    def __init__(self) -> None:
        self.callers: list[Caller] = []

    async def dispatch(self, verb: str, body: bytes, tell: Any, caller: Caller, key: str = "") -> Any:
        """Answer ``verb``."""
        self.callers.append(caller)
        if verb == "fails":
            raise MeshError("input.not_found", "no such", of="x")
        for number in range(json.loads(body).get("events", 0)):
            tell({"number": number})
        return {"verb": verb, "body": body.decode(), "raw": b"\x01"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[Path, Behind, ControlServer]]:
    behind = Behind()
    server = serving(tmp_path, behind)  # type: ignore[arg-type]
    await server.start()
    yield tmp_path, behind, server
    await server.close()


async def post(home: Path, verb: str, body: bytes, scheme: str = "Bearer") -> tuple[int, str, list[Any]]:
    """Status, kind and lines of the answer to a call of the owner."""
    info = control_info(home)
    assert info is not None
    connector = aiohttp.UnixConnector(path=str(home / SOCKET_FILE))
    headers = {"Authorization": f"{scheme} {info.token}"}
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(f"http://node/v1/{verb}", data=io.BytesIO(body), headers=headers) as response,
    ):
        lines = [json.loads(line) for line in (await response.text()).splitlines()]
        return response.status, response.content_type, lines


# --- calls -----------------------------------------------------------------------------------------------------------


async def test_a_call_is_answered_by_its_events_and_one_result(served: tuple[Path, Behind, ControlServer]) -> None:
    home, behind, _ = served
    status, kind, lines = await post(home, "echo", b'{"events": 2}')
    assert (status, kind) == (200, "application/x-ndjson")
    assert lines == [
        {"event": {"number": 0}},
        {"event": {"number": 1}},
        {"result": {"verb": "echo", "body": '{"events": 2}', "raw": "01"}},
    ]
    assert behind.callers == [OWNER]


async def test_events_that_nobody_reads_are_dropped_and_the_end_is_not(
    served: tuple[Path, Behind, ControlServer],
) -> None:
    *events, result = (await post(served[0], "echo", b'{"events": 5000}'))[2]
    assert [event["event"]["number"] for event in events] == list(range(999)) and "result" in result


async def test_an_error_is_the_last_line_and_a_refusal_the_only_one(served: tuple[Path, Behind, ControlServer]) -> None:
    home, behind, _ = served
    status, _, lines = await post(home, "fails", b"{}")
    assert (status, lines) == (200, [{"error": MeshError("input.not_found", "no such", of="x").shown.to_dict()}])
    for scheme in ("bearer", "Basic", ""):
        status, kind, lines = await post(home, "echo", b"{}", scheme)
        assert (status, kind, lines[0]["error"]["code"]) == (401, "application/json", "control.unauthorised")
    assert len(behind.callers) == 1


async def test_a_body_may_have_as_many_bytes_as_allowed_and_not_one_more(
    served: tuple[Path, Behind, ControlServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, _, _ = served
    most = limits.CONTROL_BODY_BYTES_MAX
    assert (await post(home, "echo", b"{}".ljust(most)))[0] == 200
    status, _, lines = await post(home, "echo", b"{}".ljust(most + 1))
    assert (status, lines[0]["error"]["code"]) == (413, "input.too_large")
    assert lines[0]["error"]["message"] == f"a command takes at most {most // limits.MIB} MiB"


async def test_a_body_that_does_not_come_whole_is_waited_for_no_longer_than_its_time(
    served: tuple[Path, Behind, ControlServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BODY_TIMEOUT_S", 0.01)
    home, behind, _ = served
    info = control_info(home)
    assert info is not None
    reader, writer = await asyncio.open_unix_connection(str(home / SOCKET_FILE))
    head = f"POST /v1/echo HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer {info.token}\r\nContent-Length: 9\r\n\r\n{{"
    writer.write(head.encode())
    async with asyncio.timeout(120):
        answer = (await reader.readuntil(b"\r\n\r\n")).decode()
        text = await reader.readexactly(int(answer.partition("Content-Length: ")[2].partition("\r")[0]))
    assert " 400 " in answer.splitlines()[0] and b"the call did not come whole within 0.01 s" in text
    assert behind.callers == []
    writer.close()


# --- files -----------------------------------------------------------------------------------------------------------


def modes_below(directory: Path) -> dict[str, int]:
    """Every name below it, with its mode."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.rglob("*")}


@pytest.mark.parametrize("sent", [b"POST /v1/" + b"a" * 9_000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01\r\n\r\n"])
async def test_what_is_no_http_is_no_fault_of_the_node_and_is_not_repeated(
    served: tuple[Path, Behind, ControlServer], caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    """Guard: node/doors/connections.py, _Connection.handle_error."""
    home, _, _ = served
    for path in (home / SOCKET_FILE, home / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE):
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(sent)
        answer = await asyncio.wait_for(reader.read(), 120)
        assert answer.startswith(b"HTTP/1.0 400 ") and b"aaa" not in answer and b"x16" not in answer
        writer.close()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_what_a_server_puts_up_is_private_and_taken_down_at_its_end(tmp_path: Path) -> None:
    server = serving(tmp_path, Behind())  # type: ignore[arg-type]
    await server.start()
    modes = modes_below(tmp_path)
    assert modes == {CONTROL_FILE: 0o600, SOCKET_FILE: 0o600, AGENTS_DIRECTORY: 0o700, AGENTS_SOCKET_FILE: 0o600}
    info = control_info(tmp_path)
    assert info is not None and info.pid == os.getpid() and len(bytes.fromhex(info.token)) == limits.CONTROL_TOKEN_BYTES
    await server.close()
    assert list(modes_below(tmp_path)) == [AGENTS_DIRECTORY]
    await server.close()


async def test_a_directory_of_an_older_node_gets_the_mode_of_the_configuration(tmp_path: Path) -> None:
    (tmp_path / AGENTS_DIRECTORY).mkdir(mode=0o777)
    server = serving(tmp_path, Behind(), ControlConfig(access="group"))  # type: ignore[arg-type]
    await server.start()
    assert stat.S_IMODE((tmp_path / AGENTS_DIRECTORY).stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE).stat().st_mode) == 0o660
    await server.close()


@pytest.mark.parametrize(
    ("mode", "trusted"), [(0o700, True), (0o755, True), (0o1755, True), (0o720, False), (0o702, False), (0o777, False)]
)
def test_a_directory_is_trusted_if_only_this_user_can_write_to_it(tmp_path: Path, mode: int, trusted: bool) -> None:
    directory = tmp_path / "d"
    directory.mkdir()
    directory.chmod(mode)
    if trusted:
        assert _trusted(directory) == directory
    else:
        with pytest.raises(MeshError) as refused:
            _trusted(directory)
        assert refused.value.code == "config.invalid"
        assert refused.value.message.endswith("must belong to the user of the node and must not be writable for others")


def test_a_directory_of_another_user_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uid = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: uid + 1)
    with pytest.raises(MeshError, match="must belong to the user"):
        _trusted(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [("none", "No such file or directory"), ("file", "is not a directory")],
)
def test_what_is_no_directory_is_told_so(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").touch()
    for path, message in ((tmp_path / name, said), (Path(name), "is not absolute")):
        with pytest.raises(MeshError) as refused:
            _trusted(path)
        assert refused.value.code == "config.invalid"
        assert refused.value.message.startswith(f"control.directory: {path}") and message in refused.value.message


def test_a_socket_that_cannot_be_made_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []

    class Watched(socket.socket):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(socket, "socket", Watched)
    with pytest.raises(MeshError) as refused:
        _bound(tmp_path / "none" / "s", 0o600, tmp_path)
    assert refused.value.code == "config.invalid"
    assert refused.value.message == f"the socket {tmp_path / 'none' / 's'} cannot be made: No such file or directory"
    assert [each.fileno() for each in made] == [-1] and list(tmp_path.iterdir()) == []
    with _bound(tmp_path / "s", 0o640, tmp_path) as bound:
        assert not bound.getblocking()
        assert [(each.name, stat.S_IMODE(each.stat().st_mode)) for each in tmp_path.iterdir()] == [("s", 0o640)]
    handles = set(os.listdir("/proc/self/fd"))
    _bound(tmp_path / "s", 0o640, tmp_path).close()
    assert set(os.listdir("/proc/self/fd")) <= handles


def test_the_user_of_a_connection_is_known_or_all_count_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    with one, other:
        assert user_of(one) == os.getuid()

        class Told:
            family = socket.AF_UNIX

            def getsockopt(self, *given: Any) -> bytes:
                return struct.pack("3i", 11, 22, 33)

        assert user_of(Told()) == 22  # type: ignore[arg-type]
        with socket.socket() as other_kind:
            assert user_of(other_kind) == -1
        monkeypatch.delattr(socket, "SO_PEERCRED")
        assert user_of(one) == -1


def test_places_are_counted_and_given_back() -> None:
    door = Connections(3, 2)
    for _ in range(3):
        assert [door.admit(user) for user in (7, 7, 7, 8, 8)] == [True, True, False, True, False]
        for user in (7, 7, 8):
            door.release(user)
    assert door._users.total() == 0


async def test_the_place_of_a_connection_is_free_once_it_is_gone(
    served: tuple[Path, Behind, ControlServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, _, server = served
    sockets = {each._path.name: each for each in server._sockets}
    owner = sockets[SOCKET_FILE]
    assert list(sockets) == [AGENTS_SOCKET_FILE, SOCKET_FILE]
    assert (await call(home, "echo", {}, lambda event: None))["verb"] == "echo"
    await until(lambda: owner._connections._users.total() == 0, "the place is free")
    monkeypatch.setattr(owner._connections, "_per_user", 0)
    with pytest.raises(MeshError) as refused:
        await call(home, "echo", {}, lambda event: None)
    assert refused.value.code == "node.stopped"
    await asyncio.sleep(0)
    assert owner._connections._users.total() == 0, "who was not let in is not counted out"


async def test_a_socket_that_was_exchanged_is_left_alone(served: tuple[Path, Behind, ControlServer]) -> None:
    home, _, server = served
    (home / SOCKET_FILE).unlink()
    (home / SOCKET_FILE).mkdir()
    await server.close()
    assert (home / SOCKET_FILE).is_dir()


# --- metrics ---------------------------------------------------------------------------------------------------------


async def rendered() -> bytes:
    return b"up 1\n"


async def broken() -> bytes:
    raise MeshError("store.full", "no")


async def said(server: MetricsServer, request: str) -> str:
    """Everything that the server says to one request."""
    reader, writer = await asyncio.open_connection(server._listener._host, server._listener.port)
    writer.write(request.replace("PORT", str(server._listener.port)).encode())
    async with asyncio.timeout(120):
        answer = await reader.read()
    writer.close()
    return answer.decode()


GET = "GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n"


@pytest.mark.parametrize(
    ("host", "public", "asked", "status"),
    [
        ("127.0.0.1", False, "127.0.0.1:PORT", "200 OK"),
        ("127.0.0.1", False, "localhost:PORT", "200 OK"),
        ("127.0.0.1", False, "localhost", "421 Misdirected Request"),
        ("127.0.0.1", False, "a.example", "421 Misdirected Request"),
        ("127.0.0.1", True, "a.example", "200 OK"),
        ("::1", False, "[::1]:PORT", "200 OK"),
        ("::1", False, "::1:PORT", "421 Misdirected Request"),
    ],
)
async def test_metrics_are_for_who_names_this_machine(host: str, public: bool, asked: str, status: str) -> None:
    server = MetricsServer(host, 0, rendered, "text/x", public=public)
    address = await server.start()
    shown = f"[{host}]" if ":" in host else host
    assert address == f"http://{shown}:{server._listener.port}/metrics"
    head, _, body = (await said(server, GET.format(asked))).partition("\r\n\r\n")
    text = "up 1\n" if status == "200 OK" else ""
    first, *headers = head.splitlines()
    assert (first, body) == (f"HTTP/1.1 {status}", text)
    assert {"Content-Type: text/x", "X-Content-Type-Options: nosniff", "Connection: close"} <= set(headers)
    await server.close()
    await server.close()


async def test_metrics_that_cannot_be_made_are_a_warning_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    server = MetricsServer("127.0.0.1", 0, broken, "text/x")
    await server.start()
    assert (await said(server, GET.format("127.0.0.1:PORT"))).startswith("HTTP/1.1 503 Service Unavailable\r\n")
    assert "no metrics: " in caplog.text
    await server.close()


async def test_a_port_that_is_taken_and_an_address_that_is_not_ours_are_told_apart() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for host, port, code in (
            ("127.0.0.1", taken.getsockname()[1], "node.address_in_use"),
            ("192.0.2.1", 0, "config.invalid"),
        ):
            server = MetricsServer(host, port, rendered, "text/x")
            with pytest.raises(MeshError) as refused:
                await server.start()
            assert (refused.value.code, refused.value.message) == (code, f"metrics: cannot listen on {host}:{port}")
            await server.close()


async def test_a_metrics_server_that_closes_waits_for_nobody() -> None:
    server = MetricsServer("127.0.0.1", 0, rendered, "text/x")
    await server.start()
    _, writer = await asyncio.open_connection("127.0.0.1", server._listener.port)
    places = server._listener._connections._users
    await until(lambda: places.total() == 1, "it is let in")
    async with asyncio.timeout(120):
        await server.close()
    writer.close()
    await until(lambda: not places.total(), "its place is free")


async def large() -> bytes:
    return b"x" * 8_000_000


@pytest.mark.parametrize(("body_s", "dropped"), [(0.01, True), (30.0, False)])
async def test_who_does_not_read_the_metrics_in_time_is_dropped(
    monkeypatch: pytest.MonkeyPatch, body_s: float, dropped: bool
) -> None:
    monkeypatch.setattr(limits, "BODY_TIMEOUT_S", body_s)
    server = MetricsServer("127.0.0.1", 0, large, "text/x")
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server._listener.port)
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(GET.format(f"127.0.0.1:{server._listener.port}").encode())
    places = server._listener._connections._users
    await until(lambda: places.total() == 1, "it is let in")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(until(lambda: not places.total(), "dropped"), 5 if dropped else 0.1)
    assert (places.total() == 0) is dropped
    writer.close()
    await server.close()
