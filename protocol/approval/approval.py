"""An approval: the owner's signed answer to one question, and when it holds."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from nacl.signing import SigningKey

from protocol import ids, limits
from protocol.approval.forms import UNREAD, ActionForm
from protocol.approval.owners import Owners, owner_id
from protocol.approval.question import Digest, Question, digest_of
from protocol.errors import MeshError
from protocol.wire import cbor, envelope

KIND_APPROVAL: Final = "approval"
KIND_APPROVAL_USE: Final = "approval-use"
Scope = Literal["once", "search", "site"]
"""``once``: the exact action, once. ``search``: its form, in its search. ``site``: its form, for the caller that asked. A yes to a
request holds for actions whose control and page have the same form.
"""
USUAL_S: Final = {"once": 3_600, "search": 86_400, "site": 30 * 86_400}
"""The default lifetime of an approval, by scope."""


class Approval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer that the owner signs."""

    node: ids.NodeId
    question: ids.QuestionId
    digest: Digest
    """``digest_of`` the question, so that the owner approves the text that was read, and not an id."""
    yes: bool
    scope: Scope = "once"
    expires_ms: Annotated[int, msgspec.Meta(ge=0, le=2**53)]


class ApprovalUse(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The use of an answer with scope ``once``; kind ``approval-use``. The node signs it before the action is performed."""

    question: ids.QuestionId
    approval: Digest
    """SHA-256 of the approval as the owner signed it."""


class VerifiedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An approval that was verified."""

    approval: Approval
    owner: str
    """Id of the key that signed it."""
    issued_ms: int


def seal(approval: Approval, key: SigningKey, *, now_s: int, unique: bytes) -> bytes:
    """``approval`` signed by an owner's key. unique: 16 random bytes."""
    header = envelope.EnvelopeHeader(issuer=owner_id(bytes(key.verify_key)), issued_s=now_s, unique=unique)
    return envelope.seal(cbor.encode(approval), kind=KIND_APPROVAL, key=key, header=header)


def open_approval(sealed: bytes, question: Question, owners: Owners, *, now_ms: int) -> VerifiedAnswer:
    """The approval in ``sealed``, once it is found to be a valid answer to ``question`` now.

    Checks, in order: an envelope of this kind by an active key of an owner; this node and this question; the question as it was
    asked; issued now, give or take ``APPROVAL_FRESH_S``; it expires later, within ``APPROVAL_DAYS_MAX``; for a yes: the owner may
    approve the class; the scope fits, as ``search`` needs a search, and a body that was not read allows ``once`` only.
    Errors: ``envelope.*``, ``owner.refused``, ``approval.invalid``.
    """
    opened = envelope.verify(
        sealed, kinds=frozenset({KIND_APPROVAL}), find_key=owners.find_key, bytes_max=limits.APPROVAL_BYTES_MAX
    )
    approval = cbor.decode_as(opened.payload, Approval)
    if approval.node != question.node or approval.question != question.id:
        raise MeshError("approval.invalid", "it answers another question, or one of another node")
    if approval.digest != digest_of(question):
        raise MeshError("approval.invalid", "the question was another one when it was signed")
    issued_ms = opened.header.issued_s * 1000
    if abs(issued_ms - now_ms) > limits.APPROVAL_FRESH_S * 1000:
        raise MeshError("approval.invalid", "it was signed at another time than now: sign it again")
    if not issued_ms < approval.expires_ms <= issued_ms + limits.APPROVAL_DAYS_MAX * 86_400_000:
        raise MeshError("approval.invalid", f"it must expire within {limits.APPROVAL_DAYS_MAX} days")
    if approval.yes:
        owners.require(opened.header.issuer, question.level)
        _check_scope(approval.scope, question)
    return VerifiedAnswer(approval=approval, owner=opened.header.issuer, issued_ms=issued_ms)


def _check_scope(scope: Scope, question: Question) -> None:
    if scope == "search" and not question.search:
        raise MeshError("approval.invalid", "no search asked this question: answer it once or for the site")
    if scope != "once" and any(form.body == UNREAD for form in question.requests):
        raise MeshError("approval.invalid", "a request of it has a body that was not read: answer it once")


def reopen(sealed: bytes, question: Question, owners: Owners) -> VerifiedAnswer:
    """A stored approval, which was valid when it was given. Its key must still be active.

    Errors: ``envelope.*``, ``owner.refused``, ``approval.invalid``.
    """
    issued_s = envelope.peek(sealed, bytes_max=limits.APPROVAL_BYTES_MAX).header.issued_s
    return open_approval(sealed, question, owners, now_ms=issued_s * 1000)


def holds(
    held: VerifiedAnswer,
    question: Question,
    *,
    exact: bytes,
    form: ActionForm,
    level: int,
    caller: str,
    search: str,
    now_ms: int,
) -> bool:
    """True if a yes to ``question`` allows an action now: it is within the scope, and of no higher class. exact, form: the action,
    as in ``protocol.approval.forms``. caller, search: those of the action.
    """
    approval = held.approval
    if not approval.yes or level > question.level:
        return False
    # Nothing is valid before it was signed, so that a clock that was set back does not revive an expired approval.
    if not held.issued_ms - limits.CLOCK_SKEW_S * 1000 <= now_ms < approval.expires_ms:
        return False
    if approval.scope == "once":
        return caller == question.caller and exact == question.exact
    return form == question.action and (
        search == question.search if approval.scope == "search" else caller == question.caller
    )


def statement(approval: Approval, public_key: bytes, *, now_s: int, unique: bytes) -> bytes:
    """The exact bytes that an external key must sign: the ``Sig_structure`` of COSE."""
    header = envelope.EnvelopeHeader(issuer=owner_id(public_key), issued_s=now_s, unique=unique)
    return envelope.to_sign(cbor.encode(approval), kind=KIND_APPROVAL, public_key=public_key, header=header)
