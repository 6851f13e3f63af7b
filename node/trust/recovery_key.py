"""Reads the recovery key of this node from the file that its owner names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from nacl.signing import SigningKey

from node.base.files import open_named
from node.signing import Identity
from protocol import limits
from protocol.errors import MeshError
from protocol.keys import recovery
from protocol.keys.key_event import recovery_commitment


class RecoveryKey:
    """The recovery key, which is on no disk of the node."""

    def __init__(self, own: Identity, read_words: Callable[[str], bytes]) -> None:
        """read_words: reads the key from its 24 words."""
        self._own, self._read_words = own, read_words

    async def prove(self, key_file: str, words_file: str) -> None:
        """Check that one of two files holds the recovery key of this node. Errors: ``recovery.invalid``, ``input.invalid``."""
        key = await self.read(key_file, words_file)
        if recovery_commitment(bytes(key.verify_key)) != self._own.log.recovery:
            raise MeshError("recovery.invalid", "this is the recovery key of another node, or was replaced")

    async def read(self, key_file: str, words_file: str) -> SigningKey:
        """The recovery key in one of two files. Errors: ``recovery.invalid``, ``input.invalid``."""
        if bool(key_file) == bool(words_file):
            raise MeshError("input.invalid", "give the recovery key with either --key-file or --words-file")
        text = await asyncio.to_thread(_read_text, Path(key_file or words_file))
        seed = recovery.parse(text, self._own.node) if key_file else self._read_words(text)
        return SigningKey(seed)


def _read_text(path: Path) -> str:
    """Errors: ``input.invalid``."""
    try:
        with open_named(path) as file:
            return file.read(limits.RECOVERY_FILE_CHARS_MAX + 1).decode()
    except OSError as error:
        raise MeshError("input.invalid", f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise MeshError("recovery.invalid", "the file is not text") from None
