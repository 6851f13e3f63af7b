"""Starts a node in the background for a command that needs one, and stops it.

A node that is made on the fly is configured by ``configs/on-the-fly.yaml``: nothing that changes a site leaves before its owner has
enrolled a key at a terminal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from node.base.control_file import CONTROL_FILE
from node.base.files import write_private
from node.process.client import control_info
from protocol import limits
from protocol.errors import MeshError

LOG_FILE: Final = "serve.log"
NO_SANDBOX: Final = "--no-sandbox"
STARTING_FILE: Final = "starting.lock"
_LOG_BYTES_MAX: Final = 4 * limits.MIB
_LOOK_S: Final = 0.05
_TAIL_LINES: Final = 5


def ensure_serving(home: Path, *, idle_s: int, say: Callable[[str], None], sandbox: bool = True) -> bool:
    """Start a node in ``home`` unless one serves; True if this call has started it.

    The node is made first if there is none. It ends after ``idle_s`` seconds without work. say: told one line about what was made
    and started. sandbox: as for ``open_node``. Errors: ``node.not_serving`` (it did not start: the message has the end of its log),
    those of ``init_home``.
    """
    if control_info(home) is not None:
        return False
    home.parent.mkdir(parents=True, exist_ok=True)
    try:
        # Two commands of one script may come at once: the second waits for the node of the first.
        with FileLock(_lock_of(home), timeout=limits.NODE_START_S, mode=0o600):
            if control_info(home) is not None:
                return False
            made = _make(home)
            process = _spawn(home, idle_s, *(() if sandbox else (NO_SANDBOX,)))
            _wait(home, process)
    except Timeout:
        raise MeshError("node.not_serving", "another command has been starting the node for too long") from None
    what = f"made a node in {home} and started it" if made else f"started the node of {home}"
    say(f"{what} in the background; it ends after {idle_s // 60} min without work (`trailmesh node stop` ends it now)")
    return True


def _lock_of(home: Path) -> Path:
    return home.with_name(f".{home.name}.{STARTING_FILE}")


def _make(home: Path) -> bool:
    from node.config import CONFIG_FILE
    from node.process.setup import init_home

    if (home / CONFIG_FILE).exists():
        return False
    init_home(home, name=None, listen=None, config_file="on-the-fly")
    return True


def _spawn(home: Path, idle_s: int, *more: str) -> subprocess.Popen[bytes]:
    log = home / LOG_FILE
    with contextlib.suppress(OSError):
        if log.stat().st_size > _LOG_BYTES_MAX:
            log.replace(log.with_suffix(".log.1"))
    if not log.exists():
        write_private(log, b"")
    command = [sys.executable, "-m", "trailmesh", "node", "serve", "--home", str(home), "--idle-exit", str(idle_s)]
    command += more
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TRAILMESH_TOKEN")}
    with log.open("ab") as out:
        # A session of its own: what ends the terminal, or Ctrl-C in it, does not end the node.
        return subprocess.Popen(  # noqa: S603 - this very program
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True, env=inherited
        )


def _wait(home: Path, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + limits.NODE_START_S
    while control_info(home) is None:
        if process.poll() is not None:
            raise MeshError("node.not_serving", f"the node did not start: {_end_of(home)}")
        if time.monotonic() > until:
            process.terminate()
            raise MeshError(
                "node.not_serving", f"the node did not start within {limits.NODE_START_S} s: {_end_of(home)}"
            )
        time.sleep(_LOOK_S)


def _end_of(home: Path) -> str:
    lines = log_lines(home, _TAIL_LINES)
    return " | ".join(lines) or f"{home / LOG_FILE} is empty"


def log_lines(home: Path, count: int) -> list[str]:
    """The last ``count`` lines of the log of a node that was started in the background."""
    try:
        with (home / LOG_FILE).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES_MAX // 4))
            return file.read().decode(errors="replace").splitlines()[-count:]
    except OSError:
        return []


def stop(home: Path) -> dict[str, Any]:
    """Stop the node that serves ``home`` and wait until it has ended.

    Errors: ``node.not_serving`` (none serves), ``node.stopping`` (it has not ended in time, and goes on ending).
    """
    info = control_info(home)
    if info is None:
        raise MeshError("node.not_serving", f"no node serves {home}")
    os.kill(info.pid, signal.SIGTERM)
    until = time.monotonic() + limits.NODE_STOP_S
    while _runs(info.pid) or (home / CONTROL_FILE).exists():
        if time.monotonic() > until:
            raise MeshError("node.stopping", f"process {info.pid} has not ended within {limits.NODE_STOP_S} s")
        time.sleep(_LOOK_S)
    return {"home": str(home), "pid": info.pid}


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:
        # A node that was started by this process and has ended stays until it is waited for.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return sys.platform != "linux"
