"""A question to the owner: what would be done, why it is not done without a yes, and who asked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Final, Literal
from urllib.parse import urlencode

import msgspec

from protocol import ids, limits
from protocol.approval.forms import CUT, ActionForm, RequestForm, request_form
from protocol.kinds import Done, Plain
from protocol.risk.addresses.addresses import destructive_url, judge_address
from protocol.risk.addresses.segments import words_in
from protocol.risk.pressing import marks
from protocol.risk.pressing.classes import APPROVAL_CLASS
from protocol.wire import cbor

_DOMAIN: Final = b"trailmesh-question-v2\x00"
_DELETES: Final = 7
"""The class of actions that delete."""
_WRITES: Final = frozenset({"POST", "PUT", "PATCH"})

Kind = Literal["action", "request"]
Digest = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Level = Annotated[int, msgspec.Meta(ge=1, le=7)]
Said = Annotated[Done, msgspec.Meta(max_length=limits.REASON_CHARS_MAX)]
_Who = Annotated[Plain, msgspec.Meta(max_length=limits.AUDIT_NAME_CHARS_MAX)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Exacts = Annotated[tuple[Digest, ...], msgspec.Meta(max_length=limits.QUESTION_REQUESTS_MAX)]
_Requests = Annotated[tuple[RequestForm, ...], msgspec.Meta(max_length=limits.QUESTION_REQUESTS_MAX)]


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to the owner. An approval signs its digest. Some of its texts come from pages."""

    id: ids.QuestionId
    node: ids.NodeId
    kind: Kind
    """``action``: it was not performed. ``request``: it was, and the guard refused what it sent."""
    exact: Digest
    """``forms.action_exact`` of the action."""
    action: ActionForm
    requests: _Requests = ()
    """The requests that the guard lets through while the action is performed, …"""
    open_requests: bool = False
    """… and whether that is anything the page sends to its own origin, because it is not known yet."""
    level: Level
    evidence: Annotated[tuple[Said, ...], msgspec.Meta(max_length=limits.QUESTION_EVIDENCE_MAX)] = ()
    """Why it has that class, in plain words; the reason that decided comes first."""
    page: Annotated[Done, msgspec.Meta(max_length=limits.URL_CHARS_MAX)] = ""
    """Address of the page, without secrets."""
    caller: _Who
    """Who would have done it: ``owner``, ``agent:NAME``, the id of a peer."""
    search: Annotated[Plain, msgspec.Meta(max_length=32)] = ""
    """The search it was met in; empty if none."""
    session: Annotated[Plain, msgspec.Meta(max_length=32)] = ""
    step: Annotated[int, msgspec.Meta(ge=0, le=limits.SESSION_STEPS_MAX)] = 0
    asked_ms: _Time
    exacts: _Exacts = ()
    """``leaving.request_exact`` of those requests of which all is known, sorted: a yes for once is for these."""
    address: Annotated[Done, msgspec.Meta(max_length=limits.URL_CHARS_MAX)] = ""
    """The whole address of a request that waits for the answer, without secrets; …"""
    size: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    """… and the bytes of its body."""

    @property
    def origin(self) -> str:
        """The site it is about."""
        return self.action.origin


def digest_of(question: Question) -> bytes:
    """SHA-256 of a question: 32 bytes."""
    return hashlib.sha256(_DOMAIN + cbor.encode(question)).digest()


def level_of(form: RequestForm) -> int:
    """The class of a request that needs a yes: 7 if it deletes or its address says so, 6 with a field of access, 5 with one of
    payment, else 4."""
    url = f"{form.origin}{form.path}" + (f"?{'&'.join(form.query)}" if form.query else "")
    replaced = any(each.lower() == "_method=delete" for each in (*form.query, *form.fields))
    said = [each.level for each in map(judge_address, (url, *_chosen(form))) if each is not None]
    deletes = _says_delete(form.method) or replaced or max(said, default=0) >= _DELETES
    typed = max((_of_field(each.partition("=")[0]) for each in (*form.query, *form.fields)), default=0)
    return _DELETES if deletes else max(APPROVAL_CLASS, typed)


def _says_delete(method: str) -> bool:
    """True if a method, or the one that a header puts in its place, deletes; of one that was cut nobody knows."""
    return CUT in method or "DELETE" in method.replace(",", " ").split()


def _of_field(name: str) -> int:
    """6 for the name of a field of access, 5 for one of payment, 0 for any other."""
    return marks.of_field(tuple(words_in(name)), (("name", name),))


def _chosen(form: RequestForm) -> list[str]:
    """The choices in the fields of a body, without the method, as addresses, because no path says “action=delete”."""
    pairs = [each.partition("=") for each in form.fields if "=" in each and not each.lower().startswith("_method=")]
    return [f"{form.origin}/?{urlencode({name: value})}" for name, _, value in pairs]


class Cover(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that an approval lets through while its action is performed."""

    requests: tuple[RequestForm, ...] = ()
    origin: str = ""
    """Anything sent to this origin too, except to addresses that are judged worse than the action; empty for no origin."""
    level: int = 0
    exacts: frozenset[bytes] = frozenset()
    """Of ``requests`` only these, each once (``leaving.request_exact``), and what cannot be read; empty: all of such a form."""

    def covers(
        self,
        method: str,
        url: str,
        content_type: str,
        body: str | None,
        *,
        chosen: Sequence[str] = (),
        exact: bytes = b"",
        announced: bool = False,
    ) -> bool:
        """True if it lets a request through. chosen: as in ``request_form``.

        announced: it is the preflight of one, whose body is not known yet.
        """
        form = request_form(method, url, content_type, body, chosen)
        if announced:
            form = msgspec.structs.replace(form, fields=(), body="")
            known = [msgspec.structs.replace(each, fields=(), body="") for each in self.requests]
            return form in known or self._open(form, url)
        if self.exacts and body is not None and exact not in self.exacts:
            return False
        return form in self.requests or self._open(form, url)

    def _open(self, form: RequestForm, url: str) -> bool:
        if not self.origin or form.origin != self.origin:
            return False
        if self.level >= _DELETES:
            return True
        replaced = any(each.lower().startswith("_method=") for each in (*form.query, *form.fields))
        return form.method in _WRITES and not replaced and not any(map(destructive_url, (url, *_chosen(form))))


def cover_of(question: Question, *, once: bool) -> Cover:
    """The requests that a yes to ``question`` lets through; once: a yes for once."""
    origin = question.origin if question.open_requests else ""
    exacts = frozenset(question.exacts) if once else frozenset()
    return Cover(requests=question.requests, origin=origin, level=question.level, exacts=exacts)
