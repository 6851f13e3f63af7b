"""This node's identity: witness key, key log, and the signing of artefacts and messages."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from nacl.signing import SigningKey

from adapters.ports.clock import Clock
from adapters.ports.keys import KeyStore
from adapters.ports.records import ArtefactRecord
from node.base.files import write_atomic
from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES, HASH_BYTES
from protocol.keys.keylog import KeyLog
from protocol.messages import KIND_MESSAGE
from protocol.page.secrets.personal import Tokens
from protocol.store_faults import store_code
from protocol.wire import cbor, envelope

KEY_FILE = "witness.key"
_TOKENS_FOR = b"trailmesh: tokens for personal data"
LOG_FILE = "keylog.cbor"
SEED_BYTES = 32
_NEVER_S = 2**63


class Identity:
    """A node's id, key log and witness key. The key never leaves this object except to the channel adapter."""

    def __init__(self, key: SigningKey, clock: Clock, log: KeyLog | None = None, *, lost: bool = False) -> None:
        """log: None for a temporary node (tests, demos), which has no recovery key.

        lost: the current key of ``log`` is lost, and ``key`` is only a placeholder.
        """
        now_s = clock.now_ms() // 1000
        self._clock = clock
        self.key = key
        # The commitment is all zeros: no known key hashes to it, so this node cannot be recovered.
        self.log = log or keylog.begin(key, bytes(HASH_BYTES), now_s=now_s, random=bytes(EVENT_RANDOM_BYTES))
        self.node = self.log.node
        assert lost or self.log.key == bytes(key.verify_key)
        self._lost = lost
        self._speaks = key
        self._ends_s = _NEVER_S
        self.latest_s = 0
        """The latest time of issue of an artefact, seconds since 1970. ``Witness.load`` takes up what the store knows."""

    @property
    def tokens(self) -> Tokens:
        """The tokens that replace personal data in the store. Their key is derived from the current witness key, so it needs no
        file. After a change of key, older recordings are compared like those of another installation.
        """
        return Tokens(hmac.digest(bytes(self.key), _TOKENS_FOR, "sha256"))

    @property
    def public_key(self) -> bytes:
        """The current witness key, 32 bytes."""
        return self.log.key

    @property
    def genesis_key(self) -> bytes:
        """The first key of the node, 32 bytes. A rotation does not change it."""
        return self.log.genesis_key

    @property
    def end(self) -> str:
        """A sentence that says when this node revoked itself; empty if it has not."""
        if self.log.revoked_s is None:
            return ""
        return f"this node revoked itself on {datetime.fromtimestamp(self.log.revoked_s, UTC):%Y-%m-%d %H:%M:%S} UTC"

    def check_active(self) -> None:
        """Raise if peers no longer accept signatures of this node.

        Errors: ``node.not_initialised`` (its key is lost), ``keylog.revoked``, ``keylog.fork``.
        """
        if self._lost:
            raise MeshError("node.not_initialised", "the witness key is lost", node=self.node)
        if self.end:
            message = f"{self.end}: signatures after that time are rejected"
            raise MeshError("keylog.revoked", message, node=self.node, since_s=self.log.revoked_s)
        self.log.check_active()

    def become(self, log: KeyLog, key: SigningKey) -> None:
        """Sign artefacts and checkpoints with ``key``, the current key of ``log``, from now on.

        Messages follow when ``speak`` is called: until peers have seen ``log`` they accept only the previous key.
        """
        assert log.node == self.node and log.key == bytes(key.verify_key)
        self.log, self.key, self._lost = log, key, False

    @contextmanager
    def ending(self, ends_s: int) -> Iterator[None]:
        """While the next key is being stored, date nothing later than ``ends_s``, when the present key ends.

        Storing takes time, and peers never accept what a key signed after its end.
        """
        self._ends_s = ends_s
        try:
            yield
        finally:
            self._ends_s = _NEVER_S

    @property
    def spoken(self) -> bool:
        """True if messages are already signed with the current key."""
        return self._speaks is self.key

    def speak(self) -> None:
        """Sign messages with the current key from now on."""
        self._speaks = self.key

    def __repr__(self) -> str:
        return f"Identity({ids.short(self.node)})"

    def artefact(self, kind: str, subject: str, record: msgspec.Struct | bytes) -> ArtefactRecord:
        """``record`` signed as a durable artefact about ``subject``.

        Only ``node.signing.witness`` calls this: an artefact that is not in the log must not leave the node.
        """
        payload = record if isinstance(record, bytes) else cbor.encode(record)
        # Peers reject a signature that is older than its key. So if the clock was set back, use the start of the key.
        issued_s = min(max(self._clock.now_ms() // 1000, self.log.since_s), self._ends_s)
        self.latest_s = max(self.latest_s, issued_s)
        header = envelope.EnvelopeHeader(
            issuer=self.node, issued_s=issued_s, unique=self._clock.random(envelope.UNIQUE_ID_BYTES)
        )
        return artefact_record(envelope.seal(payload, kind=kind, key=self.key, header=header), kind, subject, header)

    def message(self, record: msgspec.Struct, *, audience: str, path: str) -> bytes:
        """``record`` signed as a message to ``audience`` over ``POST path``."""
        issued_s = self._clock.now_ms() // 1000
        header = envelope.EnvelopeHeader(
            issuer=self.node,
            audience=audience,
            issued_s=issued_s,
            expires_s=issued_s + limits.MESSAGE_LIFETIME_S,
            unique=self._clock.random(envelope.UNIQUE_ID_BYTES),
        )
        binding = envelope.route_binding("POST", path)
        return envelope.seal(cbor.encode(record), kind=KIND_MESSAGE, key=self._speaks, header=header, binding=binding)


def artefact_record(sealed: bytes, kind: str, subject: str, header: envelope.EnvelopeHeader) -> ArtefactRecord:
    """The stored form of a signed artefact."""
    return ArtefactRecord(
        digest=hashlib.sha256(sealed).digest(),
        kind=kind,
        subject=subject,
        issuer=header.issuer,
        issued_s=header.issued_s,
        envelope=sealed,
    )


def create(clock: Clock, recovery: bytes) -> Identity:
    """Create an identity; it is not stored yet. recovery: the commitment to its recovery key."""
    key = SigningKey(clock.random(SEED_BYTES))
    log = keylog.begin(key, recovery, now_s=clock.now_ms() // 1000, random=clock.random(EVENT_RANDOM_BYTES))
    return Identity(key, clock, log)


def keep(home: Path, own: Identity, keys: KeyStore) -> None:
    """Store a new identity in ``home``. The key is written last, so that a crash cannot leave a key without its log.

    Errors: ``node.already_initialised``, ``store.full``, ``store.corrupt``, ``key.*``.
    """
    check_vacant(home)
    write_log(home, own.log)
    try:
        keys.save([bytes(own.key)])
    except BaseException:
        (home / LOG_FILE).unlink()
        raise


def check_vacant(home: Path) -> None:
    """Check that ``home`` contains no node, not even one without its witness key. Errors: ``node.already_initialised``."""
    if (home / KEY_FILE).exists():
        raise MeshError("node.already_initialised", f"{home} already contains a node", home=str(home))
    if (home / LOG_FILE).exists():
        # A new node would overwrite the key log, without which the recovery key of the old node is useless.
        told = f"{home} holds a node whose witness key is missing: `trailmesh node recover` recovers it"
        raise MeshError("node.already_initialised", told, home=str(home))


def load(home: Path, clock: Clock, keys: KeyStore) -> Identity:
    """Load the identity in ``home``: the seed of the key that the log names as current.

    Errors: ``node.not_initialised``, ``store.corrupt``, ``key.locked``, ``key.passphrase``, ``key.keyring``.
    """
    # Two seeds after a crash during a change of key: the log says which one is current.
    candidates = [SigningKey(seed) for seed in keys.load()]
    log = read_log(home)
    for key in candidates:
        if bytes(key.verify_key) == log.key:
            return Identity(key, clock, log)
    raise MeshError(
        "store.corrupt", f"{home / KEY_FILE} holds a key that is not the current one in {LOG_FILE}", home=str(home)
    )


def without_key(home: Path, clock: Clock) -> Identity:
    """Load the identity in ``home`` although its witness key is lost. It signs nothing until it is recovered (``become``).

    Errors: ``node.not_initialised`` (the key log is lost as well), ``store.corrupt``.
    """
    return Identity(SigningKey(clock.random(SEED_BYTES)), clock, read_log(home), lost=True)


def read_log(home: Path) -> KeyLog:
    """The key log in ``home``; needs no passphrase. Errors: ``node.not_initialised``, ``store.corrupt``."""
    path = home / LOG_FILE
    try:
        return KeyLog.read(path.read_bytes())
    except FileNotFoundError as error:
        raise MeshError("node.not_initialised", f"no key log in {home}", home=str(home)) from error
    except OSError as error:
        raise MeshError(store_code(error.errno), f"{path} cannot be read: {error.strerror}") from error
    except MeshError as error:
        raise MeshError("store.corrupt", f"{path}: {error.message}") from error


def write_log(home: Path, log: KeyLog) -> None:
    """Store ``log`` in ``home``. Errors: ``store.full``, ``store.unwritable``, ``store.corrupt``."""
    try:
        write_atomic(home / LOG_FILE, log.encode())
    except OSError as error:
        raise MeshError(store_code(error.errno), f"{home / LOG_FILE} cannot be written: {error.strerror}") from error


def key_is_private(home: Path) -> bool:
    """True if only the owner can read the witness key."""
    return (os.stat(home / KEY_FILE).st_mode & 0o077) == 0
