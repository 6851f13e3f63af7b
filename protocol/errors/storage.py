"""The store and its backups."""

from __future__ import annotations

from typing import Final

from protocol.errors.code import Blame, Code

_C, _E = Blame.CALLER, Blame.ENVIRONMENT

STORAGE: Final[dict[str, Code]] = {
    # store
    "store.corrupt": Code(
        _E,
        False,
        "The database or a key file cannot be opened, or fails its integrity check.",
        "Restore the data directory from a backup. The failed check changed nothing.",
    ),
    "store.unwritable": Code(
        _E,
        False,
        "This user cannot write to the data directory: it is read-only, lacks permission, or is not a directory.",
        "Make the named path writable for this user (`ls -ld`, `findmnt --target`), or choose another with `--home`. Nothing in it is damaged.",
    ),
    "store.newer": Code(
        _E, False, "The database was written by a newer version of trailmesh.", "Install that version or a later one."
    ),
    "store.tampered": Code(
        _E,
        False,
        "The store is not as this node left it: what it signed about keys of owners, answers or capsules was removed or changed.",
        "Find out who changed it: `trailmesh log audit` names what is missing. Then restore a backup: `trailmesh node restore FILE"
        " --home DIR`.",
    ),
    "store.full": Code(
        _E,
        True,
        "The disk is full, or the database has reached its size limit.",
        "Free disk space (`df -h`), then run the command again.",
    ),
    "blob.missing": Code(
        _E,
        False,
        "A stored file is missing, or its content does not match its hash.",
        "Import the session again from its bundle: `trailmesh session import`.",
    ),
    # backups
    "backup.invalid": Code(
        _C,
        False,
        "The file is not a complete backup of a node.",
        "Use another copy of the file, or another backup. Nothing was written.",
    ),
    "backup.changed": Code(
        _E,
        True,
        "The keys of the node changed each time while it was being copied.",
        "Repeat the command once the change of keys is done.",
    ),
}
