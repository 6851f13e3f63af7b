"""What a real application looks like to a journey, and how one is started and stopped."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
REPOSITORY: Final = HERE.parents[2]
ENVIRONMENTS: Final = Path(os.environ.get("TRAILMESH_REAL_APPS", REPOSITORY / ".venv-real"))
"""Where ``scripts/real_apps.py`` installs; the variable moves it."""
REMEDY: Final = "install them with `python scripts/real_apps.py install`"
START_TIMEOUT_S: Final = 120.0
STOP_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class RealSite:
    """A running application and one goal on it."""

    name: str
    version: str
    url: str
    """Where the journey starts."""
    goal: str
    condition: dict[str, Any]
    """When the goal is reached; for ``protocol.goal.condition.parse``."""
    digest: Callable[[], str]
    """Hash of the application's own data: equal before and after a journey that changed nothing."""


def installed(name: str) -> bool:
    """Whether the environment of an application is there."""
    return python_of(name).is_file()


def python_of(name: str) -> Path:
    """The interpreter an application runs with."""
    return ENVIRONMENTS / name / ("Scripts" if sys.platform == "win32" else "bin") / "python"


@asynccontextmanager
async def started(name: str, arguments: Sequence[str], *, ready: re.Pattern[str], workdir: Path) -> AsyncIterator[str]:
    """Run an application's interpreter with ``arguments`` and yield what ``ready`` captures from its output.

    Its output is kept in ``workdir``; it is stopped at the end, whatever happened. Raises ``RuntimeError`` when it is
    not installed, ends early or is not ready within ``START_TIMEOUT_S``.
    """
    if not installed(name):
        raise RuntimeError(f"{name} is not installed: {REMEDY}")
    process = await asyncio.create_subprocess_exec(
        str(python_of(name)),
        *arguments,
        cwd=workdir,
        # Nothing of the caller's environment but the path: no proxy, no settings module, no user's configuration.
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(workdir), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    log = workdir / f"{name}.log"
    reading = None
    try:
        url = await _until(process.stdout, ready, log)
        # Somebody has to go on reading, or the application stands still once the pipe is full.
        reading = asyncio.create_task(_drain(process.stdout, log))
        yield url
    finally:
        await _stop(process)
        if reading is not None:
            await reading


async def _until(stream: asyncio.StreamReader, ready: re.Pattern[str], log: Path) -> str:
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
            while line := await stream.readline():
                _keep(log, line)
                if match := ready.search(line.decode(errors="replace")):
                    return match[1]
    except TimeoutError:
        raise RuntimeError(f"not ready within {START_TIMEOUT_S:g} s; its output is in {log}") from None
    raise RuntimeError(f"ended before it was ready; its output is in {log}")


async def _drain(stream: asyncio.StreamReader, log: Path) -> None:
    while line := await stream.readline():
        _keep(log, line)


def _keep(log: Path, line: bytes) -> None:
    with log.open("ab") as file:
        file.write(line)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.terminate()
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_TIMEOUT_S):
            await process.wait()
    if process.returncode is None:
        process.kill()
        await process.wait()


def digest_of(
    database: Path, *, tables_left_out: frozenset[str] = frozenset(), columns_left_out: frozenset[str] = frozenset()
) -> str:
    """SHA-256 over the rows of every table of a SQLite file, but what is left out (``table``, ``table.column``)."""
    total = hashlib.sha256()
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        names = [
            row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        for table in names:
            if table in tables_left_out:
                continue
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            kept = [column for column in columns if f"{table}.{column}" not in columns_left_out]
            listed = ", ".join(f'"{column}"' for column in kept)
            rows = sorted(repr(row) for row in connection.execute(f'SELECT {listed} FROM "{table}"'))
            total.update(repr((table, kept, rows)).encode())
    return total.hexdigest()
