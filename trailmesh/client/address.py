"""Finds the socket of a node, and the token with which to call it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from trailmesh.client.errors import MeshError, not_serving

_CONTROL_FILE: Final = "control.json"
_SOCKET_FILE: Final = "control.sock"
_AGENTS_SOCKET: Final = Path("control", "agents.sock")
_TOKEN_CHARS_MAX: Final = 4_096


class Address(NamedTuple):
    """Where a node answers, and as whom it is called."""

    socket: Path
    token: str

    def __repr__(self) -> str:
        return f"Address({self.socket})"


class _Control(msgspec.Struct):
    pid: int
    token: str


def data_directory(given: str | os.PathLike[str] | None) -> Path:
    """The data directory: as given, else ``TRAILMESH_HOME``, else the user's data directory."""
    chosen = given or os.environ.get("TRAILMESH_HOME")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("trailmesh"))


def of_owner(home: Path) -> Address:
    """The node of ``home``, called as its owner. Errors: ``node.not_serving``, ``node.exposed``."""
    file = home / _CONTROL_FILE
    try:
        for path in (home, file):
            _check_own(path)
        control = msgspec.json.decode(file.read_bytes(), type=_Control)
        os.kill(control.pid, 0)
    except (OSError, msgspec.DecodeError):
        raise not_serving(f"no node is running on {home}") from None
    return Address(home / _SOCKET_FILE, control.token)


def of_agent(home: Path, token_file: Path, socket: str | os.PathLike[str] | None) -> Address:
    """The node, called as the agent whose token is in ``token_file``. socket: if it is not the one in ``home``.

    Errors: ``input.invalid``.
    """
    try:
        with token_file.open(encoding="ascii") as file:
            token = file.read(_TOKEN_CHARS_MAX).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it does not contain a token"
        raise MeshError(
            "input.invalid", f"the token file {token_file} cannot be read: {reason}", blame="caller"
        ) from None
    return Address(Path(socket).absolute() if socket else home / _AGENTS_SOCKET, token)


def agent_for(origins: Sequence[str]) -> str:
    """The name of the agent that is made for Python programs which visit these origins; none: any."""
    return f"python-{hashlib.sha256(' '.join(origins).encode()).hexdigest()[:8]}" if origins else "python"


def made_token_file(home: Path, agent: str) -> Path:
    """The file with the token of an agent that is made for Python programs."""
    return home / f"{agent}-agent.token"


def keep_token(file: Path, token: str) -> None:
    """Write the token of the agent that was just made, for this account alone."""
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as out:
        out.write(token)


def _check_own(path: Path) -> None:
    """Another account that could put a socket here would be told the owner's token. Errors: ``node.exposed``, ``OSError``."""
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(found.st_mode) & stat.S_IWOTH:
        raise MeshError("node.exposed", f"another account can change {path}", remedy="Run `trailmesh node doctor`.")
