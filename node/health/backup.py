"""Implements ``node.backup``."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adapters.ports.clock import Clock
from adapters.ports.store import Store
from node.base.files import write_private
from node.health import backup_file as archive
from node.signing import Witness
from node.verbs import Bound, Tell
from node.verbs.nodes import backup as verbs
from node.verbs.nodes.backup import BackupParams, MadeBackup
from protocol import limits
from protocol.errors import MeshError
from protocol.log.witness_log import origin

_STAGING: Final = ".backup-"


class BackupVerbs:
    """Makes backups, one at a time."""

    def __init__(self, home: Path, name: str, witness: Witness, store: Store, clock: Clock) -> None:
        self._home, self._name = home, name
        self._witness, self._store, self._clock = witness, store, clock
        self._one = asyncio.Lock()
        self.bound: Bound = {verbs.BACKUP: self._backup}

    async def _backup(self, params: BackupParams, tell: Tell) -> MadeBackup:
        out = Path(params.out)
        self._check_outside(out)
        async with self._one:
            with self._staging() as directory:
                try:
                    contents = await self._copied(directory)
                    size = await asyncio.to_thread(archive.pack, directory, out, contents)
                except OSError as error:
                    raise MeshError(
                        "input.invalid", f"{out} cannot be written: {error.strerror}", path=str(out)
                    ) from error
        return MadeBackup(
            out=str(out),
            bytes=size,
            blobs=contents.blobs,
            log=contents.log,
            log_size=contents.log_size,
            made_ms=contents.made_ms,
        )

    def _check_outside(self, out: Path) -> None:
        if out.is_dir() or not out.parent.is_dir():
            raise MeshError("input.invalid", f"{out} cannot be written: name a file in a directory that exists")
        if out.resolve().is_relative_to(self._home.resolve()):
            raise MeshError("input.invalid", "a backup inside of the data directory would be lost together with it")

    @contextlib.contextmanager
    def _staging(self) -> Iterator[Path]:
        """A directory for the copy, inside the data directory, because hard links need the same file system."""
        for left in self._home.glob(f"{_STAGING}*"):  # a crash ended an earlier backup
            shutil.rmtree(left)
        directory = Path(tempfile.mkdtemp(dir=self._home, prefix=_STAGING))
        try:
            yield directory
        finally:
            shutil.rmtree(directory)

    async def _copied(self, directory: Path) -> archive.Contents:
        """Copy the node into ``directory``; keys, log and database must match."""
        for _ in range(limits.BACKUP_TRIES_MAX):
            files, before = self._own_files(), self._witness.log.checkpoint
            await self._store.copy_to(directory)
            # If keys changed during the copy of the store, the copy would hold keys of one state and a log of another.
            if (self._own_files(), self._witness.log.checkpoint.number) == (files, before.number):
                break
            _empty(directory)
        else:
            raise MeshError("backup.changed")
        for name, data in files.items():
            write_private(directory / name, data)
        return await asyncio.to_thread(self._described, directory, before.number, before.size)

    def _own_files(self) -> dict[str, bytes]:
        return {name: (self._home / name).read_bytes() for name in archive.OWN_FILES}

    def _described(self, directory: Path, number: int, size: int) -> archive.Contents:
        names = (*archive.OWN_FILES, archive.DATABASE_FILE)
        return archive.Contents(
            node=self._witness.node,
            name=self._name,
            made_ms=self._clock.now_ms(),
            log=origin(self._witness.node, number),
            log_size=size,
            digests={name: archive.digest_of(directory / name) for name in names},
            blobs=len(archive.blob_names(directory)),
        )


def _empty(directory: Path) -> None:
    shutil.rmtree(directory)
    directory.mkdir(mode=0o700)
