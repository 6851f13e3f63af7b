"""Credentials for HTTP basic authentication go to the origin that they were given for, when it asks, and nowhere else."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from adapters.ports.browser import ActionOutcome, Browser
from protocol.errors import MeshError
from protocol.page.actions.action import Click, Goto, Locator
from protocol.page.secrets.secrets import GivenSecret, Secrets
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

RIGHT = "ann:pass word"


@dataclass
class Guarded:
    """A server that asks for credentials at every path but ``/open*``, and notes what it was sent."""

    scheme: str = "Basic"
    bodies: dict[str, str] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    sent: list[tuple[str, str]] = field(default_factory=list)
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                path = head.split(" ", 2)[1]
                given = next((line for line in head.split("\r\n") if line.lower().startswith("authorization:")), "")
                if path != "/favicon.ico":
                    self.sent.append((path, given.partition(" ")[2]))
                writer.write(self._answer(path, given).encode())
        except (EOFError, OSError):
            pass
        finally:
            writer.close()

    def _answer(self, path: str, given: str) -> str:
        right = base64.b64encode(RIGHT.encode()).decode()
        if not path.startswith("/open") and given != f"Authorization: Basic {right}":
            asks = f'{self.scheme} realm="x"' + (', nonce="a", qop="auth"' if self.scheme == "Digest" else "")
            return f"HTTP/1.1 401 No\r\nWWW-Authenticate: {asks}\r\nContent-Length: 9\r\n\r\nno <b>no "
        if path in self.moved:
            return f"HTTP/1.1 302 Found\r\nLocation: {self.moved[path]}\r\nContent-Length: 0\r\n\r\n"
        body = self.bodies.get(path, "<title>in</title><h1>Welcome</h1><a href=/again>Again</a>")
        kind = "Content-Type: text/html\r\n"
        return f"HTTP/1.1 200 OK\r\n{kind}Content-Length: {len(body)}\r\n\r\n{body}"

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def guarded(scheme: str = "Basic") -> AsyncIterator[Guarded]:
    site = Guarded(scheme)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


def given(origin: str, value: str = RIGHT) -> Secrets:
    return Secrets({"site": GivenSecret(value=value, origins=(origin,), basic=True)})


async def opened(browser: Browser, url: str, secrets: Secrets | None = None) -> ActionOutcome:
    context = await browser.open(Profile(), GuardPolicy())
    page = await context.page()
    outcome = await page.perform(Goto(url=url), secrets=secrets)
    links = [item for item in outcome.observation.elements if item.role == "link"]
    if links:
        await page.perform(Click(target=Locator(role="link", name=links[0].name)), ref=links[0].ref, secrets=secrets)
    await context.close()
    return outcome


async def test_a_site_that_asks_gets_what_was_given_for_it_and_pages_behind_it_open(launched: Browser) -> None:
    """Taken out: the answer in ``BrowserJudge._authenticate``."""
    async with guarded() as site:
        outcome = await opened(launched, f"{site.origin}/", given(site.origin))
        assert "Welcome" in outcome.observation.text and (outcome.basic, outcome.challenges) == (("site",), ())
        assert site.sent[-1][0] == "/again" and site.sent[-1][1]
        assert RIGHT.partition(":")[2] not in repr(outcome)


async def test_nobody_else_gets_them(launched: Browser) -> None:
    """Guard: protocol/page/secrets/secrets.py, Secrets.basic."""
    async with guarded() as site, guarded() as other:
        site.moved["/away"] = f"{other.origin}/landed"
        site.bodies["/embeds"] = (
            f"<title>e</title><h1>E</h1><img src={other.origin}/pixel.png><iframe src={other.origin}/frame></iframe>"
        )
        outcome = await opened(launched, f"{site.origin}/away", given(site.origin))
        assert outcome.challenges == (f"basic {other.origin}",)
        await opened(launched, f"{site.origin}/embeds", given(site.origin))
        await opened(launched, f"http://localhost:{site.port}/", given(site.origin))
        assert {path for path, _ in other.sent} == {"/landed", "/frame", "/pixel.png"}
        assert not any(credentials for _, credentials in other.sent)
        assert site.sent[-1] == ("/", "")


async def test_wrong_ones_are_sent_once_and_the_site_is_named(launched: Browser) -> None:
    """Guard: adapters/browser/egress/network.py, NetworkGuard.credentials."""
    async with guarded() as site:
        outcome = await opened(launched, f"{site.origin}/", given(site.origin, "ann:wrong"))
        assert outcome.challenges == (f"refused {site.origin}",)
        assert [bool(credentials) for _, credentials in site.sent] == [False, True]


@pytest.mark.parametrize("scheme", ["Digest"])
async def test_no_other_kind_of_authentication_is_answered(launched: Browser, scheme: str) -> None:
    async with guarded(scheme) as site:
        outcome = await opened(launched, f"{site.origin}/", given(site.origin))
        assert outcome.challenges == (f"{scheme.lower()} {site.origin}",)
        assert not any(credentials for _, credentials in site.sent)


async def test_what_is_asked_in_vain_is_told_with_the_site(launched: Browser) -> None:
    async with guarded() as site:
        assert (await opened(launched, f"{site.origin}/")).challenges == (f"basic {site.origin}",)
        assert (await opened(launched, f"{site.origin}/open")).challenges == ()


async def test_a_browser_that_somebody_else_started_is_not_given_them(browser: Browser) -> None:
    if browser.info.backend == "launched":
        return
    with pytest.raises(MeshError) as refused:
        await opened(browser, "http://127.0.0.1:9/", given("http://127.0.0.1:9"))
    assert refused.value.code == "browser.no_basic"
