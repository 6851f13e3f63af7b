"""The verb that copies the node to a file. ``node restore`` is no verb, because no node is running that could be called."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from node.verbs.verb import OWNER_ONLY, AuditedPart, Params, Verb, argument


class BackupParams(Params, frozen=True, kw_only=True):
    """``node.backup``"""

    out: Annotated[str, argument("File to write; one that exists is replaced.", metavar="FILE", reads="path")]


class MadeBackup(msgspec.Struct, frozen=True, kw_only=True):
    """A backup that was written."""

    out: str
    bytes: int
    blobs: int
    """Number of stored files in it: snapshots, screenshots, manifests."""
    log: str
    """Origin of the witness log."""
    log_size: int
    """Size of the witness log when the copy began. A peer that has seen a larger log notices that the copy is older."""
    made_ms: int


BACKUP: Final = Verb(
    name="node.backup",
    long=True,
    command="node backup",
    takes=BackupParams,
    gives=MadeBackup,
    help="""Write a backup of this node to FILE, also while it serves.

    The file contains the configuration, the keys, the database with the witness log, and the stored files, all of one moment.
    Whoever can read it can act as this node, unless the witness key is sealed or in a keyring; its mode is 0600. A key in a keyring
    is not in the file. `trailmesh node restore` makes a node from it.
    """,
    callers=OWNER_ONLY,
    row=AuditedPart(),
)

VERBS: Final[tuple[Verb, ...]] = (BACKUP,)
