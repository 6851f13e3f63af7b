"""Ends Chromium when the node ends, even by SIGKILL. Linux only; a separate program: ``leash.py NODE PROGRAM ARGUMENT…``.

Playwright's driver, a Node.js process, stands between the node and Chromium. The driver ends Chromium when the node is gone,
unless the driver was killed too, or is stopped or busy. So the driver starts this program, which starts Chromium and then waits
until the node, the driver or Chromium ends. It watches processes by descriptors (``pidfd_open``), because a pid can be reused. If
this program is killed, the kernel kills Chromium (``PR_SET_PDEATHSIG``), whose other processes end with it. It imports only the
standard library, so that it starts in 30 ms without the packages of the node.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PIPES = (3, 4)  # the pipes between the driver and Chromium
_LOST = 1
_NOT_STARTED = 127


def main(node: int, program: list[str]) -> int:
    """Run ``program`` until it, the node or the driver ends. Returns its exit code. node: the pid of the driver's parent."""
    libc = ctypes.CDLL(None)
    driver = os.getppid()
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    wanted_by = [_watch(pid) for pid in (node, driver)]
    if os.getppid() != driver or _parent_of(driver) != node:
        return _LOST  # one of them ended before it was watched
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    own = os.getpid()
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) == 0 and os.getppid() == own:
                os.execv(program[0], program)  # noqa: S606 (there is no shell to start)
        os._exit(_NOT_STARTED)
    for pipe in _PIPES:
        with suppress(OSError):  # missing when a person tries this program
            os.close(pipe)
    _until_ended([_watch(child), *wanted_by])
    ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.killpg(0, signal.SIGKILL)  # this process too
    return os.waitstatus_to_exitcode(status)


def _watch(pid: int) -> int:
    """A descriptor that becomes readable when the process has ended; -1 if the system has none, in which case only half of the
    watch works.
    """
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1


def _until_ended(watched: list[int]) -> None:
    poll = select.poll()
    for descriptor in watched:
        if descriptor >= 0:
            poll.register(descriptor, select.POLLIN)
    if watched[0] >= 0:
        poll.poll()
    else:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)


def _parent_of(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    return int(stat.rpartition(b")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
