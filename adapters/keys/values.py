"""Reads one secret of a person from its place: the keyring of the user, or the output of a program.

Error messages contain neither the value nor any output of a program or a backend, as both may quote it.
"""

from __future__ import annotations

import os
import selectors
import subprocess  # a list of words, never a shell
import sys
import time
from collections.abc import Sequence
from pathlib import PurePath
from typing import IO, Any, Final

from adapters.keys.os_keyring import user_keyring
from adapters.keys.patience import answered
from protocol import limits
from protocol.errors import MeshError

_CHUNK_BYTES: Final = 4_096
_END_S: Final = 2.0
"""How long a program may take to end after it was told to."""


def from_keyring(service: str, user: str, backend: Any = None, *, wait_s: float = limits.SECRET_COMMAND_S) -> str:
    """The entry of ``user`` under ``service``. backend: a ``keyring.backend.KeyringBackend``; None for this user's.

    Errors: ``secret.unread``, ``secret.late``.
    """
    try:
        found = answered(lambda: (backend or user_keyring()).get_password(service, user), wait_s)
    except MeshError as error:
        raise MeshError("secret.unread", error.message) from None
    except TimeoutError:
        raise MeshError("secret.late", f"the keyring has not answered after {wait_s:.0f} s") from None
    except Exception:
        # Backends raise arbitrary exceptions. `from None`, because their messages may contain the secret.
        raise MeshError("secret.unread", "the keyring is locked or does not answer") from None
    if not isinstance(found, str) or not found:
        raise MeshError("secret.unread", "the keyring has no such entry")
    return found


def from_command(words: Sequence[str], *, wait_s: float = limits.SECRET_COMMAND_S) -> str:
    """The standard output of the program ``words``, without trailing line ends.

    It runs without a shell. It may ask on the terminal, if there is one; its standard error is discarded. Errors:
    ``secret.unread`` (it does not start, fails, writes nothing, too much, or no text), ``secret.late``.
    """
    name = PurePath(words[0]).name if words else ""
    typed = None if sys.stdin is not None and sys.stdin.isatty() else subprocess.DEVNULL
    try:
        process = subprocess.Popen(  # noqa: S603 - the words are of the person who types the command
            list(words), stdin=typed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except (OSError, ValueError, IndexError) as error:
        why = getattr(error, "strerror", "") or "no program"
        raise MeshError("secret.unread", f"{name or 'the command'} does not start: {why}") from None
    ends = time.monotonic() + wait_s
    assert process.stdout is not None
    try:
        data = _read(process.stdout, ends, name)
        status = process.wait(timeout=max(0.0, ends - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise MeshError("secret.late", f"{name} has not ended after {wait_s:.0f} s") from None
    finally:
        process.stdout.close()
        _end(process)
    if status:
        raise MeshError("secret.unread", f"{name} ended with status {status}")
    try:
        text = data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise MeshError("secret.unread", f"what {name} writes is no text") from None
    if not text:
        raise MeshError("secret.unread", f"{name} wrote nothing")
    return text


def _read(output: IO[bytes], ends: float, name: str) -> bytes:
    """All bytes up to the end of ``output``. Errors: ``secret.late``, ``secret.unread``."""
    data = bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(output, selectors.EVENT_READ)
        while True:
            left = ends - time.monotonic()
            if left <= 0 or not ready.select(left):
                raise MeshError("secret.late", f"{name} has not ended in time")
            chunk = os.read(output.fileno(), _CHUNK_BYTES)
            if not chunk:
                return bytes(data)
            data += chunk
            if len(data) > limits.SECRET_SOURCE_BYTES_MAX:
                raise MeshError("secret.unread", f"{name} writes more than {limits.SECRET_SOURCE_BYTES_MAX} bytes")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(timeout=_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
