"""The network guard of one page: judges its requests and records the refused ones.

Requests reach it through ``judge.BrowserJudge`` in our own browser, and through ``routing.Routing`` in somebody else's. WebSockets
are routed in both cases.
"""

from __future__ import annotations

import base64
import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from playwright.async_api import BrowserContext, CDPSession, Page, WebSocketRoute

from adapters.browser.base.masking import masker
from adapters.browser.egress.activity import Activity
from adapters.browser.egress.caused import CAUSED_KINDS
from adapters.browser.egress.closely import Closely
from adapters.browser.egress.holding import Held, WaitingRequests
from adapters.browser.egress.late import Late
from adapters.browser.egress.sending import ReadRequest, Sending
from adapters.browser.egress.sockets import pass_on, refuse
from adapters.browser.egress.streams import Streams, is_stream
from adapters.browser.egress.windows import Windows
from adapters.browser.wall import Attempt, Destinations, TunnelRefusal, choosing, said
from adapters.ports.browser import Given, Leaving
from protocol import limits
from protocol.approval.forms import RequestForm, request_form
from protocol.approval.leaving import request_exact
from protocol.page.secrets.secrets import NO_SECRETS, Basic
from protocol.risk.requests.refused import (
    CAPSULE_CLASS,
    SOCKET_FULL,
    STREAM_FULL,
    UNASKED,
    UNSEEN,
    WINDOW,
    Refused,
    may_be_approved,
    refused,
    request_line,
    site_of,
)
from protocol.risk.requests.requests import EVERY_CLASS, GuardPolicy, judge_request
from protocol.risk.requests.sockets import judge_socket, page_url
from protocol.trust.origin import origin_of

_BLOCKED_MAX: Final = 200
_LED_BY_MAX: Final = 20
_READ_ANEW: Final = frozenset({"Document", "XHR", "Fetch"})
_SCRIPTED: Final = frozenset({"fetch", "xhr"})
_POP_UP_S: Final = 3.0
"""How long a window that opened may take to request its document: it needs a process of its own first."""


def kind_of(event: Mapping[str, Any]) -> str:
    """The kind of a request of ``Fetch.requestPaused``, in Playwright's words."""
    return str(event.get("resourceType", "other")).lower()


