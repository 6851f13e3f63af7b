"""The verdict about work that a node did for a peer with one of its logins: the request and the result. It holds no page text."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec

from protocol import ids, limits
from protocol.capsule.policy import Time
from protocol.errors import MeshError
from protocol.kinds import Plain
from protocol.messages import Key, WorkAsk, WorkTask
from protocol.wire import cbor, envelope
from protocol.wire.line import LINE_PATTERN

KIND_WORK: Final = "work-verdict"
_ASK_DOMAIN: Final = b"trailmesh-work-ask-v1\x00"
_Digest = Annotated[bytes, msgspec.Meta(max_length=32)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=limits.SESSION_STEPS_MAX)]
_Word = Annotated[Plain, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)]


class WorkVerdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a piece of work; kind ``work-verdict``, signed by the node that did it."""

    work: Key
    asked: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    """Digest of the request (``ask_digest``)."""
    node: ids.NodeId
    asker: ids.NodeId
    task: WorkTask
    session: Annotated[Plain, msgspec.Meta(max_length=64)] = ""
    """The session that was recorded or replayed; empty if there is none."""
    manifest: _Digest = b""
    """Digest of the manifest of that session, once it is signed. A session that is fetched later must have it."""
    verdict: _Word = ""
    """Verdict of the recording or replay, such as ``pass``; empty if there is none."""
    steps: _Count = 0
    good: _Count = 0
    """The number of steps that succeeded, or matched."""
    code: _Word = ""
    """Code of the error that ended it; empty if it was completed."""
    question: bool = False
    """True if the node asked its owner for an approval. After a yes, the same work can be requested again."""
    at_ms: Time


def ask_digest(ask: WorkAsk) -> bytes:
    """The digest by which a verdict names a request."""
    return hashlib.sha256(_ASK_DOMAIN + cbor.encode(ask)).digest()


def open_verdict(sealed: bytes, ask: WorkAsk, *, node: str, asker: str, find_key: envelope.KeyFinder) -> WorkVerdict:
    """The verdict of ``node`` about ``ask``.

    Checks, in order: signature; form; signed by the node that it names, which is ``node``; for ``asker``; about this ask.
    Errors: ``envelope.*``, ``message.invalid``, ``work.verdict``.
    """
    opened = envelope.verify(
        sealed, kinds=frozenset({KIND_WORK}), find_key=find_key, bytes_max=limits.CAPSULE_ARTEFACT_BYTES_MAX
    )
    said = cbor.decode_as(opened.payload, WorkVerdict)
    if opened.header.issuer != node or said.node != node:
        raise MeshError("work.verdict", "it is signed by another node")
    if said.asker != asker or (said.work, said.asked, said.task) != (ask.id, ask_digest(ask), ask.task):
        raise MeshError("work.verdict", "it is about other work")
    return said
