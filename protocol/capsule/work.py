"""The verdict about work that a node did for a peer with a login of its own: what was asked, and how it ended. No page text."""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec

from protocol import ids, limits
from protocol.capsule.policy import Time
from protocol.errors import MeshError
from protocol.messages import Key, WorkAsk, WorkTask
from protocol.wire import cbor, envelope
from protocol.wire.line import LINE_PATTERN

KIND_WORK: Final = "work-verdict"
_ASK_DOMAIN: Final = b"trailmesh-work-ask-v1\x00"
_Digest = Annotated[bytes, msgspec.Meta(max_length=32)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=limits.SESSION_STEPS_MAX)]
_Word = Annotated[str, msgspec.Meta(max_length=64, pattern=LINE_PATTERN)]


class WorkVerdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a work ended; kind ``work-verdict``, signed by the node that did it."""

    work: Key
    asked: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    """Digest of what was asked (``ask_digest``)."""
    node: ids.NodeId
    asker: ids.NodeId
    task: WorkTask
    session: Annotated[str, msgspec.Meta(max_length=64)] = ""
    """The session that was recorded or replayed; empty if it did not come to that."""
    manifest: _Digest = b""
    """Of that session, once it is signed: what is fetched later is this or nothing."""
    verdict: _Word = ""
    """Of the recording or the replay, such as ``pass``; empty if there is none."""
    steps: _Count = 0
    good: _Count = 0
    """How many of the steps succeeded, or matched."""
    code: _Word = ""
    """Of the error that ended it; empty if it came to its end."""
    question: bool = False
    """Whether the owner of the node was asked for an approval: after a yes, the same work can be asked for again."""
    at_ms: Time


def ask_digest(ask: WorkAsk) -> bytes:
    """What a verdict names as asked."""
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
