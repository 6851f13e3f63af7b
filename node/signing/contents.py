"""Checks that no file of a node is missing, so that a node whose files were deleted or emptied is not taken for a new one.

A deleted store would be replaced by an empty one: peers and sessions would be gone, a second witness log would begin, and peers
would take this node for a forger. So a mark lies beside the files. It is written once the store has its witness log, and says so.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

import msgspec

from node.base.files import MARK_FILE, STORE_FILE, write_private
from node.signing.identity import KEY_FILE, LOG_FILE
from node.signing.recovery_file import default_recovery_file
from protocol.errors import MeshError
from protocol.store_faults import store_code

_MARK_BYTES_MAX: Final = 16_384
_PATH_CHARS_MAX: Final = 4_096


class MarkContent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of the mark."""

    node: str
    """Id of the node."""
    store: bool
    """True once the store has its witness log."""
    recovery: str = ""
    """The path to which the recovery key was written; empty if unknown."""


def check_vacant(home: Path) -> None:
    """Check that nothing of an earlier node is left in ``home``. Errors: ``node.already_initialised``."""
    for name in (MARK_FILE, STORE_FILE):
        if (home / name).exists():
            told = (
                f"{home} holds what is left of a node ({name}): choose another directory, or put a backup in its place"
            )
            raise MeshError("node.already_initialised", told, home=str(home), file=name)


def check_files(home: Path, *names: str) -> None:
    """Check that none of the required files is missing or empty, if ``home`` holds a node at all.

    A missing store is no fault before its mark is written. Errors: ``node.incomplete``, ``store.*``.
    """
    marked = _read(home)
    here = marked is not None or any(_size(home / name) is not None for name in (KEY_FILE, LOG_FILE, STORE_FILE))
    if not here:
        return
    for name in names:
        size = _size(home / name)
        if name == STORE_FILE and size is None and not (marked and marked.store):
            continue
        if not size:
            raise incomplete(home, name, "is missing" if size is None else "is empty")


def check_store(home: Path, *, has_log: bool) -> None:
    """Check that a store without a witness log never had one. Errors: ``node.incomplete``, ``store.*``."""
    marked = _read(home)
    if marked and marked.store and not has_log:
        raise incomplete(home, STORE_FILE, "has lost its content: it has no witness log, and this node had one")


def mark(home: Path, node: str, *, store: bool, recovery: str = "") -> None:
    """Write the mark, unless it is up to date.

    If the write fails, the next opening of the node repeats it. recovery: the path to which the recovery key was just written; if
    empty, the mark keeps its path.
    Errors: ``store.unwritable``, ``store.corrupt``.
    """
    before = _read(home)
    known = recovery[:_PATH_CHARS_MAX] or (before.recovery if before else "")
    wanted = MarkContent(node=node, store=store, recovery=known)
    if before != wanted:
        with contextlib.suppress(OSError):
            write_private(home / MARK_FILE, msgspec.json.encode(wanted) + b"\n")


def recovery_file(home: Path, node: str) -> str:
    """The last known file of the recovery key of ``node``."""
    with contextlib.suppress(MeshError):
        if (found := _read(home)) and found.node == node and found.recovery:
            return found.recovery
    return default_recovery_file(home, node)


def incomplete(home: Path, name: str, what: str) -> MeshError:
    """The error for the file ``name``. what: its fault."""
    return MeshError("node.incomplete", f"{home / name} {what}", home=str(home), file=name)


def _read(home: Path) -> MarkContent | None:
    """The mark; None if there is none. An unreadable mark still shows that a node was here.

    Errors: ``store.unwritable``, ``store.corrupt``.
    """
    path = home / MARK_FILE
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_MARK_BYTES_MAX), type=MarkContent)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MeshError(store_code(error.errno), f"{path} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError:
        return MarkContent(node="", store=False)


def _size(path: Path) -> int | None:
    """The size of a file; None if there is none."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise MeshError(store_code(error.errno), f"{path} cannot be read: {error.strerror}") from error
