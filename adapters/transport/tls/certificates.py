"""Creates and verifies the TLS 1.3 certificates that bind the channel to witness keys.

A node's witness key never enters TLS. It signs a certificate for a separate *channel* key that lives for a week. The other side
does not trust that certificate, nor any certificate the peer sends. It makes its own *anchor* from the peer's public key and
verifies against that. So a key is pinned, certificates can be renewed without any exchange, and no peer can certify another.

X.509 comes from ``cryptography``, TLS from ``ssl``; nothing here is stored on disk.
"""

from __future__ import annotations

import datetime
import functools
import os
import secrets
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.errors import MeshError

CERTIFICATE_LIFE_S: Final = limits.CHANNEL_CERTIFICATE_DAYS * 86_400
_LIFE_MAX_S: Final = CERTIFICATE_LIFE_S + limits.CHANNEL_CERTIFICATE_BACKDATE_MINUTES * 60
_ROUNDING_S: Final = 1
"""Times in a certificate are whole seconds."""
_ANCHORS_AT_ONCE: Final = 10
"""How many trust anchors are loaded before other threads may run: about one millisecond of work."""
_HAND_OVER_S: Final = 0.000_5
_ANCHOR_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_ANCHOR_UNTIL = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC)


class Signer(msgspec.Struct, frozen=True, kw_only=True):
    """The node whose witness key signed a channel certificate."""

    node: str
    public_key: bytes
    expires_s: float
    """When the certificate ends, seconds since 1970."""


class Credentials:
    """One channel certificate with its key. The key leaves only into an ``SSLContext``."""

    def __init__(self, certificate: x509.Certificate, key: Ed25519PrivateKey, renew_s: float) -> None:
        self._certificate = certificate
        self._key = key
        self.renew_s = renew_s
        """When to create the next one, in seconds since 1970: after half of its lifetime."""

    @property
    def leaf(self) -> bytes:
        """The certificate, DER."""
        return self._certificate.public_bytes(serialization.Encoding.DER)

    @property
    def chain(self) -> bytes:
        """The certificate to present to the other side, PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Present this certificate in ``context``.

        ``ssl`` only reads files, so the key passes through an in-memory file.
        """
        chain = self.chain
        if hasattr(os, "memfd_create"):
            fd = os.memfd_create("channel", os.MFD_CLOEXEC)
            try:
                os.write(fd, chain + self._pem(serialization.NoEncryption()))
                context.load_cert_chain(f"/proc/self/fd/{fd}")
            finally:
                os.close(fd)
            return
        # Without memfd a file is unavoidable. The key in it is encrypted with a password that exists only in this call.
        password = secrets.token_hex(32)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "channel.pem")
            with open(path, "wb") as file:
                file.write(chain + self._pem(serialization.BestAvailableEncryption(password.encode())))
            context.load_cert_chain(path, password=password)

    def _pem(self, encryption: serialization.KeySerializationEncryption) -> bytes:
        return self._key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


class ChannelIdentity:
    """A node's witness key as seen by TLS: makes channel certificates and renews them at half of their life."""

    def __init__(
        self, key: SigningKey, *, node: str, now_s: Callable[[], float], life_s: float = CERTIFICATE_LIFE_S
    ) -> None:
        """node: its node id, or empty for that of ``key`` (they differ after a rotation).

        life_s: of a certificate, seconds; tests shorten it.
        """
        self._life_s = life_s
        self._key = key
        self.public_key = bytes(key.verify_key)
        self.node = node or ids.node_id(self.public_key)
        self._now_s = now_s
        self._current = self._mint()

    def credentials(self) -> Credentials:
        """The certificate to present now."""
        left_s = self._current.renew_s - self._now_s()
        # If more than half of the lifetime is left here, the clock was set back, and the certificate may not be valid yet.
        if not 0 < left_s <= self._life_s / 2 + _ROUNDING_S:
            self._current = self._mint()
        return self._current

    def under(self, key: SigningKey) -> ChannelIdentity:
        """The same node with ``key`` as its witness key."""
        return ChannelIdentity(key, node=self.node, now_s=self._now_s, life_s=self._life_s)

    def renew(self) -> None:
        """Make a new certificate now; open connections keep theirs."""
        self._current = self._mint()

    def _mint(self) -> Credentials:
        now_s = self._now_s()
        life_s = self._life_s
        key = Ed25519PrivateKey.generate()
        certificate = channel_certificate(
            bytes(self._key),
            self.node,
            key.public_key(),
            # Backdated, for peers whose clocks are behind.
            from_s=now_s - limits.CHANNEL_CERTIFICATE_BACKDATE_MINUTES * 60,
            until_s=now_s + life_s,
        )
        return Credentials(certificate, key, now_s + life_s / 2)


def _name(node: str, public_key: bytes) -> x509.Name:
    """The distinguished name of a witness key. OpenSSL finds anchors by it, so it names node and key."""
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, public_key.hex()),
            x509.NameAttribute(NameOID.COMMON_NAME, node),
        ]
    )


def channel_certificate(
    witness_seed: bytes, node: str, channel_key: Ed25519PublicKey, *, from_s: float, until_s: float
) -> x509.Certificate:
    """A certificate for ``channel_key``, issued by the witness key of ``node``; times in seconds since 1970.

    It is no authority: a certificate signed with the channel key is invalid.
    """
    witness = Ed25519PrivateKey.from_private_bytes(witness_seed)
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "channel")]))
        .issuer_name(_name(node, witness.public_key().public_bytes_raw()))
        .public_key(channel_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.datetime.fromtimestamp(int(from_s), datetime.UTC))
        .not_valid_after(datetime.datetime.fromtimestamp(int(until_s), datetime.UTC))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(both, critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("channel.trailmesh.invalid")]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(witness.public_key()), critical=False)
        .sign(witness, None)
    )


