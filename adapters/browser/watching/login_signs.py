"""Finds out how a site logs in, from the forms, links and scripts of its page, the headers of its answers, and its cookies.

It keeps only names, types and addresses: no value of a field or a cookie leaves the page.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec
from playwright.async_api import CDPSession
from playwright.async_api import Page as PlaywrightPage

from adapters.browser.page.page import ChromiumPage
from adapters.ports.browser import BrowserState, Context, OpenBrowser, Page
from adapters.ports.login_signs import ReadSigns
from protocol.capsule.flows.auth_flow import (
    BASIC_HEADER,
    BINDING_HEADERS,
    CookieSign,
    FormSign,
    LinkSign,
    SendSign,
    Signs,
)
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Profile
from protocol.risk.requests.requests import GuardPolicy
from protocol.trust.origin import origin_of

_HEADERS: Final = BINDING_HEADERS | {BASIC_HEADER}
_EACH_MAX: Final = 200
_SCRIPT: Final = """
(() => {
  const cut = (text, most = 256) => String(text ?? '').replace(/\\s+/g, ' ').trim().slice(0, most);
  const field = each => [cut(each.type).toLowerCase(), cut(each.name || each.id), cut(each.autocomplete).toLowerCase()];
  const forms = [...document.forms].slice(0, MOST).map(form => ({
    action: cut(new URL(form.getAttribute('action') || '', document.baseURI).href, 4096),
    method: cut(form.method).toLowerCase(),
    fields: [...form.elements].filter(each => each.type && each.tagName !== 'BUTTON').slice(0, 100).map(field)
  }));
  const loose = [...document.querySelectorAll('input')].filter(each => !each.form).slice(0, 100).map(field);
  if (loose.length) forms.push({action: '', method: '', fields: loose});
  const links = [...document.querySelectorAll('a[href], button, [role=button], input[type=submit], input[type=button]')];
  return JSON.stringify({
    forms,
    links: links.slice(0, MOST).map(each => ({
      text: cut(each.innerText || each.value || each.getAttribute('aria-label') || each.title),
      url: cut(each.href, 4096)
    })),
    sources: [...document.querySelectorAll('iframe[src], script[src]')].slice(0, MOST).map(each => cut(each.src, 4096)),
    credentials: [...document.scripts].some(each => /navigator\\.credentials\\.get\\s*\\(/.test(each.textContent)
      && /publicKey/.test(each.textContent))
  });
})()
""".replace("MOST", str(_EACH_MAX))


class _Page(msgspec.Struct, frozen=True, kw_only=True):
    """The result of the script."""

    forms: tuple[FormSign, ...]
    links: tuple[LinkSign, ...]
    sources: tuple[str, ...]
    credentials: bool


class _Hearing:
    """Follows the document of a page through its redirects, and the headers of every answer."""

    def __init__(self, page: PlaywrightPage, session: CDPSession) -> None:
        self.page, self.session = page, session
        self.hops: list[str] = []
        self.headers: dict[tuple[str, str], None] = {}
        self.sends: dict[SendSign, None] = {}
        self._main = ""

    async def start(self) -> None:
        """Listen from now on."""
        tree = await self.session.send("Page.getFrameTree")
        self._main = tree["frameTree"]["frame"]["id"]
        self.session.on("Network.requestWillBeSent", self._sent)
        self.session.on("Network.responseReceived", lambda event: self._answered(event["response"]))
        await self.session.send("Network.enable")

    def _sent(self, event: Mapping[str, Any]) -> None:
        if "redirectResponse" in event:
            self._answered(event["redirectResponse"])
        request = event["request"]
        is_page = event.get("type") == "Document" and event.get("frameId") == self._main
        if is_page and len(self.hops) < _EACH_MAX:
            self.hops.append(request["url"][:4_096])
        headers = {name.lower(): value for name, value in request.get("headers", {}).items()}
        told = headers.get("referer", "")
        # Requests to the page's own site leak nothing to another site.
        if origin_of(request["url"]) != origin_of(told or event.get("documentURL", "")) and len(self.sends) < _EACH_MAX:
            self.sends[SendSign(url=request["url"][:4_096], referer=told[:4_096], document=is_page)] = None

    def _answered(self, response: Mapping[str, Any]) -> None:
        for name in response.get("headers", {}):
            if name.lower() in _HEADERS and len(self.headers) < _EACH_MAX:
                self.headers[origin_of(response["url"]), name.lower()] = None


class _Heard:
    """Implements ``HeardPage``."""

    def __init__(self, context: Context, page: ChromiumPage, hearing: _Hearing) -> None:
        self.page: Page = page
        self._chromium, self._context, self.hearing = page, context, hearing

    async def state(self) -> BrowserState:
        """Implements ``HeardPage.state``."""
        return await self._context.state(whole=True)

    async def signs(self) -> Signs:
        """Implements ``HeardPage.signs``."""
        hearing = self.hearing
        found = [await _read(self._chromium, frame) for frame in await _frames(hearing.session)]
        pages = [each for each in found if each is not None]
        return Signs(
            url=hearing.page.url[:4_096],
            hops=tuple(hearing.hops),
            forms=tuple(form for each in pages for form in each.forms),
            links=tuple(link for each in pages for link in each.links),
            sources=tuple(source for each in pages for source in each.sources),
            credentials=any(each.credentials for each in pages),
            headers=tuple(hearing.headers),
            cookies=_cookies(await self._context.state()),
            sends=tuple(hearing.sends),
        )


def hearer(open_browser: OpenBrowser) -> Callable[[Profile, GuardPolicy], AbstractAsyncContextManager[_Heard]]:
    """A ``HearPage`` in browsers of ``open_browser``, which must be those of this package."""

    @contextlib.asynccontextmanager
    async def hear(profile: Profile, guard: GuardPolicy) -> AsyncIterator[_Heard]:
        browser = await open_browser()
        try:
            context = await browser.open(profile, guard)
            page = await context.page()
            assert isinstance(page, ChromiumPage), "the twin has no network"
            hearing = page.watched_by(_Hearing)
            await hearing.start()
            yield _Heard(context, page, hearing)
        finally:
            await browser.close()

    return hear


def reader(open_browser: OpenBrowser) -> ReadSigns:
    """A ``ReadSigns`` in browsers of ``open_browser``, which must be those of this package."""

    hear = hearer(open_browser)

    async def read(profile: Profile, guard: GuardPolicy, url: str) -> Signs:
        async with hear(profile, guard) as heard:
            await _opened(heard.page, url, heard.hearing)
            return await heard.signs()

    return read


async def _opened(page: Page, url: str, hearing: _Hearing) -> None:
    try:
        await page.perform(Goto(url=url))
    except MeshError as error:
        # A site that asks for Basic authentication has no page, and its headers are all there is to read.
        if error.code not in ("browser.navigation", "browser.no_page") or not hearing.headers:
            raise


async def _frames(session: CDPSession) -> list[str]:
    pending = [(await session.send("Page.getFrameTree"))["frameTree"]]
    found: list[str] = []
    while pending and len(found) < _EACH_MAX:
        tree = pending.pop()
        found.append(tree["frame"]["id"])
        pending += tree.get("childFrames", [])
    return found


async def _read(page: ChromiumPage, frame: str) -> _Page | None:
    text = await page.in_frame(frame, _SCRIPT)
    try:
        return msgspec.json.decode(text, type=_Page) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None  # the page has replaced the functions that the script uses


def _cookies(state: BrowserState) -> tuple[CookieSign, ...]:
    found = json.loads(state.storage)["cookies"]
    return tuple(
        CookieSign(
            name=each["name"][:256],
            domain=each["domain"][:256],
            path=each["path"][:256],
            http_only=each["httpOnly"],
            secure=each["secure"],
            same_site=each.get("sameSite", "").lower(),
        )
        for each in found[:_EACH_MAX]
    )
