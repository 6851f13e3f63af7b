"""Runs many files as one test run: a limited number at once, each between its hooks, retried only after trouble of the machine.

Hooks prepare a file, for example reset data or start a server. They are shell commands that run as the user who types them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal

import msgspec

from node.base.statuses import NO_LOGIN, exit_code
from protocol.errors import MeshError
from protocol.page.seen.names import shortened

Outcome = Literal["pass", "differs", "refused", "trouble", "not run"]
"""``differs``: the answer is no; ``refused``: a wrong call; ``trouble``: a fault of the machine, the site, the network or a
hook."""

_OUTCOMES: Final[dict[int, Outcome]] = {0: "pass", 1: "differs", 2: "refused"}
_SAID_CHARS_MAX: Final = 600
_HOOK_ENDS_S: Final = 5
"""How long an interrupted hook may take to end."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one attempt at a file."""

    exit: int
    """The exit code, as of `session record` and `session replay`."""
    said: str
    code: str = ""
    """Error code, if it ended with one."""
    session: str = ""
    report: str = ""
    html: str = ""
    """Name of its page in the folder of the report."""
    junit: str = ""


class Ran(Tried, frozen=True, kw_only=True):
    """The result of one file of a run."""

    file: str
    outcome: Outcome
    attempts: int = 0
    duration_ms: int = 0


class Hooks(msgspec.Struct, frozen=True, kw_only=True):
    """Shell commands around each attempt; empty for none. They get the file as ``TRAILMESH_FILE``."""

    before: str = ""
    after: str = ""


Perform = Callable[[int, str], Awaitable[Tried]]
"""``(number, file) -> result``. Errors are part of the result."""


async def run_files(
    files: Sequence[str], perform: Perform, hooks: Hooks, *, jobs: int, retries: int, tell: Callable[[int, Ran], None]
) -> list[Ran]:
    """Run ``files``, at most ``jobs`` at once, each once and up to ``retries`` more times after trouble. tell: called with each
    finished file, by its number from 1.

    The results are in the order of ``files``. If it is cancelled, running files are ended and their ``after`` hooks are run.
    """
    places = asyncio.Semaphore(jobs)

    async def one(number: int, file: str) -> Ran:
        async with places:
            ran = await _one(number, file, perform, hooks, retries)
        tell(number, ran)
        return ran

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number, file)) for number, file in enumerate(files, 1)]
    return [task.result() for task in tasks]


async def _one(number: int, file: str, perform: Perform, hooks: Hooks, retries: int) -> Ran:
    began, attempt = time.monotonic(), 1
    tried = await _attempt(number, file, perform, hooks)
    while attempt <= retries and _may_go_away(tried):
        tried, attempt = await _attempt(number, file, perform, hooks), attempt + 1
    return Ran(
        **msgspec.structs.asdict(tried),
        file=file,
        outcome=_OUTCOMES.get(tried.exit, "trouble"),
        attempts=attempt,
        duration_ms=round((time.monotonic() - began) * 1_000),
    )


def _may_go_away(tried: Tried) -> bool:
    """True for trouble that another attempt may not meet. An invalid login, or a difference, would stay."""
    return tried.exit >= 3 and tried.code not in NO_LOGIN


async def _attempt(number: int, file: str, perform: Perform, hooks: Hooks) -> Tried:
    """One attempt between its hooks. ``after`` always runs, even if ``before`` failed."""
    try:
        if fault := await _hook("--before", hooks.before, file):
            return Tried(exit=3, said=fault)
        try:
            tried = await perform(number, file)
        except MeshError as error:
            tried = Tried(exit=exit_code(error.code), said=f"[{error.code}] {error.message}", code=error.code)
    finally:
        # In a task of its own: even an interrupted run resets its data.
        fault = await asyncio.shield(asyncio.create_task(_hook("--after", hooks.after, file)))
    return Tried(exit=3, said=f"{tried.said}; {fault}", session=tried.session) if fault else tried


async def _hook(name: str, command: str, file: str) -> str:
    """The reason why a hook failed, in words; empty if it did not fail, or there is none."""
    if not command:
        return ""
    # Into a file: a pipe would stay open as long as a server that the hook has started, and would have to be read.
    with tempfile.TemporaryFile() as printed:
        process = await asyncio.create_subprocess_shell(
            command,
            env={**os.environ, "TRAILMESH_FILE": file},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=printed,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            await process.wait()
        except asyncio.CancelledError:
            await _end(process)
            raise
        if process.returncode == 0:
            return ""
        size = printed.seek(0, os.SEEK_END)
        printed.seek(max(0, size - _SAID_CHARS_MAX))
        last = shortened(printed.read(_SAID_CHARS_MAX).decode(errors="replace"), _SAID_CHARS_MAX)
    return f"{name} ended with {process.returncode}{': ' if last else ''}{last}"


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a hook and all processes that it has started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), _HOOK_ENDS_S)
            return
