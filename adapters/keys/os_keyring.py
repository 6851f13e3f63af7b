"""Stores seeds in the keyring of the user (Secret Service, KWallet, macOS Keychain, Windows Credential Locker).

The ``keyring`` package is optional, and machines without a desktop have no keyring even with it. Each failure reports that; the
remedy is another form of key. The key file only names the entry.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from adapters.keys import seeds as kept
from adapters.keys.patience import answered
from protocol import limits
from protocol.errors import MeshError

FORM: Final = "keyring"
SERVICE: Final = "trailmesh"
_TITLE: Final = "trailmesh witness key, kept in the keyring of this user under the name below."
_ENTRY: Final = re.compile(r"keyring ([0-9a-f]{32})")


class KeyringKeyStore:
    """A ``KeyStore`` in the user's keyring."""

    form = FORM

    def __init__(self, path: Path, write: kept.WritePrivate, entry: str, backend: Any = None) -> None:
        """entry: 32 hexadecimal digits, the name of a new entry; an existing key file has its own.

        backend: a ``keyring.backend.KeyringBackend``; None for this user's.
        """
        self._path, self._write, self._entry = path, write, entry
        self._backend = backend

    def load(self) -> tuple[bytes, ...]:
        """As ``KeyStore.load``. Errors: ``node.not_initialised``, ``store.corrupt``, ``key.keyring``."""
        match = _ENTRY.fullmatch(kept.read_lines(self._path)[0])
        if match is None:
            raise kept.corrupt(self._path)
        self._entry = match[1]
        text = _guarded(lambda: self._use().get_password(SERVICE, self._entry))
        if text is None:
            raise MeshError("key.keyring", "the keyring contains no key of this node")
        try:
            return kept.split(bytes.fromhex(text), self._path)
        except ValueError:
            raise kept.corrupt(self._path) from None

    def save(self, seeds: Sequence[bytes]) -> None:
        """As ``KeyStore.save``: the keyring first, so that the file never names a missing entry.

        Errors: ``store.full``, ``store.corrupt``, ``key.keyring``.
        """
        secret = kept.join(seeds).hex()
        _guarded(lambda: self._use().set_password(SERVICE, self._entry, secret))
        kept.save(self._write, self._path, f"{_TITLE}\nkeyring {self._entry}\n")

    def _use(self) -> Any:
        """The keyring. Errors: ``key.keyring``."""
        if self._backend is None:
            self._backend = user_keyring()
        return self._backend


def user_keyring() -> Any:
    """The keyring of this user. Errors: ``key.keyring``."""
    try:
        import keyring
    except ImportError as error:
        message = "the package is not installed: `pip install trailmesh[keyring]`"
        raise MeshError("key.keyring", message) from error
    try:
        backend = keyring.get_keyring()
    except Exception as error:
        # For example a backend named by a file or a variable, with missing packages. Its message is not repeated.
        raise MeshError("key.keyring", f"the chosen keyring cannot be used: {type(error).__name__}") from None
    if getattr(backend, "priority", 0) <= 0:
        raise MeshError("key.keyring", "there is no keyring on this machine")
    return backend


def is_named(line: str) -> bool:
    """True if the second line of a key file names this form."""
    return line.startswith("keyring ")


def _guarded(ask: Any) -> Any:
    """The result of ``ask``. Errors: ``key.keyring``."""
    try:
        return answered(ask, limits.SECRET_COMMAND_S)
    except MeshError:
        raise
    except TimeoutError:
        raise MeshError("key.keyring", f"the keyring has not answered after {limits.SECRET_COMMAND_S} s") from None
    except Exception:
        # Backends raise arbitrary exceptions. `from None`, because their messages may contain the secret.
        raise MeshError("key.keyring", "the keyring is locked or does not answer") from None
