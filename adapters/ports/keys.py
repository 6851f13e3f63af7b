"""Port: storage for the seeds of the witness key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class KeyStore(Protocol):
    """The storage of the seeds of a node's witness keys.

    It holds one seed, or two while a key is being changed: the key log names the current one, so a crash between the two writes
    loses neither.
    """

    @property
    def form(self) -> str:
        """``file``, ``passphrase``, ``keyring``, ``memory``: how the seeds are kept, for people."""

    def load(self) -> tuple[bytes, ...]:
        """The seeds, 32 bytes each. Errors: ``node.not_initialised``, ``store.corrupt``, ``key.locked``,
        ``key.passphrase``, ``key.keyring``.
        """

    def save(self, seeds: Sequence[bytes]) -> None:
        """Replace the stored seeds by these one or two, as a whole or not at all.

        Errors: ``store.full``, ``key.locked``, ``key.keyring``.
        """
