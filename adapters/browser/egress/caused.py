"""Determines which requests for documents and data a step caused, and which of them failed.

A step causes the requests that are sent while it is performed, except those of timers. A timer's request is one that the page
repeats while no step is performed. A timer can also send just before a step ends. So a repeated read is not waited for if it was
open when the step began (a long poll), or if the step only waits or reads and so causes nothing. Streams, beacons and reports do
not count as requests for data here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from protocol import limits
from protocol.page.seen.turned_away import TOO_MANY, UNAVAILABLE, Putoff
from protocol.recording.records.session import RequestFault
from protocol.risk.requests.refused import refused, request_line, site_of

CAUSED_KINDS: Final = frozenset({"document", "xhr", "fetch", ""})
"""Kinds of requests that decide the outcome of a step; empty for the document of a window."""
_BETWEEN_MAX: Final = 100
_SENT_MAX: Final = 1_000
_TIMES_OF_TIMER: Final = 2
_ERROR_STATUS: Final = 400
_ERROR_PAGE: Final = "chrome-error:"


class FrameDocument(NamedTuple):
    """The document of one frame, identified by its own clock."""

    began: float
    """Its ``performance.timeOrigin``: distinguishes it from an earlier document with the same address."""
    url: str
    status: int
    """HTTP status; 0 if it was not loaded by HTTP."""


class _Wrong(NamedTuple):
    method: str
    url: str
    fault: Literal["refused", "status", "failed", "open"]
    status: int = 0


class Caused:
    """Follows the requests of one page from step to step."""

    def __init__(self) -> None:
        self.documents: tuple[FrameDocument, ...] = ()
        """The documents of the last observation."""
        self._before: frozenset[FrameDocument] = frozenset()
        self._acting = False
        self._looks = False
        self._sent: set[tuple[str, str]] = set()
        """Addresses, without queries, that scripts have read since the page's document was loaded."""
        self._sent_before: frozenset[tuple[str, str]] = frozenset()
        """The addresses in ``_sent`` that were requested before the step began."""
        self._open_before: frozenset[tuple[str, str]] = frozenset()
        """Requests that had no answer when the step began."""
        self._between: Counter[tuple[str, str]] = Counter()
        self._methods: dict[str, str] = {}
        self._wrong: list[_Wrong] = []
        self.asked = False
        """True if a script has asked for data since the step began, because of it."""
        self.putoffs: list[Putoff] = []
        """Answers since the step began that ask for fewer requests."""
        self.status = 0
        """HTTP status of the page's document, if it came with the last step."""

    def begin(self, unanswered: Iterable[tuple[str, str]] = (), *, looks: bool = False) -> None:
        """A step begins. unanswered: requests of scripts that are open; looks: the step causes none."""
        self._acting, self._looks = True, looks
        self._sent_before = frozenset(self._sent)
        self._open_before = frozenset(_asked(*each) for each in unanswered)
        self._before = frozenset(self.documents)
        self._methods.clear()
        self._wrong.clear()
        self.putoffs.clear()
        self.asked, self.status = False, 0

    def counts(self, method: str, url: str) -> bool:
        """True if the present step causes a request that is sent now or was sent since the step began."""
        asked = _asked(method, url)
        if not self._acting:
            # Only reads: a write is never a timer's, even if a page saves by itself.
            if method == "GET" and (asked in self._between or len(self._between) < _BETWEEN_MAX):
                self._between[asked] += 1
            return False
        # A single request is not enough, because a step can cause a request late.
        return self._between[asked] < _TIMES_OF_TIMER

    def sends(self, method: str, url: str) -> None:
        """A script's request is sent."""
        if self.counts(method, url):
            self.asked = True
        if method == "GET" and len(self._sent) < _SENT_MAX:
            self._sent.add(_asked(method, url))

    def sends_document(self, method: str, url: str) -> None:
        """A document is requested. Remembers the method."""
        if len(self._methods) < limits.REQUEST_FAULTS_MAX:
            self._methods[url.partition("#")[0]] = method

    def refused(self, method: str, url: str) -> None:
        """The guard refused a request."""
        self._note(_Wrong(method, url, "refused"))

    def answered(self, method: str, url: str, status: int) -> None:
        """A script got an answer. Error statuses count, except for HEAD and OPTIONS, where they are valid answers."""
        if status >= _ERROR_STATUS and method not in ("HEAD", "OPTIONS"):
            self._note(_Wrong(method, url, "status", status))

    def puts_off(self, url: str, status: int, retry_after: str, *, document: bool) -> None:
        """An answer to a request of the step, or to one of the page while no step is performed."""
        if status in (TOO_MANY, UNAVAILABLE) and len(self.putoffs) < limits.PUTOFFS_MAX:
            header = retry_after[: limits.URL_CHARS_MAX]
            self.putoffs.append(Putoff(url=url, status=status, retry_after=header, document=document))

    def failed(self, method: str, url: str) -> None:
        """A script's request failed without an answer."""
        self._note(_Wrong(method, url, "failed"))

    def _note(self, wrong: _Wrong) -> None:
        if self.counts(wrong.method, wrong.url) and wrong not in self._wrong:
            self._wrong.append(wrong)

    def end(
        self, unanswered: Iterable[tuple[str, str]], page_url: str, mask: Callable[[str], str]
    ) -> tuple[RequestFault, ...]:
        """The step is over. Returns the failed requests, at most ``REQUEST_FAULTS_MAX``. unanswered: requests of scripts."""
        for method, url in unanswered:
            if not self._asks_again(*_asked(method, url)):
                self._note(_Wrong(method, url, "open"))
        self._note_documents(page_url)
        if self.documents and self.documents[0] not in self._before:
            self._sent.clear()  # from now on another page sends the requests
            self.status = self.documents[0].status
        self._acting = False
        lines = ((each, mask(request_line(refused(each.method, each.url, ""), page_url))) for each in self._wrong)
        faults = (RequestFault(request=line, fault=each.fault, status=each.status) for each, line in lines)
        return tuple(dict.fromkeys(faults))[: limits.REQUEST_FAULTS_MAX]

    def _asks_again(self, method: str, path: str) -> bool:
        """True if a request that is open at the end of the step belongs to a timer."""
        known = self._sent_before if self._looks else self._open_before
        return method == "GET" and (method, path) in known

    def _note_documents(self, page_url: str) -> None:
        """Note the documents that came with the step: the page's, and those of frames of the same site."""
        for document in self.documents:
            if document in self._before:
                continue
            method = self._methods.get(document.url.partition("#")[0], "GET")
            if document.url.startswith(_ERROR_PAGE):
                self._wrong.append(_Wrong(method, document.url, "failed"))
            elif document.status >= _ERROR_STATUS and site_of(document.url) == site_of(page_url):
                self._wrong.append(_Wrong(method, document.url, "status", document.status))


def _asked(method: str, url: str) -> tuple[str, str]:
    return method, url.partition("?")[0]
