"""As whom ``trailmesh live`` calls: a person at a terminal as the owner, a program as an agent that is made for it.

One account is no boundary: a program that wants to can read the owner's token from the data directory, or say ``--as-owner``.
What the owner alone can do is sign with the key that only a passphrase opens.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any, Final

from filelock import FileLock

from node.base.control_file import AGENTS_DIRECTORY, AGENTS_SOCKET_FILE
from node.base.files import write_private
from node.cli.base.common import acting_as, home_path, run_async
from node.process.client import AsAgent, as_agent, call
from node.verbs.nodes import agent as verbs
from node.verbs.nodes import node as node_verbs
from protocol import limits
from protocol.errors import MeshError

NAME: Final = "shell"
TOKEN_FILE: Final = "shell-agent.token"  # noqa: S105 - the name of a file
REFUSED: Final = frozenset({"control.unauthorised", "agent.expired"})
"""A token that is refused so is replaced."""
_SCOPES: Final = ("live", "read", "replay", "local")  # a program of this account reaches sites of this machine anyway


def caller_of(home: str | None, *, as_owner: bool) -> AsAgent | None:
    """The agent as which a command of ``live`` calls; None for the owner.

    ``--token-file`` decides if it is given. Otherwise a person at a terminal is the owner, as is who says ``--as-owner``.
    A program is the agent ``shell``, which is made with its first call. A node must serve. Errors: those of ``agent.add``.
    """
    path = home_path(home)
    if (named := acting_as(path)) is not None:
        return named
    if as_owner or sys.stdin.isatty():
        return None
    with _making(path):  # of two programs that come first at once, the second takes the agent of the first
        return _kept(path) or _made(path)


def serving(home: str | None, *, as_owner: bool) -> AsAgent | None:
    """The agent as which a program calls that goes on for long, whose token holds; None for the owner. Errors: as ``caller_of``."""
    path = home_path(home)
    if (named := acting_as(path)) is not None or as_owner:
        return named
    with _making(path):
        if (agent := _kept(path)) is None:
            return _made(path)
        try:
            run_async(call(path, node_verbs.WHOAMI.name, {}, lambda event: None, agent=agent))
        except MeshError as error:
            if error.code not in REFUSED:  # such as a busy node: other programs call with this token
                raise
            return _made(path)
        return agent


def made_anew(home: str | None) -> AsAgent:
    """The agent ``shell`` with a new token, after its token was refused. Errors: those of ``agent.add``."""
    with _making(home_path(home)):
        return _made(home_path(home))


def _making(path: Path) -> FileLock:
    return FileLock(path / f"{TOKEN_FILE}.lock", timeout=limits.NODE_START_S, mode=0o600)


def _kept(path: Path) -> AsAgent | None:
    if (path / TOKEN_FILE).exists():
        with contextlib.suppress(MeshError):
            return as_agent(path, str(path / TOKEN_FILE))
    return None


def _made(path: Path) -> AsAgent:
    if (path / TOKEN_FILE).exists():  # else an agent of this name is somebody else's, and ``agent.add`` says so
        with contextlib.suppress(MeshError):
            _owner(path, verbs.REMOVE.name, {"name": NAME})
    added = _owner(path, verbs.ADD.name, {"name": NAME, "scopes": list(_SCOPES), "expires_s": limits.SHELL_AGENT_S})
    write_private(path / TOKEN_FILE, added["token"].encode())
    return AsAgent(path / AGENTS_DIRECTORY / AGENTS_SOCKET_FILE, added["token"])


def _owner(path: Path, verb: str, params: dict[str, Any]) -> Any:
    return run_async(call(path, verb, params, lambda event: None))
