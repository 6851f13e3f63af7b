"""Port: storage for the seeds of the witness key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class KeyStore(Protocol):
    """Where the seeds of a node's witness keys are at rest.

    It holds one seed, and two while a key is changed: the key log says which is current, so a crash between the two
    writes loses neither.
    """

    @property
    def form(self) -> str:
        """``file``, ``passphrase``, ``keyring``, ``memory``: how the seeds are kept, for people."""

    def load(self) -> tuple[bytes, ...]:
        """The seeds, 32 bytes each. Errors: ``node.not_initialised``, ``store.corrupt``, ``key.locked``,
        ``key.passphrase``, ``key.keyring``.
        """

    def save(self, seeds: Sequence[bytes]) -> None:
        """Keep one or two seeds in the place of those that were kept, whole or not at all.

        Errors: ``store.full``, ``key.locked``, ``key.keyring``.
        """
