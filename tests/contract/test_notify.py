"""Telling others how a run ended: what is sent, to whom, and what is never followed, read or passed on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from adapters.notify.sender import OutsideNotifier
from adapters.ports.clock import Notifier
from protocol.errors import MeshError
from tests.mesh_nodes import alive, until
from tests.twins.notify import MemoryNotifier

BODY = b'{"status":"failed","code":"search.exhausted"}'


class Hook:
    """A webhook on this machine, which answers with one status after the other; the last one again and again."""

    def __init__(self) -> None:
        self.statuses = [204]
        self.heard: list[tuple[str, str, bytes]] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Any request."""
        self.heard.append((request.method, request.path, await request.read()))
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return web.Response(status=status, headers={"Location": f"{self.url}/elsewhere"} if status == 302 else {})


@pytest.fixture
async def hook() -> AsyncIterator[Hook]:
    made = Hook()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@pytest.fixture(params=["outside", "memory"])
def notifier(request: pytest.FixtureRequest) -> Notifier:
    made: dict[str, Callable[[], Notifier]] = {
        "outside": lambda: OutsideNotifier(timeout_s=5),
        "memory": MemoryNotifier,
    }
    return made[request.param]()


async def test_who_listens_is_told(notifier: Notifier, hook: Hook, tmp_path: Path) -> None:
    await notifier.post(f"{hook.url}/here?token=x", BODY)
    kept = tmp_path / "kept"
    await notifier.run(
        (sys.executable, "-c", "import sys;open(sys.argv[1],'wb').write(sys.stdin.buffer.read())", str(kept)), BODY
    )
    if isinstance(notifier, MemoryNotifier):
        assert [told for _, told in notifier.posted] == [told for _, told in notifier.ran] == [json.loads(BODY)]
    else:
        assert hook.heard == [("POST", "/here", BODY)]
        assert kept.read_bytes() == BODY


async def test_a_webhook_that_fails_is_asked_once_more(hook: Hook) -> None:
    hook.statuses = [503, 200]
    await OutsideNotifier().post(hook.url, BODY)
    assert len(hook.heard) == 2
    hook.statuses = [500]
    with pytest.raises(MeshError, match=r"schedule\.notify"):
        await OutsideNotifier().post(hook.url, BODY)
    assert len(hook.heard) == 4


@pytest.mark.parametrize("address", ["169.254.169.254", "10.255.255.1"])
@pytest.mark.parametrize("named", [True, False])
async def test_a_name_that_leads_elsewhere_than_it_may_is_not_connected_to(
    hook: Hook, monkeypatch: pytest.MonkeyPatch, address: str, named: bool
) -> None:
    """Guard: adapters/notify/sender.py, _socket_to."""
    made: list[int] = []
    real = socket.socket

    def counted(*given: Any) -> socket.socket:
        made.append(1)
        return real(*given)

    async def leads(loop: Any, host: str, port: int, **given: Any) -> list[Any]:
        assert host == "localhost"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(type(asyncio.get_running_loop()), "getaddrinfo", leads)
    monkeypatch.setattr(socket, "socket", counted)
    url = f"http://{'localhost' if named else address}:{hook.url.rpartition(':')[2]}/"
    with pytest.raises(MeshError, match=r"schedule\.notify"):
        await OutsideNotifier(timeout_s=2).post(url, BODY)
    assert (made, hook.heard) == ([], [])


async def test_no_redirect_leads_a_webhook_elsewhere(hook: Hook) -> None:
    """Guard: adapters/notify/sender.py, OutsideNotifier._post_once."""
    hook.statuses = [302]
    with pytest.raises(MeshError, match=r"schedule\.notify"):
        await OutsideNotifier().post(f"{hook.url}/here", BODY)
    assert {path for _, path, _ in hook.heard} == {"/here"}


async def test_no_proxy_of_the_environment_sees_a_webhook(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = "http://127.0.0.1:1"
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    await OutsideNotifier().post(hook.url, BODY)
    assert len(hook.heard) == 1


async def test_an_error_names_neither_address_nor_arguments(notifier: Notifier) -> None:
    if isinstance(notifier, MemoryNotifier):
        notifier.deaf = True
    for telling in (
        notifier.post("http://127.0.0.1:1/secret-of-the-hook", BODY),
        notifier.run(("/no/such/program", "secret-argument"), BODY),
    ):
        with pytest.raises(MeshError) as refused:
            await telling
        assert refused.value.code == "schedule.notify"
        assert "secret" not in str(refused.value) + str(refused.value.detail)


async def test_a_command_is_given_no_secret_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: adapters/notify/sender.py, OutsideNotifier.run."""
    monkeypatch.setenv("TRAILMESH_PASSPHRASE_FILE", "secret")
    kept = tmp_path / "kept"
    code = "import os,sys;open(sys.argv[1],'w').write(' '.join(os.environ))"
    await OutsideNotifier().run((sys.executable, "-c", code, str(kept)), BODY)
    assert {name for name in kept.read_text().split() if not name.startswith("LC_")} <= {"PATH", "HOME", "LANG", "TZ"}


async def test_words_of_a_command_are_no_shell(tmp_path: Path) -> None:
    """Guard: adapters/notify/sender.py, OutsideNotifier.run."""
    kept = tmp_path / "kept"
    code = "import sys;open(sys.argv[1],'w').write(sys.argv[2])"
    with contextlib.suppress(MeshError):  # whatever else comes of it
        await OutsideNotifier().run((sys.executable, "-c", code, str(kept), "$(id); `id` && x"), BODY)
    assert kept.exists()
    assert kept.read_text() == "$(id); `id` && x"


async def test_a_command_that_fails_or_does_not_end_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(MeshError, match=r"schedule\.notify"):
        await OutsideNotifier().run((sys.executable, "-c", "raise SystemExit(3)"), BODY)
    pid = tmp_path / "pid"
    code = (
        "import subprocess,sys;p=subprocess.Popen([sys.executable,'-c','import time;time.sleep(600)']);"
        "open(sys.argv[1],'w').write(str(p.pid));p.wait()"
    )
    with pytest.raises(MeshError, match=r"did not end"):
        await OutsideNotifier(timeout_s=3).run((sys.executable, "-c", code, str(pid)), BODY)
    until(lambda: not alive([int(pid.read_text())]), "the end of what the command had started")
