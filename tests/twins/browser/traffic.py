"""What a page of the twin sends, and what the guard refuses of it: the same decisions as for a real browser."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from adapters.browser.egress.caused import Caused, FrameDocument
from adapters.ports.browser import NOTHING, Blocked, Given
from protocol.approval.forms import RequestForm, request_form
from protocol.approval.question import level_of
from protocol.recording.records.session import RequestFault
from protocol.risk.requests.refused import Refused, graver, may_be_approved, refused, request_line
from protocol.risk.requests.requests import GuardPolicy, judge_request
from protocol.risk.requests.sockets import judge_socket
from tests.twins.browser.site import MemorySite


class Traffic:
    """The requests of one page, from step to step."""

    def __init__(self, site: MemorySite, policy: GuardPolicy) -> None:
        self._site, self._policy = site, policy
        self._refused: list[Refused] = []
        self._forms: dict[RequestForm, None] = {}
        self._caused = Caused()
        self._unanswered: list[tuple[str, str]] = []
        self._given = NOTHING

    def begin(self, given: Given) -> None:
        """A step begins, with what the owner has given it."""
        self._caused.begin()
        self._unanswered.clear()
        self._given = given

    def acted(self) -> None:
        """The step has acted: what comes later is not covered by what it was given."""
        self._given = NOTHING

    def send(self, method: str, url: str, kind: str, *, navigation: bool = False) -> bool:
        """Whether a request got through; it is in the site's log or among the refused ones afterwards."""
        if rule := self._judge(method, url, kind, navigation):
            self._refused.append(refused(method, url, rule))
            if method != "WS":
                self._caused.refused(method, url.partition("?")[0])
            return False
        parts = urlsplit(url)
        if kind == "document":
            self._caused.sends_document(method, url)
        elif method != "WS":
            self._caused.sends(method, url)
            if status := self._site.answers.get(parts.path, 200):
                self._caused.answered(method, url, status)
            else:
                self._unanswered.append((method, url))
        self._site.reached.append(f"{method} {parts.path or '/'}" + (f"?{parts.query}" if parts.query else ""))
        return True

    def _judge(self, method: str, url: str, kind: str, navigation: bool) -> str:
        """The rule that forbids a request; empty if none does."""
        if method == "WS":
            rule = judge_socket(url, self._policy)
        else:
            rule = judge_request(method, url, kind, navigation, None, self._policy)
            level = max(level_of(request_form(method, url)), self._given.level_min)
            if not rule and method != "GET" and self._policy.read_only and level > self._given.level_max:
                rule = graver(level)
            if rule and may_be_approved(rule):
                # The twin sends no bodies, and every form of it is read.
                if any(cover.covers(method, url, "", "") for cover in self._given.covers):
                    rule = ""
                else:
                    self._forms[request_form(method, url)] = None
        return rule or ""

    def shows(self, url: str, status: int) -> None:
        """A document has come."""
        # The time of a document only tells it from an earlier one: here, how many requests came before it.
        self._caused.documents = (FrameDocument(float(len(self._site.reached)), url, status),)

    def faults(self, url: str, mask: Callable[[str], str]) -> tuple[RequestFault, ...]:
        """What went wrong with the requests that the step caused; the step ends."""
        return self._caused.end(self._unanswered, url, mask)

    @property
    def asked(self) -> bool:
        """Whether the step asked for data."""
        return self._caused.asked

    @property
    def last_refused(self) -> Refused:
        """The request that was refused last."""
        return self._refused[-1]

    def take_over(self, other: Traffic) -> None:
        """Report what was refused to ``other`` too."""
        self._refused += other._refused

    def blocked(self, url: str, mask: Callable[[str], str]) -> Blocked:
        """What was refused of a page at ``url`` since this was asked last."""
        refused, self._refused = self._refused, []
        forms, self._forms = tuple(self._forms), {}
        requests = tuple(mask(request_line(each, url)) for each in refused)
        return Blocked(requests, tuple(each.rule for each in refused), forms)
