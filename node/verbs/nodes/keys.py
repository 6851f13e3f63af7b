"""Verbs for this node's keys: rotate, recover, revoke."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_ONLY, AuditedPart, Params, Verb, option

# --- what they take --------------------------------------------------------------------------------------------------

_KEY_FILE: Final = option("The recovery key: the file of `node init`.", metavar="FILE", reads="path")
_WORDS_FILE: Final = option("The recovery key: 24 words, numbered or not.", metavar="FILE", reads="path")
_SINCE: Final = option(
    "UTC time from which nothing signed by the lost key is believed (2025-03-01T12:00); not before this node was made."
    "  [default: now]",
    flag="--since",
    metavar="TIME",
    reads="utc",
)


class RecoverParams(Params, frozen=True, kw_only=True):
    """``node.recover``; exactly one of the two files must hold the recovery key."""

    key_file: Annotated[str, _KEY_FILE] = ""
    words_file: Annotated[str, _WORDS_FILE] = ""
    since_s: Annotated[int, _SINCE] = 0
    recovery_out: Annotated[
        str,
        option(
            "Write a new recovery key to this file; the one used now becomes invalid.",
            metavar="FILE",
            reads="path",
        ),
    ] = ""


class RevokeParams(Params, frozen=True, kw_only=True):
    """``node.revoke_self``; without a file the witness key signs."""

    key_file: Annotated[str, _KEY_FILE] = ""
    words_file: Annotated[str, _WORDS_FILE] = ""
    since_s: Annotated[int, _SINCE] = 0


# --- what they give --------------------------------------------------------------------------------------------------


class ChangedKey(msgspec.Struct, frozen=True, kw_only=True):
    """This node after a change of its key log."""

    node: str
    short: str
    public_key: str
    events: int
    """Number of events in its key log."""
    told: list[str]
    """Names of the peers that have received the change."""
    not_told: list[str]


class RecoveredKey(ChangedKey, frozen=True, kw_only=True):
    """This node after its recovery."""

    recovery_file: str
    """File of the new recovery key; empty if the existing one was kept."""


class RevokedKey(ChangedKey, frozen=True, kw_only=True):
    """This node after it revoked itself."""

    revoked_s: int | None


# --- the verbs -------------------------------------------------------------------------------------------------------

ROTATE: Final = Verb(
    name="node.rotate",
    command="node rotate",
    gives=ChangedKey,
    help="""Replace the witness key by a new one. The node id stays the same, and peers need not pair again. Peers that can
    be reached receive the new key at once, the others when they next connect.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(),
)
RECOVER: Final = Verb(
    name="node.recover",
    command="node recover",
    takes=RecoverParams,
    gives=RecoveredKey,
    help="""Replace a lost or stolen witness key by means of the recovery key.

    A recovery overrides everything signed with the stolen key, including rotations and revocations. Only the key log must
    still be in the data directory: if the witness key is missing, the new one is stored unencrypted (mode 0600). If
    witness.key is sealed with a passphrase that nobody knows, move the file away first.

    \b
    Example:
      trailmesh node recover --key-file /media/stick/laptop-recovery.txt --since 2025-03-01T12:00
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(
        note=lambda given: {"since_s": str(given.since_s), "recovery_key": "new" if given.recovery_out else "kept"}
    ),
)
REVOKE_SELF: Final = Verb(
    name="node.revoke_self",
    command="node revoke-self",
    takes=RevokeParams,
    gives=RevokedKey,
    help="""Revoke this node: peers that receive the revocation refuse it and reject everything it signs from then on.

    A revocation signed with the recovery key is final. One signed with the witness key can be undone by `node recover`.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(note=lambda given: {"since_s": str(given.since_s)}),
)

VERBS: Final[tuple[Verb, ...]] = (ROTATE, RECOVER, REVOKE_SELF)
