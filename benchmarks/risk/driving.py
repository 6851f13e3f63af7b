"""Acts on one control with plain Playwright, without any guard, and looks at what it changed."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from playwright.async_api import Browser, BrowserContext, Frame, Page, Response, WebSocket
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Request as PlaywrightRequest

from benchmarks.risk.copies import Copy
from benchmarks.risk.effects import effects
from benchmarks.risk.records import REFUSED, Control, Kind, Place, Request, Truth
from benchmarks.risk.targets import Target
from protocol.risk.requests.sockets import SOCKET_METHOD, page_url

_CONTROLS: Final = (Path(__file__).parent / "controls.js").read_text(encoding="utf-8")
_FILL: Final = (Path(__file__).parent / "fill.js").read_text(encoding="utf-8")
_LOAD_TIMEOUT_MS: Final = 15_000
_ACT_TIMEOUT_MS: Final = 2_500
_QUIET_S: Final = 0.2
_PATIENCE_S: Final = 6.0
_POLL_S: Final = 0.03
_RUNS_MAX: Final = 25
_KEEPS_OPEN: Final = re.compile(r"[0-9](probe)?")
"""Messages of Socket.IO that carry nothing."""
_ENDLESS: Final = frozenset({"eventsource", "websocket", "ping"})
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_CONTROLS_MAX: Final = 400
_BODY_CHARS_MAX: Final = 20_000
_INVALID: Final = (
    "[aria-invalid=true], .errorlist, .errornote, .has-error, .is-invalid, .alert-danger, .alert-error, "
    ".error-message, .error-block, p.error, div.error, .errorbox, .mw-message-box-error"
)
"""How pages mark what a form did not take."""
_HEAR_COMPLAINTS: Final = (
    "() => { window.complaints = 0; addEventListener('invalid', () => { window.complaints += 1 }, true) }"
)
_COMPLAINTS: Final = "() => window.complaints || 0"
_LOCALE: Final = "en-US"


class Lost(RuntimeError):
    """The page cannot be brought into the state it was found in."""


class Visit:
    """One page in a context of its own, with the requests that it sends."""

    def __init__(self, context: BrowserContext, page: Page, copy: Copy) -> None:
        self.page = page
        self.requests: list[Request] = []
        self.acted = False
        self.rejected = False
        """True if the server refused a request of the action that is no GET."""
        self.alerts = 0
        """Dialogs since the action began that only say something."""
        self._context = context
        self._copy = copy
        self._open: dict[PlaywrightRequest, float] = {}
        self._last = time.monotonic()
        context.on("request", self._asked)
        for event in ("requestfinished", "requestfailed"):
            context.on(event, self._answered)
        context.on("response", self._met)
        page.on("websocket", self._connected)
        context.on("dialog", self._asked_back)

    @property
    def target(self) -> Target:
        """The application."""
        return self._copy.target

    def _asked(self, request: PlaywrightRequest) -> None:
        if urlsplit(request.url).scheme not in ("http", "https"):
            return
        self._last = time.monotonic()
        if request.resource_type not in _ENDLESS:
            self._open[request] = self._last
        navigation, body = False, ""
        with suppress(PlaywrightError, UnicodeDecodeError):
            navigation = request.is_navigation_request()
            body = (request.post_data or "")[:_BODY_CHARS_MAX]
        self.requests.append(
            Request(
                method=request.method,
                url=request.url,
                kind=request.resource_type,
                navigation=navigation,
                body=body,
                content_type=request.headers.get("content-type", ""),
                override=request.headers.get("x-http-method-override", ""),
                acted=self.acted,
            )
        )

    def _connected(self, socket: WebSocket) -> None:
        socket.on("framesent", lambda message: self._told(socket.url, message))

    def _told(self, url: str, message: str | bytes) -> None:
        """Something went over a WebSocket: it is judged like a request."""
        body = message if isinstance(message, str) else f"{len(message)} bytes"
        if _KEEPS_OPEN.fullmatch(body):
            return
        self._last = time.monotonic()
        self.requests.append(
            Request(
                method=SOCKET_METHOD,
                url=page_url(url),
                kind="websocket",
                body=body[:_BODY_CHARS_MAX],
                acted=self.acted,
            )
        )

    def _answered(self, request: PlaywrightRequest) -> None:
        self._last = time.monotonic()
        self._open.pop(request, None)

    def _met(self, response: Response) -> None:
        if self.acted and response.status >= 400 and response.request.method not in _READS:
            self.rejected = True

    def _asked_back(self, dialog: Any) -> asyncio.Future[None]:
        self.alerts += self.acted and dialog.type == "alert"
        return asyncio.ensure_future(_accept(dialog))

    async def kept_back(self, control: Control) -> bool:
        """True if a form by POST was not even sent, because the page or the browser complained about its content. The effect of
        the control is then unknown.
        """
        if not control.form.startswith("post ") or any(
            each.acted and each.method not in _READS for each in self.requests
        ):
            return False
        with suppress(PlaywrightError, Lost):
            return self.alerts > 0 or await self.frame(control.frame).evaluate(_COMPLAINTS) > 0
        return False

    async def took_nothing(self) -> bool:
        """True if a write was sent that the application did not accept. The effect of the control is then unknown."""
        if not any(each.acted and each.method not in _READS for each in self.requests):
            return False
        with suppress(PlaywrightError):
            return self.rejected or await self.page.locator(_INVALID).locator("visible=true").count() > 0
        return self.rejected

    async def still(self, least_s: float = 0.0) -> None:
        """Return once nothing was on its way for a moment, after at least ``least_s``."""
        began = self._last = time.monotonic()
        while (now := time.monotonic()) - began < _PATIENCE_S + least_s:
            waiting = [asked for asked in self._open.values() if now - asked < 3]
            if not waiting and now - self._last > _QUIET_S and now - began > least_s:
                return
            await asyncio.sleep(_POLL_S)

    async def fresh(self, state: Any) -> bool:
        """Forget what the page stored and sent; whether that was possible."""
        if len(self._context.pages) != 1 or self.page.is_closed():
            return False
        try:
            await self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear() }")
            await self._context.clear_cookies()
            if state:
                await self._context.add_cookies(state["cookies"])
            await self.page.goto("about:blank")
        except PlaywrightError:
            return False
        self.requests, self.acted, self.rejected, self.alerts = [], False, False, 0
        self._open.clear()
        return not (state and state.get("origins"))

    async def open(self, place: Place) -> None:
        """Load ``place`` and wait until it is still. Raises ``Lost``."""
        target = self.target
        try:
            await self.page.goto(f"{target.origin}{place.path}", wait_until="load", timeout=_LOAD_TIMEOUT_MS)
            if target.ready and place.path != target.login:
                await self.page.locator(target.ready).first.wait_for(timeout=_LOAD_TIMEOUT_MS)
            await self.still(target.ready_s)
            if target.each_load:
                await log_in(self, target.fields)
            for selector in place.via:
                await self.page.locator(selector).first.click(timeout=_ACT_TIMEOUT_MS)
                await self.still()
        except PlaywrightError as error:
            raise Lost(str(error).partition("\n")[0]) from None

    def frame(self, number: int) -> Frame:
        """The frame of this number. Raises ``Lost``."""
        frames = self.page.frames
        if number >= len(frames):
            raise Lost("a frame is gone")
        return frames[number]

    async def controls(self) -> list[Control]:
        """The controls that can be seen now."""
        found = []
        for number, frame in enumerate(self.page.frames[:4]):
            with suppress(PlaywrightError):
                for each in await frame.evaluate(_CONTROLS):
                    each["label"] = each["label"].encode(errors="replace").decode()
                    found.append(Control(frame=number, **each))
        return found[:_CONTROLS_MAX]

    async def signed_in(self) -> set[str]:
        """Names of the cookies that hold something and that scripts cannot read: those of a login."""
        return {
            each.get("name", "") for each in await self._context.cookies() if each.get("httpOnly") and each.get("value")
        }


async def _accept(dialog: Any) -> None:
    with suppress(PlaywrightError):
        await dialog.accept("figs" if dialog.type == "prompt" else "")


async def log_in(visit: Visit, fields: tuple[tuple[str, str], ...]) -> None:
    """Fill in the fields and press Enter in the last one."""
    for selector, value in fields:
        await visit.page.locator(selector).first.fill(value, timeout=_LOAD_TIMEOUT_MS)
    await visit.page.locator(fields[-1][0]).first.press("Enter")
    if visit.target.ready:
        with suppress(PlaywrightError):
            await visit.page.locator(visit.target.ready).first.wait_for(timeout=_LOAD_TIMEOUT_MS)
    await visit.still(0.3)


@asynccontextmanager
async def visiting(browser: Browser, copy: Copy, state: Any) -> AsyncIterator[Visit]:
    """A page in a fresh context that has the login ``state``."""
    context = await browser.new_context(
        storage_state=state, locale=_LOCALE, viewport={"width": 1280, "height": 900}, service_workers="block"
    )
    context.set_default_timeout(_ACT_TIMEOUT_MS)
    try:
        yield Visit(context, await context.new_page(), copy)
    finally:
        with suppress(PlaywrightError):
            await context.close()


class Driver:
    """Truth runs on one copy."""

    def __init__(self, browser: Browser, copy: Copy, state: Any, noise: frozenset[str]) -> None:
        """state: the login, as Playwright stores it. noise: kinds of changes that come without acting."""
        self._browser, self._copy, self._state = browser, copy, state
        self.noise = noise
        self._stack = AsyncExitStack()
        self._open: Visit | None = None
        self._runs = 0

    async def run(self, place: Place, control: Control) -> tuple[list[Truth], list[Control]]:
        """The effects of acting on ``control``, a record for each action; and if there were none, the controls on the page
        afterwards.
        """
        truths: list[Truth] = []
        visit = await self._visit()
        try:
            await visit.open(place)
        except Lost as error:
            await self.close()
            return [self._truth(place, control, control.kind, error=str(error))], []
        kinds: tuple[Kind, ...] = ("fill", "enter") if control.kind == "fill" else (control.kind,)
        signed = await visit.signed_in()
        for kind in kinds:
            began = time.monotonic()
            truth = await self._act(visit, place, control, kind, signed)
            truths.append(msgspec.structs.replace(truth, seconds=round(time.monotonic() - began, 2)))
            if truth.effect or truth.error:
                break
        after: list[Control] = []
        if not any(truth.effect or truth.error for truth in truths) and control.kind == "click":
            same = urlsplit(visit.page.url).path == urlsplit(place.path).path
            after = await visit.controls() if same else []
        if any(truth.effect for truth in truths):
            await self.close()
            await self._copy.restore()
        return truths, after

    async def only_opened(self, place: Place, times: int = 1) -> list[str]:
        """The changes that opening ``place`` causes, watched for as long as an action takes. No action there is responsible for
        them.
        """
        try:
            for _ in range(times):
                await self.close()
                visit = await self._visit()
                await visit.open(place)
                await visit.still(self._copy.target.wait_s)
        except Lost:
            pass  # it has been opened, in whatever state
        await self.close()
        changes = await self._copy.changes()
        if changes:
            await self._copy.restore()
        return effects(changes, self.noise)

    async def _visit(self) -> Visit:
        """A page as after logging in: the one before if that did nothing, since a new context costs more than a page load."""
        if self._open is not None and self._runs < _RUNS_MAX and await self._open.fresh(self._state):
            self._runs += 1
            return self._open
        await self.close()
        self._runs = 0
        self._stack = AsyncExitStack()
        self._open = await self._stack.enter_async_context(visiting(self._browser, self._copy, self._state))
        return self._open

    async def close(self) -> None:
        """Close the page."""
        self._open = None
        await self._stack.aclose()

    async def _act(self, visit: Visit, place: Place, control: Control, kind: Kind, signed: set[str]) -> Truth:
        visit.acted = True
        sends = kind == "enter" or (kind == "click" and _submits(control))
        try:
            if sends:
                await visit.frame(control.frame).evaluate(_HEAR_COMPLAINTS)
            await _perform(visit, control, kind)
            await visit.still(self._copy.target.wait_s)
        except (PlaywrightError, Lost) as error:
            return self._truth(place, control, kind, error=str(error).partition("\n")[0][:200])
        found = effects(await self._copy.changes(), self.noise)
        origin = self._copy.target.origin
        found += sorted(
            {f"sent {each.method} elsewhere" for each in visit.requests if each.acted and _sends(each, origin)}
        )
        if signed - await visit.signed_in():
            found.append("logged out")
        if not found and (await visit.took_nothing() or (sends and await visit.kept_back(control))):
            return self._truth(place, control, kind, error=REFUSED)
        return self._truth(place, control, kind, effect=tuple(found), requests=tuple(visit.requests))

    def _truth(self, place: Place, control: Control, kind: Kind, **rest: Any) -> Truth:
        return Truth(application=self._copy.target.name, place=place, control=control, kind=kind, **rest)


def _sends(request: Request, origin: str) -> bool:
    return request.method not in _READS and not request.url.startswith(origin + "/")


def _submits(control: Control) -> bool:
    return control.type in ("submit", "image") or (control.tag == "button" and control.type in ("", "submit"))


async def _perform(visit: Visit, control: Control, kind: Kind) -> None:
    """The action itself."""
    leave = visit.target.leave
    if kind in ("fill", "enter") and leave and re.search(leave, control.name):
        raise Lost("nothing plausible to type is known")
    element = visit.frame(control.frame).locator(control.selector).first
    if kind == "click":
        if _submits(control) and control.form:
            await element.evaluate(_FILL, leave, timeout=_ACT_TIMEOUT_MS)
        await element.click(timeout=_ACT_TIMEOUT_MS)
    elif kind == "fill":
        await element.fill(_value(control), timeout=_ACT_TIMEOUT_MS)
        await element.blur(timeout=_ACT_TIMEOUT_MS)
    elif kind == "enter":
        if control.form:
            await element.evaluate(_FILL, leave, timeout=_ACT_TIMEOUT_MS)
        await element.press("Enter", timeout=_ACT_TIMEOUT_MS)
    else:
        other = await element.evaluate(
            "(e) => { const o = [...e.options].findIndex((x, i) => i != e.selectedIndex && !x.disabled); return o }"
        )
        if other < 0:
            raise Lost("it has no other option")
        await element.select_option(index=other, timeout=_ACT_TIMEOUT_MS)


def _value(control: Control) -> str:
    values = {
        **{"email": "ann@example.org", "number": "3", "date": "2026-03-04", "time": "10:20", "month": "2026-03"},
        **{
            "datetime-local": "2026-03-04T10:20",
            "week": "2026-W10",
            "url": "https://example.org/",
            "tel": "+4722334455",
        },
    }
    return values.get(control.type, "figs")
