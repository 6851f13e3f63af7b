"""Lets the product's guard judge the requests of the truth runs, and nothing else: only a request that leaves can change
anything.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from benchmarks.risk.figures import RequestVerdict
from benchmarks.risk.kept import Collected
from benchmarks.risk.records import Request, Truth, Verdict
from benchmarks.risk.targets import Target
from protocol.risk.requests.requests import GuardPolicy, judge_request
from protocol.risk.requests.sockets import SOCKET_METHOD, judge_socket

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_SHOWN_CHARS: Final = 400


NOBODY: Final = GuardPolicy()
"""Nothing is allowed by name."""


@functools.cache
def refusal(request: Request, policy: GuardPolicy = NOBODY) -> str | None:
    """Why the guard refuses ``request``; None if it is sent. No message goes over a WebSocket that may not be opened."""
    if request.method == SOCKET_METHOD:
        return judge_socket(request.url, policy)
    return judge_request(
        request.method,
        request.url,
        request.kind,
        request.navigation,
        request.body,
        policy,
        content_type=request.content_type,
        replaced_by=request.override,
    )


def verdicts(target: Target, known: Collected, policy: GuardPolicy = NOBODY) -> Iterator[Verdict]:
    """The guard's verdict on each action whose effect is known."""
    by_itself = {_addressed(each) for each in known.head.loads if each.method not in _READS}
    for truth in known.truths:
        if not truth.error:
            yield _verdict(target, truth, by_itself, policy)


def _verdict(target: Target, truth: Truth, by_itself: Collection[tuple[str, str]], policy: GuardPolicy) -> Verdict:
    refused = [(each, why) for each in truth.requests if each.acted and (why := refusal(each, policy))]
    own = [(each, why) for each, why in refused if _addressed(each) not in by_itself]
    may_have = blamed(truth, by_itself) if truth.effect else []
    passed = next(
        (_said(each) for each in may_have if not refusal(each, policy)), "" if may_have or not truth.effect else "-"
    )
    return Verdict(
        application=truth.application,
        part=target.part,
        place=truth.place.path,
        kind=truth.kind,
        label=truth.control.label,
        effect=truth.effect,
        passed=passed,
        held=tuple(f"{_said(each)} ({why})" for each, why in own),
        loading=len(refused) > len(own),
    )


def _said(request: Request) -> str:
    return f"{request.method} {request.url[:_SHOWN_CHARS]}{_message(request)}"


def _addressed(request: Request) -> tuple[str, str]:
    """Method and address, numbers masked: the page of another record loads alike. Of a message its name stands for the address."""
    return request.method, _masked(request.url) + _message(request)


def _message(request: Request) -> str:
    """The first text in a message over a WebSocket, which says what it is; empty of a request."""
    if request.method != SOCKET_METHOD:
        return ""
    named = re.search(r'"([^"]*)"', request.body)
    return f" {named[1] if named else _masked(request.body)[:40]}"


def _masked(text: str) -> str:
    return re.sub(r"[0-9]+", "#", text)


def judged_requests(target: Target, known: Collected) -> Iterator[RequestVerdict]:
    """The guard's verdict on each form of request, including those of loading pages."""
    for request, changes in requests_of(known.truths, known.head.loads).values():
        yield RequestVerdict(
            application=target.name, part=target.part, request=request, changes=changes, refused=refusal(request) or ""
        )


def requests_of(
    truths: Iterable[Truth], loads: Iterable[Request]
) -> dict[tuple[str, str, str, str], tuple[Request, bool]]:
    """Each form of request once, and whether it changed something.

    In a run with an effect everything that is no GET did it, else the first GET of the action; unless a request of that form
    came in a run without effect too. What else was sent in such a run is left out: it is not known.
    """
    harmless: dict[tuple[str, str, str, str], Request] = {}
    guilty: dict[tuple[str, str, str, str], Request] = {}
    for request in loads:
        harmless.setdefault(_form(request), request)
    for truth in truths:
        if truth.error:
            continue
        if not truth.effect:
            for request in truth.requests:
                harmless.setdefault(_form(request), request)
            continue
        for request in blamed(truth):
            guilty.setdefault(_form(request), request)
    found = {form: (request, True) for form, request in guilty.items() if form not in harmless}
    return found | {form: (request, False) for form, request in harmless.items() if form not in guilty}


def blamed(truth: Truth, by_itself: Collection[tuple[str, str]] = ()) -> list[Request]:
    """The requests of a run that did what it did: whatever is no GET, else the first request of the action.

    by_itself: what loading pages sends too. It hides no order by GET that was sent beside it.
    """
    acted = [each for each in truth.requests if each.acted]
    return [each for each in acted if each.method not in _READS and _addressed(each) not in by_itself] or acted[:1]


def _form(request: Request) -> tuple[str, str, str, str]:
    # A form says in its body what it does: the button that was pressed stands there.
    fields = (
        sorted({pair.partition("=")[0] for pair in request.body.split("&")})
        if "urlencoded" in request.content_type
        else []
    )
    body = request.body[:200] if "json" in request.content_type else " ".join(fields)[:400]
    return (*_addressed(request), request.kind, body)