class NetworkGuard:
    """Judges the requests of one page under the policy of its context."""

    def __init__(
        self,
        policy: GuardPolicy,
        activity: Activity,
        destinations: Destinations | None,
        windows: Windows | None = None,
    ) -> None:
        """destinations: where names lead; None if the browser resolves them by its own configured rules.

        windows: those that may be opened beside the page; None if none may.
        """
        self.windows = windows
        self.policy = policy
        self._activity = activity
        self._destinations = destinations
        self._refused: dict[str, Refused] = {}
        self._forms: dict[RequestForm, None] = {}
        self._exacts: dict[bytes, None] = {}
        self._document: Refused | None = None
        self._led_by: list[str] = []
        self.secrets = NO_SECRETS
        """The secrets of the current action, which answer a site that asks for HTTP authentication."""
        self._answered: dict[str, None] = {}
        self._asked: dict[str, None] = {}
        self.closely = Closely()
        """Decides when each of its GETs is examined."""
        self.asked_for = ""
        """The document that was let through last."""
        self._pop_ups: dict[str, str] = {}
        self.sending = Sending(activity)
        """Follows its requests that change something."""
        self._sockets = 0
        self.holding = activity.waiting = WaitingRequests()
        """Its requests that wait for a yes."""
        self.holding.blocks = self._blocks
        self.late = Late()
        self._passed: set[bytes] = set()
        """Requests that a one-time yes has let through since the action began."""
        self.streams = Streams(activity, lambda url: self._refuse(refused("GET", url, STREAM_FULL), ""))
        """Its EventSources."""

    async def watch_sockets(self, of: BrowserContext | Page) -> None:
        """Judge WebSockets from now on. For a page with a guard of its own, that guard judges, not its context's."""
        await of.route_web_socket("**/*", self._socket)

    def begin(self, given: Given) -> None:
        """An action begins, performed with ``given``."""
        self._passed.clear()
        self.holding.begin(holds=given.holds)

    def taken(self) -> tuple[tuple[Refused, ...], tuple[RequestForm, ...], tuple[bytes, ...]]:
        """The refused requests since the last call. For those that an owner could allow, also their forms and digests
        (``Blocked``)."""
        requests, self._refused = tuple(self._refused.values()), {}
        forms, self._forms = tuple(self._forms), {}
        exacts, self._exacts = tuple(self._exacts), {}
        return requests, forms, exacts

    def expects_document(self) -> None:
        """The page is about to open an address: refusals of earlier documents no longer matter."""
        self._document = None
        self._led_by.clear()
        self._activity.hear_document()

    @property
    def at(self) -> str:
        """The address of the page."""
        return self._activity.at

    @property
    def led_by(self) -> tuple[str, ...]:
        """The sites whose documents were let through since ``expects_document``, in order."""
        return tuple(self._led_by)

    @property
    def document(self) -> Refused | None:
        """The document that was refused since ``expects_document``, if one was."""
        return self._document

    def permits(
        self,
        method: str,
        url: str,
        kind: str,
        is_navigation: bool,
        body: str | None,
        headers: Mapping[str, str],
        frame: str = "",
        hold: Hold | None = None,
    ) -> bool:
        """True if a request may leave; a refused one is reported. body: empty if there is none, None if it is not known.

        frame: the frame that sends it. hold: called if only a yes is missing; returns whether the request waits for it.
        """
        told = said(method, headers)
        watched: Mapping[str, Any] = {}
        is_main = kind == "document" and frame in ("", self._activity.main_frame)
        try:
            watched = self.closely.says(url, body, headers)
            rule = judge_request(method, url, kind, is_navigation, body, self.policy, **told._asdict(), **watched)
        except (
            Exception
        ):  # a defect: without a decision the request would block its page, and letting it through would be worse
            rule = "address"
        asked = ReadRequest(
            method,
            url,
            kind,
            is_navigation,
            body,
            told.content_type,
            told.replaced_by,
            told.announced,
            choosing(headers),
            watched,
            is_main,
        )
        writes = self.sending.writes(asked, rule, self.policy)
        if writes and self.sending.is_beyond(asked, self.policy, masker(self.secrets)):
            rule = CAPSULE_CLASS  # before any yes, list or name
        elif writes and self.sending.lists(asked, masker(self.secrets)):
            rule = None
        else:
            if writes and rule is None:
                rule = self.sending.not_enough(asked, self.policy, masker(self.secrets)) or None
            if rule is not None and may_be_approved(rule) and not self.sending.is_own(asked):
                exact = b"" if body is None or told.announced else request_exact(method, url, headers, body)
                rule = self._covered(asked, exact, rule)
                if rule is not None and hold is not None and not self.sending.loads(asked) and hold(asked):
                    self._activity.waits(method, url)
                    return False
                if rule is not None:
                    self._asks(asked, exact)
        if rule is None and is_stream(headers) and not self.streams.permits(url):
            rule = STREAM_FULL
        if writes:
            rule = self.sending.judged(asked, rule, masker(self.secrets))
        if rule is None:
            if is_main:
                self.sending.leaves_page()
                self._activity.hear_document()
            if kind == "document":
                self._activity.caused.sends_document(method, url)
                self.asked_for = url
                if len(self._led_by) < _LED_BY_MAX:
                    self._led_by.append(site_of(url))
            return True
        self._refuse(refused(method, url, rule), kind)
        return False

    def _blocks(self, held: Held) -> None:
        method, url = held.key
        self._wants(held.leaving.form, held.leaving.exact)
        self._refuse(refused(method, url, "method"), kind_of(held.event))

    def keep_back(self, leaving: Leaving) -> None:
        """A person refused a held request, so it does not leave: the owner is not asked again."""
        self.holding.refuse(leaving.number)
        self._refuse(refused(leaving.effect.method.partition(" ")[0], leaving.url, "method"), "")

    def _covered(self, asked: ReadRequest, exact: bytes, rule: str) -> str | None:
        """None if the owner has allowed the request for the current action; else ``rule``, which refuses it.

        exact: its digest; empty if not all of it is known.
        """
        announced, kind = bool(asked.announced), asked.content_type
        method = asked.announced or _as_taken(asked)
        for cover in self._activity.given.covers:
            if cover.covers(method, asked.url, kind, asked.body, chosen=asked.chosen, exact=exact, announced=announced):
                if not cover.exacts or announced:
                    return None
                if exact not in self._passed:  # a yes for once lets through only the first of two equal requests
                    self._passed.add(exact)
                    return None
        if announced and self.holding.due:
            return None  # no body and no cookie; the request that it announces is held
        return rule

    def _asks(self, asked: ReadRequest, exact: bytes) -> None:
        """Note the form of a request that was refused for want of a yes."""
        if not asked.announced:
            self._wants(request_form(_as_taken(asked), asked.url, asked.content_type, asked.body, asked.chosen), exact)

    def _wants(self, form: RequestForm, exact: bytes) -> None:
        if len(self._forms) < limits.QUESTION_REQUESTS_MAX:
            self._forms[form] = None
        if exact and len(self._exacts) < limits.QUESTION_REQUESTS_MAX:
            self._exacts[exact] = None

    def credentials(self, event: Mapping[str, Any], *, again: bool) -> Basic | None:
        """Answers a site that asks for HTTP authentication (``Fetch.authRequired``). It uses the secret that was given for
        exactly this origin, by basic authentication alone, and once. Unanswered requests are noted (``challenged``).

        again: the site has refused the answer to this request.
        """
        asked, request = event["authChallenge"], event["request"]
        origin, scheme = origin_of(str(asked.get("origin", ""))), str(asked.get("scheme", "")).lower()
        if asked.get("source") == "Proxy" or not origin or origin != origin_of(request["url"]):
            return None
        known = self.secrets.basic(origin) if scheme == "basic" else None
        if known is None or again:
            self._asked[f"{'refused' if again else scheme} {origin}"] = None
            return None
        self._answered[known.name] = None
        if self._destinations is not None:  # it is sent a second time
            self._destinations.wall.admit(request["method"], request["url"])
        return known

    def challenged(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Since the last call: the names of secrets that answered a site, and the sites that got no answer (``basic
        https://host``)."""
        answered, asked = tuple(self._answered), tuple(self._asked)
        self._answered, self._asked = {}, {}
        return answered, asked

    @property
    def connects(self) -> bool:
        """True if this guard learns how attempts to connect end."""
        return self._destinations is not None

    def attempt(self) -> Attempt | None:
        """How the last attempt to connect to the site of the asked document ended; None if there was none, or it is unknown."""
        return None if self._destinations is None else self._destinations.attempt(self.asked_for)

    async def reaches(self, method: str, url: str, kind: str) -> bool:
        """True if a permitted request may go to the IP address to which its host resolves; a refused one is reported."""
        # A lookup takes time, during which the page must not look still, because its script waits.
        held = self._activity.holding() if kind in _SCRIPTED else contextlib.nullcontext()
        with held:
            rule = None if self._destinations is None else await self._destinations.refuse(url, self.policy)
        if rule is None:
            if self._destinations is not None:
                self._destinations.wall.admit(method, url)
            return True
        self._refuse(refused(method, url, rule), kind)
        return False

    async def lets(self, method: str, url: str, kind: str) -> None:
        """A permitted request is about to be sent. Requests of the page's scripts are waited for."""
        if kind in _SCRIPTED:
            await self._activity.sends(method, url)

    async def lets_paused(self, event: Mapping[str, Any]) -> None:
        """As ``lets``, for a request of ``Fetch.requestPaused``, a preflight included: the script waits from there on."""
        request = event["request"]
        announced = said(request["method"], request["headers"]).announced
        if kind_of(event) in _SCRIPTED:
            await self._activity.sends(announced or request["method"], request["url"], announced=bool(announced))

    def gave_up(self, event: Mapping[str, Any]) -> None:
        """The page gave up a request of ``Fetch.requestPaused`` while it was judged."""
        request = event["request"]
        if kind_of(event) in _SCRIPTED and not said(request["method"], request["headers"]).announced:
            self._activity.ended(request["method"], request["url"])

    def pop_up(self, method: str, url: str) -> None:
        """A window beside the page requests its document. It is never sent, and only a GET can be followed."""
        self._pop_ups[_bare(url)] = method
        if method != "GET":
            self._refuse(refused(method, url, WINDOW), "")

    def one_too_many(self, method: str, url: str) -> None:
        """A window beside the page requests its document, but there are too many windows."""
        self._refuse(refused(method, url, WINDOW), "")

    def turned_away(self, turned: TunnelRefusal) -> None:
        """The tunnel refused a request that never reached this guard."""
        self._refuse(refused(turned.method, turned.url, UNSEEN), "")

    async def may_follow(self, url: str) -> bool:
        """True if the window that opened with ``url`` requests it by GET, so that the page can go there instead."""
        end = time.monotonic() + _POP_UP_S
        while (method := self._pop_ups.pop(_bare(url), "")) == "" and (left := end - time.monotonic()) > 0:
            await self._activity.changed(min(left, 0.02))
        return method in ("", "GET")

    def _refuse(self, request: Refused, kind: str) -> None:
        self.late.refuses(request)
        if kind == "document":
            self._document = request
        if kind in CAUSED_KINDS and request.rule != UNASKED:
            self._activity.caused.refused(request.method, request.site + request.path)
        # One request can be intercepted twice, but is reported once.
        line = request_line(request)
        if len(self._refused) < _BLOCKED_MAX:
            self._refused.setdefault(line, request)

    async def _socket(self, socket: WebSocketRoute) -> None:
        """Judge a WebSocket. No rule can judge its single messages, so one opens only if an entry allows its address."""
        rule = judge_socket(socket.url, self.policy)
        if rule is None and self.policy.class_max < EVERY_CLASS:
            rule = CAPSULE_CLASS  # its messages may do anything
        if rule is None and self._sockets >= limits.SOCKETS_MAX:
            rule = SOCKET_FULL
        if rule is None and self._destinations is not None:
            rule = await self._destinations.refuse(page_url(socket.url), self.policy)
        if rule is not None:
            self._refuse(refused("WS", socket.url, rule), "websocket")
            await refuse(socket)
            return
        self._sockets += 1
        if self._destinations is not None:
            self._destinations.wall.admit_socket(socket.url)
        pass_on(socket, lambda: self._refuse(refused("WS", socket.url, SOCKET_FULL), "websocket"))


def _as_taken(asked: ReadRequest) -> str:
    """The method, with the one that the site will use instead: an approval names both."""
    return f"{asked.method} as {asked.replaced_by}" if asked.replaced_by else asked.method


Hold = Callable[[ReadRequest], bool]
"""Takes a request that lacks only a yes, and returns whether it waits for that."""


def body_of(request: Mapping[str, Any]) -> str | None:
    """The body of a request; None if it is not known: Chromium leaves out long bodies and uploaded files.

    Each byte that is no text becomes a lone surrogate: Chromium's own text of the body drops these bytes.
    """
    if not request.get("hasPostData"):
        return str(request.get("postData", ""))
    entries = request.get("postDataEntries", ())
    if request.get("postData") is None or not all("bytes" in each for each in entries):
        return None
    if not entries:
        return str(request["postData"])
    return b"".join(base64.b64decode(each["bytes"]) for each in entries).decode("utf-8", "surrogateescape")


def permitted(event: Mapping[str, Any], guard: NetworkGuard, main: bool | None = None) -> bool:
    """True if ``guard`` lets through the request of ``Fetch.requestPaused``.

    main: it belongs to the main frame of a page (True) or another frame (False), and can be held; None if it cannot be held.
    """
    request, kind = event["request"], kind_of(event)
    body, headers = body_of(request), request.get("headers", {})
    frame = str(event.get("frameId", ""))

    def hold(asked: ReadRequest) -> bool:
        effect = guard.sending.effect(asked, masker(guard.secrets))
        return guard.holding.take(event, kind, body, effect, main=bool(main), at=guard.at)

    takes = hold if main is not None else None
    return guard.permits(request["method"], request["url"], kind, kind == "document", body, headers, frame, takes)


async def answer(
    session: CDPSession,
    event: Mapping[str, Any],
    permit: bool,
    *,
    anew: bool = False,
    instead: Mapping[str, Any] | None = None,
) -> None:
    """Let a paused request go on, or end it.

    anew: pages and data of scripts come from the site, not from the HTTP cache. instead: the request to send in its place.
    """
    asked: dict[str, Any] = {"requestId": event["requestId"]}
    if permit:
        request = event["request"] if instead is None else instead
        if instead is not None:
            body = (body_of(request) or "").encode("utf-8", "surrogateescape")
            asked |= {"method": request["method"], "postData": base64.b64encode(body).decode()}
        if (anew and event["resourceType"] in _READ_ANEW) or instead is not None:
            headers = {"Cache-Control": "no-cache", **event["request"]["headers"], **request["headers"]}
            asked["headers"] = [{"name": name, "value": value} for name, value in headers.items()]
        await session.send("Fetch.continueRequest", asked)
        return
    # "Aborted" cancels a navigation and keeps the page; any other reason would show an error page.
    reason = "Aborted" if event.get("resourceType") == "Document" else "BlockedByClient"
    await session.send("Fetch.failRequest", {**asked, "errorReason": reason})


async def pause_requests(session: CDPSession) -> None:
    """Pause every hop of every request within reach of ``session`` until it is answered."""
    await session.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})


def _bare(url: str) -> str:
    return url.partition("#")[0]
