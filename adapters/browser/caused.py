"""Which requests for documents and data a step caused, and which of them went wrong.

A step causes what is sent while it is performed. Not so requests of timers: a request that the page sends again and again while no
step is performed is one of those. Streams, beacons and reports are no requests for data here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, Literal, NamedTuple

from protocol import limits
from protocol.recording.session import RequestFault
from protocol.risk.refused import refused, request_line, site_of

CAUSED_KINDS: Final = frozenset({"document", "xhr", "fetch", ""})
"""Kinds of requests that decide on a step; empty for the document of a window."""
_BETWEEN_MAX: Final = 100
_TIMES_OF_TIMER: Final = 2
_ERROR_STATUS: Final = 400
_ERROR_PAGE: Final = "chrome-error:"


class FrameDocument(NamedTuple):
    """The document of one frame, as its own clock names it."""

    began: float
    """Its ``performance.timeOrigin``: tells it from an earlier document with the same address."""
    url: str
    status: int
    """HTTP status; 0 if it did not come by HTTP."""


class _Wrong(NamedTuple):
    method: str
    url: str
    fault: Literal["refused", "status", "failed", "open"]
    status: int = 0


class Caused:
    """Follows the requests of one page from step to step."""

    def __init__(self) -> None:
        self.documents: tuple[FrameDocument, ...] = ()
        """Those of the last observation."""
        self._before: frozenset[FrameDocument] = frozenset()
        self._acting = False
        self._between: Counter[tuple[str, str]] = Counter()
        self._methods: dict[str, str] = {}
        self._wrong: list[_Wrong] = []

    def begin(self) -> None:
        """A step begins."""
        self._acting = True
        self._before = frozenset(self.documents)
        self._methods.clear()
        self._wrong.clear()

    def counts(self, method: str, url: str) -> bool:
        """Whether a request that is sent now, or was sent since the step began, is caused by the step."""
        asked = method, url.partition("?")[0]
        if not self._acting:
            # Only what reads: what writes is no timer's even if a page saves by itself.
            if method == "GET" and (asked in self._between or len(self._between) < _BETWEEN_MAX):
                self._between[asked] += 1
            return False
        # Once is not enough: what a step causes can be late.
        return self._between[asked] < _TIMES_OF_TIMER

    def sends_document(self, method: str, url: str) -> None:
        """A document is asked for: remembers by which method."""
        if len(self._methods) < limits.REQUEST_FAULTS_MAX:
            self._methods[url.partition("#")[0]] = method

    def refused(self, method: str, url: str) -> None:
        """The guard refused a request."""
        self._note(_Wrong(method, url, "refused"))

    def answered(self, method: str, url: str, status: int) -> None:
        """A script has an answer. One to HEAD or OPTIONS brings no data: it says what there is, and "nothing" is an answer too."""
        if status >= _ERROR_STATUS and method not in ("HEAD", "OPTIONS"):
            self._note(_Wrong(method, url, "status", status))

    def failed(self, method: str, url: str) -> None:
        """A script has no answer and will get none."""
        self._note(_Wrong(method, url, "failed"))

    def _note(self, wrong: _Wrong) -> None:
        if self.counts(wrong.method, wrong.url) and wrong not in self._wrong:
            self._wrong.append(wrong)

    def end(
        self, unanswered: Iterable[tuple[str, str]], page_url: str, mask: Callable[[str], str]
    ) -> tuple[RequestFault, ...]:
        """The step is over: what went wrong, at most ``REQUEST_FAULTS_MAX``. unanswered: requests of scripts."""
        for method, url in unanswered:
            self._note(_Wrong(method, url, "open"))
        self._note_documents(page_url)
        self._acting = False
        lines = ((each, mask(request_line(refused(each.method, each.url, ""), page_url))) for each in self._wrong)
        faults = (RequestFault(request=line, fault=each.fault, status=each.status) for each, line in lines)
        return tuple(dict.fromkeys(faults))[: limits.REQUEST_FAULTS_MAX]

    def _note_documents(self, page_url: str) -> None:
        """Documents that came with the step: that of the page, and those of frames of the same site."""
        for document in self.documents:
            if document in self._before:
                continue
            method = self._methods.get(document.url.partition("#")[0], "GET")
            if document.url.startswith(_ERROR_PAGE):
                self._wrong.append(_Wrong(method, document.url, "failed"))
            elif document.status >= _ERROR_STATUS and site_of(document.url) == site_of(page_url):
                self._wrong.append(_Wrong(method, document.url, "status", document.status))