@functools.cache
def _anchor_key() -> Ed25519PrivateKey:
    """The key that signs anchors. Nobody checks that signature: an anchor is trusted because this process made it."""
    return Ed25519PrivateKey.generate()


@functools.lru_cache(maxsize=2 * limits.PEERS_MAX)
def anchor_certificate(node: str, public_key: bytes) -> bytes:
    """A local authority certificate (DER) that carries only a peer's public key.

    It may sign leaves, but no authorities.
    """
    key = Ed25519PublicKey.from_public_bytes(public_key)
    mint = _anchor_key()
    usage = x509.KeyUsage(False, False, False, False, False, True, False, False, False)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(node, public_key))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "local anchor")]))
        .public_key(key)
        .serial_number(1)
        .not_valid_before(_ANCHOR_FROM)
        .not_valid_after(_ANCHOR_UNTIL)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(mint.public_key()), critical=False)
        .sign(mint, None)
        .public_bytes(serialization.Encoding.DER)
    )


def _context(protocol: int, credentials: Credentials | None) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["http/1.1"])
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        # A resumed session skips the check of the client certificate, so a revoked peer could return with a ticket.
        context.num_tickets = 0
    if credentials is not None:
        credentials.load_into(context)
    return context


def _require(context: ssl.SSLContext, trusted: Mapping[str, bytes]) -> None:
    """Require a certificate that one of the trusted keys signed directly."""
    context.check_hostname = False  # peers are identified by key, so host names are not checked
    context.verify_mode = ssl.CERT_REQUIRED
    # Partial: an anchor is no root, as an unchecked key signed it. Strict: only what RFC 5280 allows.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VERIFY_X509_STRICT
    for number, (node, key) in enumerate(trusted.items(), 1):
        # One by one, because each call holds the GIL until it returns.
        context.load_verify_locations(cadata=anchor_certificate(node, key))
        if number % _ANCHORS_AT_ONCE == 0:
            # Without this, the thread would release the GIL only every few milliseconds.
            time.sleep(_HAND_OVER_S)


def server_context(credentials: Credentials, trusted: Mapping[str, bytes]) -> ssl.SSLContext:
    """A context for a listener that only ``trusted`` (node id → public key) may use."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, credentials)
    _require(context, trusted)
    return context


def client_context(credentials: Credentials, node: str, public_key: bytes) -> ssl.SSLContext:
    """A context for connections to one peer."""
    context = _context(ssl.PROTOCOL_TLS_CLIENT, credentials)
    _require(context, {node: public_key})
    return context


def pairing_server_context(credentials: Credentials) -> ssl.SSLContext:
    """A context for the pairing listener: it presents a certificate and requests none."""
    return _context(ssl.PROTOCOL_TLS_SERVER, credentials)


def pairing_client_context(signer: Signer | None) -> ssl.SSLContext:
    """A context for a connection to a pairing listener, without a certificate of ours.

    signer: the witness key that must have signed the listener's leaf; None for the first connection, which accepts anything.
    There ``signer_of`` and the pairing exchange decide.
    """
    context = _context(ssl.PROTOCOL_TLS_CLIENT, None)
    if signer is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        _require(context, {signer.node: signer.public_key})
    return context


def signer_of(leaf: bytes, now_s: float) -> Signer:
    """The witness key that signed the channel certificate ``leaf`` (DER): named in it, and verified by its signature.

    It does not imply trust: the caller compares node and key with those expected. Checks, in order: readable; names a node and
    a key; signed by that key; valid for no longer than a node makes them; within its time. Errors: ``peer.identity``.
    """
    certificate, signer = _signed(leaf)
    if signer.expires_s - certificate.not_valid_before_utc.timestamp() > _LIFE_MAX_S:
        raise MeshError("peer.identity", f"a channel certificate is valid for at most {_LIFE_MAX_S // 86_400} days")
    if not certificate.not_valid_before_utc.timestamp() <= now_s < signer.expires_s:
        raise MeshError("peer.identity", "the certificate is not valid at this time: compare the clocks")
    return signer


def clock_apart_s(leaf: bytes, node: str, public_key: bytes, now_s: float) -> int:
    """By how many seconds, at least, the clock that made ``leaf`` is ahead of ``now_s``; negative: behind.

    A node presents a certificate from its making until half of its life, so its clock shows a time in between; 0 if ours does
    too. Errors: ``peer.identity`` (not signed by ``public_key`` for ``node``).
    """
    _, signer = _signed(leaf)
    if (signer.node, signer.public_key) != (node, public_key):
        raise MeshError("peer.identity", "not a certificate of this node")
    made_s = signer.expires_s - CERTIFICATE_LIFE_S  # not its start, which is backdated
    renewed_s = made_s + CERTIFICATE_LIFE_S / 2
    return int(min(0, renewed_s - now_s) or max(0, made_s - now_s))


def _signed(leaf: bytes) -> tuple[x509.Certificate, Signer]:
    """The certificate and its signer, regardless of the time. Errors: ``peer.identity``."""
    try:
        certificate = x509.load_der_x509_certificate(leaf)
        (node,) = certificate.issuer.get_attributes_for_oid(NameOID.COMMON_NAME)
        (key,) = certificate.issuer.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
        public_key = bytes.fromhex(str(key.value))
        Ed25519PublicKey.from_public_bytes(public_key).verify(certificate.signature, certificate.tbs_certificate_bytes)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm, x509.InvalidVersion) as error:
        raise MeshError("peer.identity", "not a certificate signed by a witness key") from error
    expires_s = certificate.not_valid_after_utc.timestamp()
    return certificate, Signer(node=str(node.value), public_key=public_key, expires_s=expires_s)
