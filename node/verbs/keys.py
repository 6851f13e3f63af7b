"""The verbs about the keys of this node."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_ONLY, Params, Row, Verb, option

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
    """``node.recover``; one of the two files holds the recovery key."""

    key_file: Annotated[str, _KEY_FILE] = ""
    words_file: Annotated[str, _WORDS_FILE] = ""
    since_s: Annotated[int, _SINCE] = 0
    recovery_out: Annotated[
        str,
        option(
            "Write a new recovery key here; the one used now is worth nothing afterwards.",
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
    """Of its key log."""
    told: list[str]
    """Names of the peers that know."""
    not_told: list[str]


class RecoveredKey(ChangedKey, frozen=True, kw_only=True):
    """This node after it was taken back."""

    recovery_file: str
    """Where a new recovery key was written; empty if the present one was kept."""


class RevokedKey(ChangedKey, frozen=True, kw_only=True):
    """This node after it ended itself."""

    revoked_s: int | None


# --- the verbs -------------------------------------------------------------------------------------------------------

ROTATE: Final = Verb(
    name="node.rotate",
    command="node rotate",
    gives=ChangedKey,
    help="""Change the witness key. The node id stays, and peers follow without pairing again.

    Peers that are reached learn it at once, the others when they next reach this node.
    """,
    callers=OWNER_ONLY,
    row=Row(),
)
RECOVER: Final = Verb(
    name="node.recover",
    command="node recover",
    takes=RecoverParams,
    gives=RecoveredKey,
    help="""Take the node back with its recovery key: a new witness key replaces a lost or stolen one.

    It outranks whatever was signed with the stolen key, rotations and revocations too. Only the key log must still be in the data
    directory: where the witness key is gone, the new one is kept in the open (mode 0600). One that is sealed with a passphrase
    nobody knows is as good as gone: move witness.key away first.

    \b
    Example:
      trailmesh node recover --key-file /media/stick/laptop-recovery.txt --since 2025-03-01T12:00
    """,
    callers=OWNER_ONLY,
    row=Row(
        note=lambda given: {"since_s": str(given.since_s), "recovery_key": "new" if given.recovery_out else "kept"}
    ),
)
REVOKE_SELF: Final = Verb(
    name="node.revoke_self",
    command="node revoke-self",
    takes=RevokeParams,
    gives=RevokedKey,
    help="""End this node: every peer that learns it refuses the node, and believes nothing it signed since.

    Signed with the recovery key it is final; signed with the witness key, `node recover` can still take the node back.
    """,
    callers=OWNER_ONLY,
    row=Row(note=lambda given: {"since_s": str(given.since_s)}),
)

VERBS: Final[tuple[Verb, ...]] = (ROTATE, RECOVER, REVOKE_SELF)
