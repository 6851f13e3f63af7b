"""Commands as real processes that start at once: forked from a process that has loaded the packages of the node.

A command takes up to a second of processor time to import what it needs, and the tests run many hundred of them. ``Forked`` is
``subprocess.Popen`` for commands: a child process with its own pid, descriptors, environment and directory. Only its start is
different. The server, this file run as a program, has one thread and no event loop; it holds everything loaded and forks once per
request. A test of the start itself (which modules are imported, ``python -m node``) uses ``subprocess`` instead.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import gc
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

ROOT: Final = Path(__file__).parents[1]
_CHECKED: Final = (sys.executable, str(ROOT / "tests" / "checked.py"))
_PR_SET_CHILD_SUBREAPER: Final = 36
_REQUEST_BYTES_MAX: Final = 1 << 17
_ENDS: Final = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_LOADED: Final = (
    "adapters",
    "node",
    "protocol",
    "trailmesh.demo",
    "trailmesh.shop",
    "playwright.async_api",
    "PIL.WebPImagePlugin",
)
"""With all their modules. Packages of others that only a part of the commands needs stand here too."""
_one_at_a_time = threading.Lock()


class Forked(subprocess.Popen[str]):
    """``trailmesh`` with ``arguments``; every result is held against the declaration of its verb. options: those of ``Popen``."""

    def __init__(self, arguments: Sequence[str], **options: Any) -> None:
        super().__init__([*_CHECKED, *arguments], text=True, **options)

    if sys.platform == "linux":  # elsewhere a child of the server cannot become a child of this process

        def _execute_child(self, *given: Any) -> None:
            """Have the server fork, in place of ``fork_exec``. Pipes, waiting and signals stay those of ``Popen``."""
            asked = _start_of_popen().bind(self, *given).arguments
            environment = os.environ if asked["env"] is None else asked["env"]
            command = [asked["args"], os.fspath(asked["cwd"] or "."), dict(environment), asked["start_new_session"]]
            ends = [asked[name] for name in _ENDS]
            with _one_at_a_time:
                server = _server()
                theirs = [number if end == -1 else end for number, end in enumerate((ends[0], ends[3], ends[5]))]
                socket.send_fds(server, [json.dumps(command).encode()], theirs)
                self.pid = int(server.recv(_REQUEST_BYTES_MAX))
            self._child_created = True
            self._close_pipe_fds(*ends)  # type: ignore[attr-defined]  # typeshed omits it


@functools.cache
def _start_of_popen() -> inspect.Signature:
    return inspect.signature(subprocess.Popen._execute_child)  # type: ignore[attr-defined]  # typeshed omits it


@functools.cache
def _server() -> socket.socket:
    """The server of this process; it ends when this process does."""
    # What the server forks becomes a child of this process, so that this process can wait for it.
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__)), str(its.fileno())],
        pass_fds=[its.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,  # Ctrl-C is for the tests
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(channel: socket.socket) -> None:
    """Fork for each request. Returns in the child, which goes on as the command; ends with the other side of ``channel``."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(channel, _REQUEST_BYTES_MAX, 3)
        if not request:
            sys.exit()
        told, tells = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child:
                os.write(tells, str(child).encode())
                os._exit(0)
            channel.close()
            os.close(told)
            os.close(tells)
            _become(json.loads(request), descriptors)
            return
        os.close(tells)
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(between, 0)  # from here on the child belongs to who asked
        channel.send(os.read(told, 32))
        os.close(told)


def _become(command: list[Any], descriptors: list[int]) -> None:
    """Be what ``fork_exec`` would have made: session, descriptors, directory, environment, arguments."""
    arguments, directory, environment, session = command
    if session:
        os.setsid()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it starts in the background ignore it
    time.tzset()
    tempfile.tempdir = None
    sys.argv = arguments[1:]
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def _load() -> None:
    """Import whatever a command may need."""
    import importlib
    import pkgutil

    for name in _LOADED:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def _end(ended: SystemExit) -> NoReturn:
    """End this process as Python does after ``sys.exit``: threads, what was registered, output, exit code.

    Python would also take all its objects apart. That copies every page which the children share with the server, and costs a
    command more processor time than its work.
    """
    code = 0 if ended.code is None else ended.code if isinstance(ended.code, int) else 1
    if isinstance(ended.code, str):
        print(ended.code, file=sys.stderr)
    threading._shutdown()  # type: ignore[attr-defined]  # typeshed omits it
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    with contextlib.suppress(OSError):
        sys.stderr.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    from tests.checked import hold_when_loaded

    hold_when_loaded()
    _load()
    gc.collect()
    gc.freeze()  # collections in the children leave shared pages shared
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from node.cli import main

    try:
        main(prog_name="trailmesh")
    except SystemExit as ended:
        _end(ended)
