"""Obtains the passphrase of a sealed witness key: from a file, the environment or a prompt. Never from a command-line argument."""

from __future__ import annotations

import functools
import getpass
import sys
from collections.abc import Callable
from pathlib import Path

from node.base.environment import passphrase_file_from_environment
from protocol import limits
from protocol.errors import MeshError

AskPassphrase = Callable[[], bytes]
"""Returns the passphrase. Errors: ``key.locked``, ``input.invalid``."""


def passphrase_source(file: str | None) -> AskPassphrase:
    """Where to get the passphrase of an existing key: ``file``, else the file the environment names, else a prompt."""
    path = file or passphrase_file_from_environment()
    return (lambda: read(path)) if path else _prompt


def asked_once(ask: AskPassphrase) -> AskPassphrase:
    """``ask`` with its answer cached, so that a person is asked at most once."""
    return functools.cache(ask)


def new_passphrase_source(file: str | None) -> AskPassphrase | None:
    """The passphrase for a new key, or None for a key without one: ``file``, else the file the environment names."""
    path = file or passphrase_file_from_environment()
    return (lambda: _strong(read(path))) if path else None


def read(path: str) -> bytes:
    """The first line of the file. Errors: ``key.locked``, ``input.invalid``."""
    try:
        with Path(path).open("rb") as file:
            # Two bytes more than the limit, so that a passphrase of full length may be followed by CR LF.
            line = file.read(limits.PASSPHRASE_BYTES_MAX + 2).split(b"\n")[0].rstrip(b"\r")
    except OSError as error:
        raise MeshError("key.locked", f"the passphrase file cannot be read: {error.strerror}") from error
    return _bounded(line)


def _prompt() -> bytes:
    # Without a terminal nobody can answer a prompt, and getpass would read the passphrase from a pipe.
    if not sys.stdin.isatty():
        raise MeshError("key.locked")
    return _bounded(getpass.getpass("Passphrase of the witness key: ").encode())


def owner_passphrase(name: str) -> bytes:
    """The passphrase of an owner's key, typed on the terminal: no file and no variable is read.

    Whatever a program of this account can read is no secret from an agent with a shell in it. Errors: ``owner.locked``,
    ``input.invalid``.
    """
    return _bounded(_typed(f"Passphrase of the owner {name}: "))


def new_owner_passphrase(name: str) -> bytes:
    """A passphrase for a new key of an owner, typed twice. Errors: ``owner.locked``, ``input.invalid``."""
    first = _bounded(_typed(f"New passphrase of the owner {name}: "))
    if len(first.decode(errors="replace")) < limits.OWNER_PASSPHRASE_CHARS_MIN:
        most = limits.OWNER_PASSPHRASE_CHARS_MIN
        raise MeshError("input.invalid", f"the passphrase of an owner must have at least {most} characters")
    if _typed("The same again: ") != first:
        raise MeshError("input.invalid", "the two passphrases differ")
    return first


def _typed(prompt: str) -> bytes:
    # Without a terminal getpass would read a pipe, into which any program can write.
    if not sys.stdin.isatty():
        raise MeshError("owner.locked")
    return getpass.getpass(prompt).encode()


def _bounded(passphrase: bytes) -> bytes:
    if not 0 < len(passphrase) <= limits.PASSPHRASE_BYTES_MAX:
        raise MeshError(
            "input.invalid", f"a passphrase must have 1 to {limits.PASSPHRASE_BYTES_MAX} bytes, on one line"
        )
    return passphrase


def _strong(passphrase: bytes) -> bytes:
    if len(passphrase.decode(errors="replace")) < limits.PASSPHRASE_CHARS_MIN:
        raise MeshError(
            "input.invalid", f"a new passphrase must have at least {limits.PASSPHRASE_CHARS_MIN} characters"
        )
    return passphrase
