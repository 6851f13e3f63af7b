"""Seals and opens state off the event loop. State in clear is only ever in memory."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from protocol import limits
from protocol.capsule import stream as streams
from protocol.capsule.capsule import (
    CapsuleHeader,
    OriginState,
    SealedPayload,
    check_sliced,
    check_stream,
    key_info,
    open_state,
    read_header,
    suite,
)
from protocol.capsule.policy import Policy
from protocol.capsule.slices import NO_SLICE, Slice
from protocol.capsule.state import CapsuleState, Cookie, decode_state, encode_state
from protocol.errors import MeshError
from protocol.trust.origin import fits, origin_of
from protocol.wire import cbor

_INLINE_BYTES_MAX: Final = 64 * limits.KIB
"""A larger state is sealed and opened in a thread, so that the node can answer others meanwhile."""


class SealedState(msgspec.Struct, frozen=True, kw_only=True):
    """The part that is signed, and the stream."""

    sealed: SealedPayload
    stream: bytes


async def seal(
    state: CapsuleState,
    header: CapsuleHeader,
    keys: Mapping[str, bytes],
    content_key: bytes,
    consent: tuple[bytes, bytes],
) -> SealedState:
    """``state`` sealed under ``header``, whose ``state_bytes`` is set here.

    keys: the sealing key of each recipient, public, by node. content_key: 32 random bytes. consent: key and envelope, or empty.
    Errors: ``input.too_large``, ``capsule.invalid``.
    """
    data = await asyncio.to_thread(_encoded, state)
    made = msgspec.structs.replace(header, state_bytes=len(data))
    check_sliced(made, state)
    encoded = cbor.encode(made)
    read_header(encoded)  # a header that a reader would refuse is not signed
    info, hpke = key_info(encoded), suite()
    wrapped = tuple(
        hpke.encrypt(content_key, X25519PublicKey.from_public_bytes(keys[each.node]), info)
        for each in made.recipients
    )  # fmt: skip
    if len(data) > _INLINE_BYTES_MAX:
        stream = await asyncio.to_thread(streams.seal_stream, data, encoded, content_key)
    else:
        stream = streams.seal_stream(data, encoded, content_key)
    sealed = SealedPayload(
        header=encoded,
        keys=wrapped,
        stream=hashlib.sha256(stream).digest(),
        consent_key=consent[0],
        consent=consent[1],
    )
    return SealedState(sealed=sealed, stream=stream)


def _encoded(state: CapsuleState) -> bytes:
    """The bytes of ``state``, after checking that a reader accepts them: a page may store more than a reader accepts."""
    data = encode_state(state)
    decode_state(data)
    return data


async def unseal(
    sealed: SealedPayload, header: CapsuleHeader, stream: bytes, *, node: str, key: X25519PrivateKey
) -> CapsuleState:
    """The opened state. Errors: ``capsule.*``."""

    def run() -> CapsuleState:
        check_stream(sealed, header, stream)
        state = decode_state(open_state(sealed, stream, node=node, key=key))
        check_sliced(header, state)
        return state

    return await asyncio.to_thread(run) if len(stream) > _INLINE_BYTES_MAX else run()


def within(state: CapsuleState, origins: tuple[str, ...]) -> CapsuleState:
    """The parts of ``state`` that origins of these patterns can read or receive."""
    hosts = [_host(pattern) for pattern in origins]
    return msgspec.structs.replace(
        state,
        cookies=tuple(each for each in state.cookies if any(_is_sent(each, host) for host in hosts)),
        storage=tuple(each for each in state.storage if fits(origins, origin_of(each.origin))),
        lost=tuple(each for each in state.lost if fits(origins, origin_of(each.origin))),
        slice=_within(state.slice, origins),
        basic=tuple(each for each in state.basic if fits(origins, each.origin)),
    )


def _within(given: Slice, origins: tuple[str, ...]) -> Slice:
    folders = tuple(each for each in given.folders if fits(origins, each.origin))
    return Slice(version=given.version, folders=folders) if folders else NO_SLICE


def origins_of(state: CapsuleState) -> tuple[str, ...]:
    """The default origins for ``state``: those with storage, and the hosts of cookies, with HTTPS."""
    stored = {origin_of(each.origin) for each in state.storage} | {each.origin for each in state.slice.folders}
    stored |= {each.origin for each in state.basic}
    hosts = {f"https://{each.domain.lstrip('.').lower()}" for each in state.cookies}
    return tuple(sorted(origin for origin in stored | hosts if origin and origin_of(origin) == origin))


def counted(state: CapsuleState, policy: Policy, *, empty: bool = False) -> tuple[OriginState, ...]:
    """Counts of the parts of ``state``, by origin. empty: True to accept empty state, which a site leaves after it has ended the
    login. Errors: ``input.invalid`` for other empty state.
    """
    named = {pattern for pattern in policy.origins if "://*." not in pattern}
    named |= {origin for origin in origins_of(state) if fits(policy.origins, origin)}
    found = tuple(_count(state, origin) for origin in sorted(named))
    if not (empty and found) and not any(
        each.cookies or each.local or each.session or each.databases or each.slice or each.basic for each in found
    ):
        raise MeshError("input.invalid", "there is no state of the origins that were named")
    if len(found) > limits.CAPSULE_ORIGINS_MAX:
        raise MeshError("input.too_large", f"state of {len(found)} origins, {limits.CAPSULE_ORIGINS_MAX} are allowed")
    return found


def _count(state: CapsuleState, origin: str) -> OriginState:
    stored = [each for each in state.storage if origin_of(each.origin) == origin]
    return OriginState(
        origin=origin,
        cookies=sum(_is_sent(each, _host(origin)) for each in state.cookies),
        local=sum(len(each.local) for each in stored),
        session=sum(len(each.session) for each in stored),
        databases=sum(len(each.databases) for each in stored),
        slice=state.slice.size_bytes(origin),
        basic=sum(each.origin == origin for each in state.basic),
    )


def _host(pattern: str) -> str:
    """The host of an origin or a pattern. The host of ``https://*.shop.example`` keeps its star."""
    host = pattern.partition("://")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _is_sent(cookie: Cookie, host: str) -> bool:
    """True if a browser sends the cookie to ``host``. Cookies depend on the host only, not on scheme or port."""
    domain = cookie.domain.lower()
    if host.startswith("*."):
        return domain.lstrip(".").endswith(host[1:])
    if domain.startswith("."):
        return host == domain[1:] or host.endswith(domain)
    return host == domain
