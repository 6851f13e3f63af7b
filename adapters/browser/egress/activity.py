"""Tracks the activity of a page: navigations, loading frames, requests of its scripts, pop-ups, dialogs, crashes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeVar, cast, get_args

import msgspec
from playwright.async_api import CDPSession, Page, Request, Response
from playwright.async_api import Dialog as PlaywrightDialog
from playwright.async_api import Error as PlaywrightError

from adapters.browser.base.denied import denied
from adapters.browser.base.faults import translated
from adapters.browser.base.unrequested import BINDING, NOTES, other_program
from adapters.browser.egress.caused import Caused
from adapters.browser.egress.holding import WaitingRequests
from adapters.ports.browser import NOTHING, Given
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Wait, describe
from protocol.page.actions.assertion import fits_response
from protocol.page.actions.dialogs import Dialog, DialogKind

T = TypeVar("T")

_KEPT_MAX: Final = 100
"""How many pop-ups and dialogs are kept until they are read; a page could open any number of them."""


_ANSWERS_MAX: Final = 20_000
_LISTENS_S: Final = 0.01  # after the last answer, so that its waiter goes on first
_GIVEN_UP: Final = "net::ERR_ABORTED"


class Activity:
    """Follows the events of one page. It reads only Chromium's reports and never asks the page."""

    def __init__(self, *, leaves: bool = False) -> None:
        """leaves: True if the page may be left even if it asks to stay (``beforeunload``)."""
        self._leaves = leaves
        self.serial = 0
        """Grows with every navigation and scripted request that begins."""
        self.documents = 0
        """How many documents the page has loaded."""
        self.popups: list[str] = []
        self.dialogs: list[Dialog] = []
        self.chooser = False
        """True if the page has asked for a file since the action began. The request is refused."""
        self.console_errors: list[str] = []
        """The errors that the page has logged to its console or did not catch."""
        self.answers: list[tuple[str, str]] = []
        """Method and address of script requests that were answered since the last action with an effect."""
        self.given = NOTHING
        """The means of the current action; they say how dialogs are answered."""
        self.waiting: WaitingRequests | None = None
        """Its requests that wait for a yes; None before there is a guard."""
        self.caused = Caused()
        """Determines which requests the present step causes."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._loading: set[str] = set()
        self._requests: Counter[tuple[str, str]] = Counter()
        """Method and address of each script request that waits for its answer."""
        self._earlier: Counter[tuple[str, str]] = Counter()
        """The requests in ``_requests`` that were sent before the action began."""
        self._announced: Counter[tuple[str, str]] = Counter()
        """The requests in ``_requests`` of which only the preflight was sent so far."""
        self._streams: Counter[tuple[str, str]] = Counter()
        """The requests in ``_requests`` whose answer has begun but not ended."""
        self._held = 0
        """Script requests that wait for the guard's decision."""
        self._hears_document = False
        self._listens = False
        """True while Playwright reports the answers that the page gets."""
        self._page: Page | None = None
        self._main = ""
        self._dom_pending = False
        self._turns = 0
        """How often the main frame has begun to load, or was parsed or loaded."""
        self._asked_at = 0.0
        """The time at which the main frame began to load."""
        self.committed = False
        """True once the first bytes of the newest document of the main frame have come."""
        self.unfinished = False
        """True while the document of the main frame still loads although the wait for it was given up."""
        self._notes: dict[str, None] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, page: Page, session: CDPSession, main_frame: str) -> None:
        """Listen from now on."""
        self._page = page
        self._main = main_frame
        session.on("Page.frameRequestedNavigation", self._navigation_requested)
        session.on("Page.frameNavigated", self._navigated)
        session.on("Page.frameStartedLoading", self._started)
        session.on("Page.frameNavigated", self._came)
        session.on("Page.frameStoppedLoading", self._stopped)
        session.on("Page.frameDetached", self._stopped)
        session.on("Page.domContentEventFired", self._dom_ready)
        session.on("Page.windowOpen", self._window_opened)
        page.on("dialog", self._dialog)
        # Not Playwright's events, because this session reports these anyway.
        session.on("Runtime.consoleAPICalled", self._console)
        session.on("Runtime.exceptionThrown", self._thrown)
        session.on("Runtime.bindingCalled", self._did)
        # Subscribed permanently, because requests rarely fail. The other two events come with each picture, so they are subscribed
        # only while a script waits.
        page.on("requestfailed", self._request_failed)
        page.on("crash", lambda _: self.lost())
        page.on("close", lambda _: self.lost())
        # This listener stops Chromium from opening its own file chooser.
        page.on("filechooser", self._chooser)

    # --- events ---

    def _navigation_requested(self, event: Mapping[str, Any]) -> None:
        self.note(other_program(event["url"]))
        if event.get("disposition", "currentTab") == "currentTab":
            self._began()

    def _navigated(self, event: Mapping[str, Any]) -> None:
        if event["frame"]["id"] == self._main:
            self.documents += 1
            if self.waiting is not None:
                self.waiting.left()

    def _started(self, event: Mapping[str, Any]) -> None:
        self._loading.add(event["frameId"])
        if event["frameId"] == self._main:
            self._dom_pending, self.committed, self._asked_at = True, False, time.monotonic()
            self._turns += 1
        self._began()

    def _came(self, event: Mapping[str, Any]) -> None:
        if event["frame"]["id"] == self._main:
            self.committed, self.unfinished = True, False
            self._changed.set()

    def _stopped(self, event: Mapping[str, Any]) -> None:
        self._loading.discard(event["frameId"])
        if event["frameId"] == self._main:
            self._dom_pending = False
            self._turns += 1
        self._changed.set()

    def _dom_ready(self, _: object) -> None:
        self._dom_pending = self.unfinished = False
        self._turns += 1
        self._changed.set()

    def _window_opened(self, event: Mapping[str, Any]) -> None:
        self.note(other_program(event["url"]))
        if len(self.popups) < _KEPT_MAX:
            self.popups.append(event["url"])
        self._changed.set()

    def _chooser(self, _: object) -> None:
        self.chooser = True

    def lets_choose_files(self) -> None:
        """From now on Chromium opens its own file chooser, for a person to choose files."""
        assert self._page is not None
        self._page.remove_listener("filechooser", self._chooser)

    async def sends(self, method: str, url: str, *, announced: bool = False) -> None:
        """Return when the end of a script's request, which is about to be sent, is sure to be reported.

        announced: only its preflight is sent. The request follows unless the site refuses it. No event reports the end of a
        preflight, but the end of its request is always reported.
        """
        if self._page is None:
            return
        if not announced and self._announced[method, url]:
            self._announced[method, url] -= 1
            return
        self._announced[method, url] += announced
        self._listen()
        self._requests[method, url] += 1
        self.caused.sends(method, url)
        self._began()
        await asyncio.sleep(0)  # Playwright subscribes in a separate task; let it run

    def _listen(self) -> None:
        # Subscribed only while needed: a message for each image of a page takes a tenth of the time of a replay.
        if self._page is not None and not self._listens:
            self._listens = True
            self._page.on("response", self._answered)
            self._page.on("requestfinished", self._request_ended)

    def hear_document(self) -> None:
        """Read the headers of the answer to the document of the main frame, which is about to be requested.

        Subscribed only until it has come, for the same reason as the answers to scripts.
        """
        if self._page is not None and not self._hears_document:
            self._hears_document = True
            self._page.on("response", self._document_answered)

    def _document_answered(self, response: Response) -> None:
        with contextlib.suppress(PlaywrightError):  # a frame that is gone
            request = response.request
            moves = HTTPStatus.MULTIPLE_CHOICES <= response.status < HTTPStatus.BAD_REQUEST
            if moves or not request.is_navigation_request() or response.frame.parent_frame is not None:
                return
            header = response.headers.get("retry-after", "")
            self.caused.puts_off(response.url, response.status, header, document=True)
        self._hears_document = False
        if self._page is not None and not self.gone.done():
            with contextlib.suppress(PlaywrightError, KeyError):  # the driver is gone
                self._page.remove_listener("response", self._document_answered)

    def _listen_no_more(self) -> None:
        if self._page is None or not self._listens or self._requests or self.gone.done():
            return
        self._listens = False
        with contextlib.suppress(PlaywrightError):  # the driver is gone
            self._page.remove_listener("response", self._answered)
            self._page.remove_listener("requestfinished", self._request_ended)

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Hold a script's request, which is being judged, for the length of the block."""
        self._held += 1
        self._began()
        try:
            yield
        finally:
            self._held -= 1
            self._changed.set()

    def _answered(self, response: Response) -> None:
        asked = _asked(response.request)
        if self.waiting is not None:
            self.waiting.answered(*asked, _body(response.request))
        if len(self.answers) < _ANSWERS_MAX:
            self.answers.append(asked)
        self._changed.set()
        if self._requests[asked]:
            self._streams[asked] += 1
        if self._requests[asked] > self._earlier[asked]:
            self.caused.answered(*asked, response.status)
            header = response.headers.get("retry-after", "")
            self.caused.puts_off(response.url, response.status, header, document=False)

    def _request_failed(self, request: Request) -> None:
        asked = _asked(request)
        if self.waiting is not None and self.waiting.gave_up(*asked, _body(request)):
            return  # it was never sent, so nobody waits for its end
        # A request that the page aborts, or that ends because the page leaves, is no fault.
        if self._requests[asked] > self._earlier[asked] and request.failure != _GIVEN_UP:
            self.caused.failed(*asked)
        self._request_ended(request)

    def _request_ended(self, request: Request) -> None:
        self.ended(*_asked(request))

    def ended(self, method: str, url: str) -> None:
        """A script's request has ended."""
        asked = method, url
        if not self._requests[asked]:
            return
        self._requests[asked] -= 1
        if self._earlier[asked]:
            self._earlier[asked] -= 1
        self._requests, self._earlier = +self._requests, +self._earlier
        self._announced &= self._requests
        self._streams &= self._requests
        if not self._requests:
            asyncio.get_running_loop().call_later(_LISTENS_S, self._listen_no_more)
        self._changed.set()

    def waits(self, method: str, url: str) -> None:
        """A request of a script is held: nobody waits for its end, even if its preflight was let go."""
        if self._announced[method, url]:
            self.ended(method, url)

    def _dialog(self, dialog: PlaywrightDialog) -> None:
        # No action can expect a dialog of unknown type.
        kind: DialogKind = cast(DialogKind, dialog.type) if dialog.type in get_args(DialogKind) else "alert"
        met = Dialog(kind=kind, message=dialog.message[: limits.DIALOG_CHARS_MAX])
        accepted = kind == dialog.type and (self.given.accepts(met) or (self._leaves and kind == "beforeunload"))
        if len(self.dialogs) < _KEPT_MAX:
            self.dialogs.append(msgspec.structs.replace(met, accepted=accepted))
        reply = self.given.answer.reply if self.given.answer else ""
        self.spawn(dialog.accept(reply) if accepted else dialog.dismiss())
        self._changed.set()

    async def join(self, loads: Awaitable[object]) -> None:
        """Learn if the main frame shows a document that began to load before ``follow``. loads: asks the page for it."""
        turns = self._turns
        # Events that came meanwhile are newer than the answer.
        if await loads and self._turns == turns:
            self._loading.add(self._main)
            self._dom_pending, self.committed, self._asked_at = True, True, time.monotonic()

    def use_as_it_is(self) -> None:
        """Stop waiting for the document in the main frame, although it still loads."""
        self.unfinished, self._dom_pending = True, False
        self._loading.discard(self._main)
        self._changed.set()

    def note(self, text: str) -> None:
        """Report ``text`` beside the current step, or the next one; an empty text is ignored."""
        if text and len(self._notes) < _KEPT_MAX:
            self._notes[text] = None

    def notes(self) -> tuple[str, ...]:
        """The notes of the step that were not reported yet. A second call returns none of them."""
        told, self._notes = tuple(self._notes), {}
        return told

    def stirred(self) -> None:
        """Wake whoever waits for a change of the page."""
        self._changed.set()

    def _console(self, event: Mapping[str, Any]) -> None:
        self._note_denied(event["args"])
        if event["type"] in ("error", "assert"):
            self._error(event["args"])

    def _thrown(self, event: Mapping[str, Any]) -> None:
        thrown = [event["exceptionDetails"].get("exception", {})]
        self._note_denied(thrown)
        self._error(thrown)

    def _note_denied(self, said: Sequence[Mapping[str, Any]]) -> None:
        self.note(denied(said))

    def _did(self, event: Mapping[str, Any]) -> None:
        """The page did something that no request shows."""
        if event["name"] == BINDING:
            self.note(NOTES.get(event["payload"], ""))

    def _error(self, said: Sequence[Mapping[str, Any]]) -> None:
        if len(self.console_errors) < limits.CONSOLE_ERRORS_MAX:
            # The first line of an exception; the other lines are positions in the script.
            texts = (str(one.get("value", one.get("description", ""))) for one in said)
            first = " ".join(text.partition("\n")[0] for text in texts)
            self.console_errors.append(first[: limits.CONSOLE_ERROR_CHARS_MAX])

    def _began(self) -> None:
        self.serial += 1
        self._changed.set()

    def lost(self) -> None:
        """The page or its browser has ended."""
        if not self.gone.done():
            self.gone.set_result(None)
            if self.waiting is not None:
                self.waiting.close()
        self._changed.set()

    def spawn(self, work: Awaitable[Any]) -> None:
        """Run ``work`` in the background; its outcome is ignored."""

        async def run() -> None:
            # A listener runs inside Playwright's dispatch, where an exception would break all later events of the page.
            with contextlib.suppress(Exception):
                await work

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- questions ---

    def begin(self, given: Given, *, waits: bool = False, looks: bool = False) -> None:
        """An action starts. Earlier requests do not belong to it, because a long poll would never end.

        waits: it only waits, perhaps for an answer to a request of the previous action. looks: it causes no request.
        """
        if not waits:
            self.answers.clear()
        self.given, self.chooser = given, False
        self._earlier = +self._requests
        self.caused.begin(self._earlier, looks=looks)

    def end(self) -> tuple[Dialog, ...]:
        """The action is over. Returns the dialogs since the last one; later ones are dismissed."""
        self.given = NOTHING
        dialogs, self.dialogs = tuple(self.dialogs), []
        return dialogs

    @property
    def unanswered(self) -> list[tuple[str, str]]:
        """Script requests sent since the action began that have no answer yet; a running stream counts as answered."""
        return list((self._requests - self._earlier - self._streams).elements())

    @property
    def at(self) -> str:
        """The address of the page; empty until it is followed."""
        return self._page.url if self._page is not None else ""

    @property
    def main_frame(self) -> str:
        """Id of the main frame; empty until the page is followed."""
        return self._main

    @property
    def navigating(self) -> bool:
        """True while the main frame loads a document that is not parsed yet."""
        return self._dom_pending

    @property
    def frames_loading(self) -> int:
        """The number of loading frames, without the main frame."""
        return len(self._loading - {self._main})

    @property
    def navigating_ms(self) -> int:
        """The time for which the main frame has been loading a document; 0 if it is not loading."""
        return round((time.monotonic() - self._asked_at) * 1000) if self._dom_pending else 0

    @property
    def fetching(self) -> bool:
        """True while a script waits for an answer to a request sent since the action began."""
        return self._held > 0 or self._requests.total() > self._earlier.total()

    @property
    def idle(self) -> bool:
        """True if nothing loads."""
        return not (self._loading or self.fetching or self._dom_pending)

    async def answered(self, limit_s: float) -> None:
        """Wait for the answers to script requests sent since the action began, at most ``limit_s``."""
        end = time.monotonic() + limit_s
        while self.unanswered and not self.gone.done() and (left := end - time.monotonic()) > 0:
            await self.changed(left)

    async def answer_to(self, wait: Wait, limit_ms: int) -> None:
        """Return once a request that ``wait`` describes was answered. Errors: ``action.assertion_failed``."""
        end = time.monotonic() + limit_ms / 1000
        while not any(fits_response(wait, *asked) for asked in self.answers):
            left = end - time.monotonic()
            if left <= 0:
                seen = f"{len(self.answers)} other answers" if self.answers else "no answer"
                raise MeshError("action.assertion_failed", f"expected to {describe(wait)}, found {seen}", found=seen)
            await self.changed(left)

    async def changed(self, timeout_s: float) -> None:
        """Wait for the next event, at most ``timeout_s``."""
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), timeout_s)

    async def alive(
        self,
        work: Awaitable[T],
        *,
        timeout_ms: int,
        otherwise: str,
        doing: str,
        more_ms: Callable[[], int] = lambda: 0,
        late: str = "browser.timeout",
    ) -> T:
        """The result of ``work``, or an error after ``timeout_ms`` or when the page ends.

        more_ms: returns the extra time allowed, asked when ``timeout_ms`` is over. late: the error code if ``work`` takes longer;
        ``browser.slow`` if the page itself must answer. Errors: ``browser.crashed``, ``late``, ``otherwise``.
        """
        task = asyncio.ensure_future(work)
        either: set[asyncio.Future[Any]] = {task, self.gone}
        try:
            done, _ = await asyncio.wait(either, timeout=timeout_ms / 1000, return_when=asyncio.FIRST_COMPLETED)
            if not done and (longer := more_ms()):
                await asyncio.wait(either, timeout=longer / 1000, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                with translated(otherwise, doing, late):
                    return task.result()
            if self.gone.done():
                raise MeshError("browser.crashed", f"the browser disappeared while {doing}")
            raise MeshError(late, f"{doing} took longer than {timeout_ms / 1000:g} s")
        finally:
            if not task.done():
                task.cancel()
            # Retrieved here, so that a late failure is not reported as an unhandled exception.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())


def _body(request: Request) -> bytes | None:
    """The body of ``request``; None if it has none, or it is unknown."""
    with contextlib.suppress(PlaywrightError):
        return request.post_data_buffer
    return None


def _asked(request: Request) -> tuple[str, str]:
    return request.method, request.url.partition("#")[0]
