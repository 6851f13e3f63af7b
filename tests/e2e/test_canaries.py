"""Canaries: secrets of every kind a node meets, planted for one run, are in no byte that leaves it and in no file but their own.

One node is a process of its own that records, exports, replays, explores and pairs, with a real Chromium and everything
written to its log. The other runs inside the test, so that every byte that the first one says to it is seen in the clear,
behind TLS.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp.client_proto
import pytest
from aiohttp import web

from adapters.transport.tls.listener import Connection
from node.base.control_file import CONTROL_FILE
from node.process.runtime import serve
from protocol.messages import KIND_MESSAGE
from protocol.pairing.invite import parse_invite
from protocol.wire.envelope import content_type
from tests.canaries import files_with, forms, found_in, layers
from tests.mesh_nodes import CONFIG, Node, cli

pytestmark = pytest.mark.browser

PASSWORD = "Zq7 /canary+pä55 wörd=1"
COOKIE, SCRIPT_COOKIE = "cookie-canary-5f1c9d02aa", "script-cookie-canary-77ab01"
STORED, SESSION_STORED = "stored-canary-9e8d7c6b5a", "session-stored-canary-4f3e2d1c"
PERSON, NUMBER = "canary.person@people.example", "+49 30 90182077"
MADE = (PASSWORD.upper(), PASSWORD[::-1], "\u200b".join(PASSWORD), " ".join(PASSWORD), PASSWORD.encode().hex())
"""What a page may make of a password."""
HOME = f"""<title>Home</title><h1>Welcome back</h1>
<p>You signed in with WORD.</p>
<p>ECHO</p><ol>EACH</ol>
<p>Write to {PERSON} or call {NUMBER}.</p>
<a href="/a?token={STORED}">Alpha</a> <a href="/b?session={COOKIE}">Beta</a>
<script>
document.cookie = 'seen={SCRIPT_COOKIE}';
localStorage.setItem('token', '{STORED}');
sessionStorage.setItem('token', '{SESSION_STORED}');
fetch('/api?access_token={SESSION_STORED}', {{headers: {{Authorization: 'Bearer {STORED}'}}}});
</script>"""
LOGIN = """<title>Sign in</title><form method="post" action="/login">
<label>Password <input type="password" name="password"></label><button>Sign in</button></form>"""


def signed_in() -> str:
    """A page that says the password back in several forms, and one character in an element each."""
    each = "".join(f"<li>{char}</li>" for char in PASSWORD if char != " ")
    return HOME.replace("WORD", PASSWORD).replace("ECHO", "</p><p>".join(MADE)).replace("EACH", each)


class Site:
    """A site that keeps its visitors' secrets everywhere a site can, and says what it was shown."""

    def __init__(self) -> None:
        self.shown = b""

    async def _any(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.shown += b"\n".join([request.path_qs.encode(), str(dict(request.headers)).encode(), body, b""])
        if request.path == "/login" and request.method == "POST":
            word = (await request.post()).get("password", "")
            self.shown += str(word).encode()
            response = web.Response(status=303, headers={"Location": f"/home?session={COOKIE}&code={SESSION_STORED}"})
        else:
            name = request.path.strip("/")
            text = {"login": LOGIN, "home": signed_in(), "start": HOME}.get(
                name, f"<title>Page {name}</title><h1>Page {name}</h1><a href='/start'>Start</a>"
            )
            response = web.Response(text=text, content_type="text/html")
        response.set_cookie("session", COOKIE, httponly=True)
        return response

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Its address."""
        app = web.Application()
        app.router.add_route("*", "/{name:.*}", self._any)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


class Ear:
    """Every byte that peers of this process said to it over TLS, in the clear, headers included."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.heard = bytearray()
        for place in (Connection, aiohttp.client_proto.ResponseHandler):
            patch.setattr(place, "data_received", self._tapped(place.data_received))

    def _tapped(self, real: Callable[[Any, bytes], None]) -> Callable[[Any, bytes], None]:
        def data_received(protocol: Any, data: bytes) -> None:
            self.heard += data
            real(protocol, data)

        return data_received


@asynccontextmanager
async def serving_here(home: Path) -> AsyncIterator[None]:
    """A node that serves in this very process."""
    ready = asyncio.Event()
    task = asyncio.create_task(serve(home, lambda said: ready.set()))
    waiting = asyncio.create_task(ready.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED, timeout=120)
        assert ready.is_set(), task.exception() if task.done() else "it does not serve"
        yield
    finally:
        waiting.cancel()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Said:
    """Runs commands of a node and keeps what they print."""

    def __init__(self, node: Node) -> None:
        self.node, self.out = node, b""

    async def __call__(self, *arguments: str) -> Any:
        status, out, err = await asyncio.to_thread(cli, *arguments, "--json", home=self.node.home)
        self.out += (out + err).encode()
        assert status == 0, out + err
        return json.loads(out)


def seed_of(home: Path) -> bytes:
    """The seed of a witness key that is kept in a plain file."""
    return bytes.fromhex((home / "witness.key").read_text().splitlines()[-1])


async def test_no_canary_is_in_a_byte_that_leaves_or_in_a_file_but_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: protocol/page/secrets/redaction.py, redact_url.
    Guard: node/pairing/pairing_desk.py, PairingDesk.invite.
    """
    ear, site = Ear(monkeypatch), Site()
    anna = Node(tmp_path / "anna" / "home", "anna")
    bruno = Node(tmp_path / "bruno" / "home", "bruno")
    made = tmp_path / "made"
    made.mkdir()
    word = tmp_path / "word.txt"
    word.write_text(PASSWORD + "\n")
    for node in (anna, bruno):
        await asyncio.to_thread(node.create, tmp_path, CONFIG + "log_level: debug\n")
    said, bruno_said = Said(anna), Said(bruno)
    secrets = {"witness seed": seed_of(anna.home), "password": PASSWORD.encode()}
    secrets |= {
        name: value.encode()
        for name, value in {
            "cookie": COOKIE,
            "cookie of a script": SCRIPT_COOKIE,
            "stored": STORED,
            "stored for a session": SESSION_STORED,
            "an e-mail address": PERSON,
            "a telephone number": NUMBER,
        }.items()
    }
    secrets |= {f"what a page made of the password, {place}": made.encode() for place, made in enumerate(MADE)}
    async with site.serving() as url, serving_here(bruno.home):
        await asyncio.to_thread(anna.start)
        try:
            token = json.loads((anna.home / CONTROL_FILE).read_text())["token"]
            secrets["control token"] = token.encode()
            invited = await asyncio.to_thread(cli, "node", "invite", "--grant", "explore", "--json", home=anna.home)
            invite = json.loads(invited[1])["invite"]  # the one output that is owed its token
            secrets["invite token"] = parse_invite(invite, 0).token
            await bruno_said("node", "join", "--peer", invite, "--grant", "explore")
            unused = json.loads((await asyncio.to_thread(cli, "node", "invite", "--json", home=anna.home))[1])["invite"]
            secrets["token of an open invite"] = parse_invite(unused, 0).token
            actions = tmp_path / "actions.yaml"
            actions.write_text(
                f"title: Sign in\nstart: {url}/login?token={STORED}\nsteps:\n"
                "  - fill: {role: textbox, name: Password, value: {secret: word}}\n"
                "  - click: {role: button, name: Sign in}\n"
                "  - click: {role: link, name: Beta}\n"
            )
            allowed = ["--secret", f"word=@{word}", "--allow", f"POST {url}/login", "--approve-class", "7"]
            session = (await said("session", "record", str(actions), *allowed))["id"]
            await said("session", "show", session)
            await said("session", "export", session, "--out", str(made / "signed-in.tmsession"))
            await said("session", "replay", session, *allowed, "--out", str(made / "replay.report"))
            goal = ["--goal", "find the page b", "--start", f"{url}/start"]
            until = json.dumps({"title": "Page b"})
            found = await said("explore", "run", *goal, "--until", until, "--seconds", "30")
            assert found["verified"]
            shown = await said("explore", "show", found["search"], "--html", str(made / "report.html"))
            assert {peer["name"] for peer in shown["spend"]} >= {"anna"}
            await said("session", "export", found["session"], "--out", str(made / "found.tmsession"))
            await bruno_said("session", "import", str(made / "found.tmsession"))
            for command in (["node", "status"], ["node", "peers"], ["node", "doctor", "--no-browser"], ["log", "show"]):
                await said(*command)
        finally:
            await asyncio.to_thread(anna.stop)
    # What is looked at is not empty, and what is looked for can be found: where it belongs.
    assert found_in(site.shown, secrets), "the site was shown the canaries it is owed"
    for name in ("password", "cookie", "stored"):
        assert secrets[name] in site.shown, name
    assert content_type(KIND_MESSAGE).encode() in ear.heard
    assert b"deltas/push" in ear.heard
    assert len(said.out) > 1_000
    # The owed places: the key file holds the key, and the token was in the control file, which is gone.
    assert files_with(anna.home, secrets) == {"witness.key": ["witness seed (hex)"]}
    assert files_with(bruno.home, secrets) == {}
    assert files_with(made, secrets) == {}
    for name, data in {
        "said to a peer": bytes(ear.heard),
        "printed": said.out,
        "printed there": bruno_said.out,
    }.items():
        assert {hit for layer in layers(data) for hit in found_in(layer, secrets)} == set(), name


@pytest.mark.parametrize("form", forms(b"x" * 20))
def test_a_canary_is_found_in_every_form(form: str) -> None:
    """What the search above relies on."""
    secret = "Zq7 /canary+pä55".encode()
    written = forms(secret)[form]
    assert len(written) >= len(secret) - 4
    assert found_in(b"before " + written + b" after", {"it": secret})
    for shift in range(3):
        assert found_in(base64.b64encode(b"y" * shift + secret + b"z"), {"it": secret})
