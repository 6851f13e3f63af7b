"""Distrust notices: checks notices about a node, and selects the ones to keep.

The rules:

1. A notice is advice. It changes nothing in this program: no trust set, no scope, no tree, no lease.
2. A notice is accepted from its signer only; nodes do not pass on notices of others.
3. The newest notice of a signer about a node replaces its earlier ones, which are never accepted again.
4. The number of notices kept for each signer is limited; the oldest is removed first.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from protocol import limits
from protocol.errors import MeshError
from protocol.messages import KIND_DISTRUST_NOTICE, DistrustNotice
from protocol.wire import cbor, envelope


class SignedNotice(msgspec.Struct, frozen=True, kw_only=True):
    """A notice and who signed it."""

    by: str
    """Node id of the signer."""
    issued_s: int
    notice: DistrustNotice
    envelope: bytes


def check_reason(text: str) -> str:
    """``text`` without space around it, once it is one printable line of bounded length. Errors: ``input.invalid``."""
    reason = text.strip()
    if len(reason) > limits.DISTRUST_REASON_CHARS_MAX or not reason.isprintable():
        most = limits.DISTRUST_REASON_CHARS_MAX
        raise MeshError("input.invalid", f"a reason must be one line of at most {most} printable characters")
    return reason


def open_notice(sealed: bytes, find_key: envelope.KeyFinder, *, sender: str, now_s: int) -> SignedNotice:
    """The notice in ``sealed``, once it is one of ``sender``.

    Checks, in order: signature by a trusted key; signed by its sender; fields; about another node, by its whole id; reason;
    neither signed nor begun in the future. Errors: ``envelope.*``, ``peer.distrusted``, ``keylog.*``, ``message.invalid``.
    """
    opened = envelope.verify(sealed, kinds=frozenset({KIND_DISTRUST_NOTICE}), find_key=find_key)
    if opened.header.issuer != sender:
        raise MeshError("envelope.issuer", "a notice may be sent only by its signer")
    signed = _signed(opened, sealed)
    try:
        plain = check_reason(signed.notice.reason) == signed.notice.reason
    except MeshError as error:
        raise MeshError("message.invalid", f"the notice: {error.message}") from error
    latest_s = now_s + limits.CLOCK_SKEW_S
    if signed.notice.about == sender or not plain:
        raise MeshError(
            "message.invalid", "a notice must name another node by its full id and give a reason of one line"
        )
    if signed.issued_s > latest_s or signed.notice.since_ms > latest_s * 1000:
        raise MeshError("message.invalid", "the notice is from the future")
    return signed


def read_notice(sealed: bytes) -> SignedNotice:
    """The notice in ``sealed`` as this node keeps it; it was checked before. Errors: ``envelope.invalid``, ``message.invalid``."""
    return _signed(envelope.peek(sealed), sealed)


def _signed(opened: envelope.Envelope, sealed: bytes) -> SignedNotice:
    notice = cbor.decode_as(opened.payload, DistrustNotice)
    return SignedNotice(by=opened.header.issuer, issued_s=opened.header.issued_s, notice=notice, envelope=sealed)


def keep(kept: Iterable[SignedNotice], new: SignedNotice) -> tuple[SignedNotice, ...]:
    """The notices of one signer to keep after ``new`` has come, oldest first (rules 3 and 4); unchanged if ``new`` is older."""
    notices = {signed.notice.about: signed for signed in kept}
    known = notices.get(new.notice.about)
    if known is not None and known.issued_s > new.issued_s:
        return _in_order(notices.values())
    notices[new.notice.about] = new
    return _in_order(notices.values())[-limits.NOTICES_PER_PEER_MAX :]


def _in_order(notices: Iterable[SignedNotice]) -> tuple[SignedNotice, ...]:
    return tuple(sorted(notices, key=lambda signed: (signed.issued_s, signed.notice.about)))
