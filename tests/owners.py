"""Owners for tests: keys, the chain that adds them, and what they sign."""

from __future__ import annotations

from typing import Any

from nacl.signing import SigningKey

from protocol.approval.approval import Approval, seal
from protocol.approval.owners import OwnerEntry, Owners, sign_change
from protocol.approval.question import Question, digest_of
from protocol.wire import cbor

ANNA = SigningKey(b"anna".ljust(32))
BEN = SigningKey(b"ben".ljust(32))
CARL = SigningKey(b"carl".ljust(32))
NOW_S = 1_767_225_600
"""Where the manual clock of the twins begins."""
UNIQUE = bytes(16)


def entry(
    owners: Owners,
    key: SigningKey,
    name: str = "anna",
    *,
    act: Any = "add",
    by: Any = "first",
    signer: SigningKey | None = None,
    level_max: int = 7,
) -> OwnerEntry:
    """The next change of ``owners``, signed by ``signer`` (without one by the key itself)."""
    change = owners.change(act, name, bytes(key.verify_key), level_max)
    signed = sign_change(change, signer or key, now_s=NOW_S, unique=UNIQUE)
    return OwnerEntry(by=by, change=cbor.encode(change), signed=signed)


def begun(node: str) -> Owners:
    """The owners of ``node`` once Anna has been added."""
    owners = Owners(node=node)
    return owners.follow(entry(owners, ANNA), now_s=NOW_S)


def approval(question: Question, **more: Any) -> Approval:
    """A yes to ``question`` for once."""
    given: dict[str, Any] = {
        "node": question.node,
        "question": question.id,
        "digest": digest_of(question),
        "yes": True,
        "expires_ms": (NOW_S + 600) * 1000,
    }
    return Approval(**given | more)


def answer(question: Question, key: SigningKey = ANNA, *, now_s: int = NOW_S, **more: Any) -> bytes:
    """A signed answer to ``question``."""
    return seal(approval(question, **more), key, now_s=now_s, unique=UNIQUE)
