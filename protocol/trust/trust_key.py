"""The text form of a node's key. It is committed beside a flow, so that machines without peers can verify the recording.

One line, ``trailmesh-key-1:<node id>:<key log in base64url>``. The key log proves itself: its first key gives the node id, and
each later key was signed by the one before it or by the recovery key. So whoever changes a character of the line gets an error or
another node. A file of keys holds one on each line; empty lines, and lines that begin with ``#``, are for people.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from protocol import ids, limits
from protocol.errors import MeshError
from protocol.keys.keylog import KeyLog
from protocol.wire import formats

PREFIX: Final = "trailmesh-key-1:"
_NAMED: Final = re.compile(r"trailmesh-key-([1-9][0-9]{0,5}):", re.ASCII)


def write_trust_key(log: KeyLog) -> str:
    """The line for the node of ``log``."""
    return f"{PREFIX}{log.node}:{base64.urlsafe_b64encode(log.encode()).decode().rstrip('=')}"


def read_trust_keys(text: str, *, now_s: int) -> tuple[KeyLog, ...]:
    """The key logs in ``text``, in order.

    Checks, in order: size; at least one key, and at most ``TRUST_KEYS_MAX``; form of each line; its key log, of which no event may
    be later than ``now_s`` (seconds since 1970); the node id; that no node stands there twice. Errors: ``trust.invalid``,
    ``format.*``.
    """
    if len(text) > limits.TRUST_TEXT_CHARS_MAX:
        raise MeshError("trust.invalid", f"more than {limits.TRUST_TEXT_CHARS_MAX} characters")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    keys = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not 1 <= len(keys) <= limits.TRUST_KEYS_MAX:
        raise MeshError("trust.invalid", f"{len(keys)} keys; there must be 1 to {limits.TRUST_KEYS_MAX}")
    logs = tuple(_read_line(line, number, now_s) for number, line in keys)
    if len({log.node for log in logs}) != len(logs):
        raise MeshError("trust.invalid", "two keys are of the same node: keep the newer one")
    return logs


def _read_line(line: str, number: int, now_s: int) -> KeyLog:
    node, _, data = line.removeprefix(PREFIX).partition(":")
    try:
        if not line.startswith(PREFIX):
            if named := _NAMED.match(line):
                formats.check_version("trust-key", int(named[1]))
            raise MeshError("trust.invalid", f"it does not begin with {PREFIX}")
        log = KeyLog.read(_decoded(data), now_s=now_s)
        if log.node != node:
            raise MeshError("trust.invalid", "its node id is not that of its key")
    except MeshError as error:
        refused = MeshError("trust.invalid", f"line {number}: {error.message}", line=number)
        raise formats.unless_version(error, refused) from error
    return log


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data + "=" * (-len(data) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise MeshError("trust.invalid", "the key is not complete") from error


def names(logs: tuple[KeyLog, ...]) -> str:
    """The short ids of the nodes of ``logs``."""
    return ", ".join(ids.short(log.node) for log in logs)
