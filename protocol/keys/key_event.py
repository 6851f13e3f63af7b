"""Key events: genesis, rotation, recovery and revocation of a node's witness key.

An event is an envelope of kind ``key-event``, signed by the key that has the authority for it. When it brings a new witness
key, its payload is a second envelope, of kind ``key-accept``, in which the new key signs the statement. So one byte
string carries both signatures, and the older key has signed the acceptance too::

    genesis   key-event signed by the key itself      { statement }
    rotate    key-event signed by the current key     { key-accept signed by the new key { statement } }
    recover   key-event signed by the recovery key    { key-accept signed by the new key { statement } }
    revoke    key-event signed by either of the two   { statement }

A rotation has no field for the recovery commitment, so a thief of the current key cannot replace the recovery key.
This module reads and writes single events; whether an event may follow others is decided in ``protocol.keys.keylog``.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final

import msgspec
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.wire import cbor, envelope, formats

KIND_EVENT: Final = "key-event"
KIND_ACCEPT: Final = "key-accept"
HASH_BYTES: Final = 32
EVENT_RANDOM_BYTES: Final = 2 * envelope.UNIQUE_ID_BYTES
"""The number of random bytes that each function here needs to make an event."""
_RECOVERY_DOMAIN: Final = b"trailmesh-recovery-v1\x00"

Bytes32 = Annotated[bytes, msgspec.Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]
Seconds = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
Position = Annotated[int, msgspec.Meta(ge=1, le=limits.KEY_EVENTS_MAX)]


class Genesis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="genesis"):
    """The first event; its key gives the node its id."""

    key: Bytes32
    recovery: Bytes32
    """``recovery_commitment`` of the recovery key."""


class Rotate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="rotate"):
    """The current key hands over to a new one."""

    position: Position
    previous: Bytes32
    """SHA-256 of the event before."""
    key: Bytes32


class Recover(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="recover"):
    """The recovery key names a new witness key."""

    position: Position
    previous: Bytes32
    by: Bytes32
    """The recovery key: known by its hash only, until now."""
    key: Bytes32
    recovery: Bytes32
    """The commitment from now on."""
    since_s: Seconds
    """Time from which signatures of earlier keys are rejected, because the key was lost or stolen then."""


class Revoke(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="op", tag="revoke"):
    """The node ends."""

    position: Position
    previous: Bytes32
    by: Bytes32
    """The current key, or the recovery key."""
    since_s: Seconds
    """Time from which signatures of the node are rejected."""


Statement = Genesis | Rotate | Recover | Revoke


class KeyEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed event. Its signatures are checked by ``check_signatures``."""

    raw: bytes
    digest: bytes
    """SHA-256 of ``raw``, which the next event names, and which tells events apart."""
    node: str
    """The node it says it is about."""
    issued_s: int
    statement: Statement

    @property
    def position(self) -> int:
        """0 for the genesis, then without gaps."""
        return 0 if isinstance(self.statement, Genesis) else self.statement.position


def recovery_commitment(recovery_key: bytes) -> bytes:
    """The commitment to the recovery key (32 bytes, public) in a genesis: its hash, so that even the public half stays offline."""
    return hashlib.sha256(_RECOVERY_DOMAIN + recovery_key).digest()


def read_event(raw: bytes) -> KeyEvent:
    """The event in ``raw``, its signatures not checked yet.

    Checks, in order: size; form of the envelope; kind; no audience and no expiry; for an event that brings a key, the same for the
    envelope inside, and both name one node and one time; strict form of the statement; exactly the statements with a new key have
    its acceptance; a genesis is about the node of its key.
    Errors: ``keylog.invalid``, ``format.*``.
    """
    try:
        outer = envelope.peek(raw, bytes_max=limits.KEY_EVENT_BYTES_MAX)
        _check_header(outer, KIND_EVENT)
        payload, accepted = outer.payload, _is_envelope(outer.payload)
        if accepted:
            inner = envelope.peek(payload, bytes_max=limits.KEY_EVENT_BYTES_MAX)
            _check_header(inner, KIND_ACCEPT)
            if (inner.header.issuer, inner.header.issued_s) != (outer.header.issuer, outer.header.issued_s):
                raise _invalid("the acceptance names another node or time than the event")
            payload = inner.payload
        statement: Statement = cbor.convert(
            cbor.decode(payload, bytes_max=limits.KEY_EVENT_BYTES_MAX, items_max=32, depth_max=1), _STATEMENT
        )
    except MeshError as error:
        raise formats.unless_version(error, _invalid(error.message)) from error
    if accepted != isinstance(statement, Rotate | Recover):
        raise _invalid("the event must contain the new key's signature exactly if it adds a key")
    if isinstance(statement, Genesis) and ids.node_id(statement.key) != outer.header.issuer:
        raise _invalid("the node id is not that of the genesis key")
    return KeyEvent(
        raw=raw,
        digest=hashlib.sha256(raw).digest(),
        node=outer.header.issuer,
        issued_s=outer.header.issued_s,
        statement=statement,
    )


_STATEMENT: Any = Statement  # msgspec accepts a union as a type, but the type checker does not


def check_signatures(event: KeyEvent, signer: bytes) -> None:
    """Check that ``signer`` (32 bytes) signed the event and that a new key in it accepted.

    Errors: ``keylog.invalid``.
    """
    try:
        outer = envelope.verify(
            event.raw, kinds=frozenset({KIND_EVENT}), find_key=envelope.single_key(signer, event.node)
        )
        if isinstance(event.statement, Rotate | Recover):
            new = envelope.single_key(event.statement.key, event.node)
            envelope.verify(outer.payload, kinds=frozenset({KIND_ACCEPT}), find_key=new)
    except MeshError as error:
        raise _invalid(f"not signed by the key it needs: {error.message}") from error


def sign_event(
    statement: Statement, *, node: str, signer: SigningKey, new: SigningKey | None, issued_s: int, random: bytes
) -> bytes:
    """``statement`` about ``node`` as an event. new: the key it brings. random: ``EVENT_RANDOM_BYTES`` random bytes."""
    assert len(random) == EVENT_RANDOM_BYTES
    payload = cbor.encode(statement)
    half = envelope.UNIQUE_ID_BYTES
    if new is not None:
        header = envelope.EnvelopeHeader(issuer=node, issued_s=issued_s, unique=random[half:])
        payload = envelope.seal(payload, kind=KIND_ACCEPT, key=new, header=header)
    header = envelope.EnvelopeHeader(issuer=node, issued_s=issued_s, unique=random[:half])
    return envelope.seal(payload, kind=KIND_EVENT, key=signer, header=header)


def _is_envelope(payload: bytes) -> bool:
    """True if a payload begins with the tag of COSE_Sign1; a statement is a map."""
    return payload[:1] == b"\xd2"


def _check_header(opened: envelope.Envelope, kind: str) -> None:
    if opened.kind != kind:
        raise _invalid(f"an envelope of kind {kind} is expected")
    formats.check_version(kind, opened.version)
    if opened.header.audience is not None or opened.header.expires_s is not None:
        raise _invalid("a key event has no audience and no expiry")


def _invalid(reason: str) -> MeshError:
    return MeshError("keylog.invalid", reason)
