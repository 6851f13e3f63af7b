"""Verbs for the keys of this node's owners."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from node.verbs.shown import shown
from node.verbs.verb import OWNER_ONLY, PAGE, AuditedPart, NoParams, Params, Verb, argument, option
from protocol import limits
from protocol.trust.agent_token import NAME_PATTERN

_HEX_MAX: Final = 2 * limits.APPROVAL_BYTES_MAX
_NAME: Final = argument(
    "Name of the owner: lower-case letters, digits and -, starting with a letter, at most 32 characters.",
    metavar="NAME",
    pattern=NAME_PATTERN,
)

# --- parameters ------------------------------------------------------------------------------------------------------


class ChangeParams(Params, frozen=True, kw_only=True):
    """``owner.change``"""

    by: Annotated[
        Literal["first", "owner", "recovery"],
        option("Who vouches: the first key for itself, an active owner, or the recovery key of the node."),
    ]
    change: Annotated[
        str, option("The change, encoded (docs/protocol/approval.md), in hexadecimal.", max_length=_HEX_MAX)
    ]
    signed: Annotated[
        str, option("An envelope over the same bytes, in hexadecimal; empty if none is needed.", max_length=_HEX_MAX)
    ] = ""
    key_file: Annotated[
        str, option("The recovery key: the file of `node init`.", metavar="FILE", reads="path", max_length=4_096)
    ] = ""
    words_file: Annotated[
        str, option("The recovery key: 24 words, numbered or not.", metavar="FILE", reads="path", max_length=4_096)
    ] = ""


class AddParams(Params, frozen=True, kw_only=True):
    """Parameters of the command ``owner add``."""

    name: Annotated[str, _NAME]
    by: Annotated[
        str,
        option(
            "The owner who vouches.  [default: the only one; none for the first key]", metavar="NAME", max_length=64
        ),
    ] = ""
    class_max: Annotated[int, option("The highest class that this owner may approve.", metavar="N", ge=4, le=7)] = 7
    public_key: Annotated[
        str,
        option(
            "The public key of a key that is kept elsewhere: 64 hexadecimal digits. Another owner has to vouch for it."
            "  [default: make a key here]",
            metavar="HEX",
            max_length=64,
        ),
    ] = ""
    key_file: Annotated[
        str,
        option("Vouch with the recovery key: the file of `node init`.", metavar="FILE", reads="path", max_length=4_096),
    ] = ""
    words_file: Annotated[
        str,
        option(
            "Vouch with the recovery key: 24 words, numbered or not.", metavar="FILE", reads="path", max_length=4_096
        ),
    ] = ""


class RevokeParams(Params, frozen=True, kw_only=True):
    """Parameters of the command ``owner revoke``."""

    name: Annotated[str, argument("Name or id of the owner whose key is revoked.", metavar="NAME", max_length=64)]
    by: Annotated[
        str, option("The owner who signs the revocation.  [default: the same]", metavar="NAME", max_length=64)
    ] = ""
    key_file: Annotated[
        str,
        option(
            "Revoke with the recovery key: the file of `node init`.", metavar="FILE", reads="path", max_length=4_096
        ),
    ] = ""
    words_file: Annotated[
        str,
        option(
            "Revoke with the recovery key: 24 words, numbered or not.", metavar="FILE", reads="path", max_length=4_096
        ),
    ] = ""


# --- results ---------------------------------------------------------------------------------------------------------


class OwnerKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key of an owner."""

    id: Annotated[str, shown("id", column=True)]
    name: Annotated[str, shown("name", column=True)]
    state: Annotated[Literal["active", "revoked"], shown("state", column=True)]
    class_max: Annotated[int, shown("classes up to", column=True)]
    """The highest risk class that it may approve."""
    key: Annotated[str, shown("key")]
    """The public key, in hexadecimal."""
    added_ms: Annotated[int, shown("added", as_="time", unit="ms", column=True)]
    by: Annotated[str, shown("vouched by", as_="node", column=True)]
    """The voucher: ``first``, ``recovery``, or the id of an owner."""
    revoked_ms: Annotated[int, shown("revoked", as_="time", unit="ms")]
    """0 while it is active."""


class OwnerList(msgspec.Struct, frozen=True, kw_only=True):
    """The owners' keys in the order of their addition, and the chain of changes that the next change must continue."""

    owners: Annotated[tuple[OwnerKey, ...], shown("owners", empty="no owner has a key yet: `trailmesh owner add NAME`")]
    node: Annotated[str, shown("node", as_="hidden")]
    number: Annotated[int, shown("changes", as_="hidden")]
    """Number of changes so far."""
    head: Annotated[str, shown("last change", as_="hidden")]
    """SHA-256 of the last change, in hexadecimal; empty before the first."""


class Changed(OwnerKey, frozen=True, kw_only=True):
    """The key after the change."""

    ended: Annotated[int, shown("answers that have ended")]
    """Number of its approvals that have ended."""


# --- the verbs -------------------------------------------------------------------------------------------------------

LIST: Final = Verb(
    name="owner.list",
    command="owner ls",
    takes=NoParams,
    gives=OwnerList,
    help="List the keys of the owners of this node, revoked ones too.",
    callers=OWNER_ONLY | PAGE,
    read_only=True,
    row=None,
)
CHANGE: Final = Verb(
    name="owner.change",
    takes=ChangeParams,
    gives=Changed,
    help="""Add or revoke the key of an owner: `trailmesh owner add` and `owner revoke` sign the change and call this.

    The node checks who vouches, signs around it, and enters it in its witness log. It never sees a private key of an owner.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"by": given.by}),
)

VERBS: Final[tuple[Verb, ...]] = (LIST, CHANGE)
