"""Starts a version of an application on restored data, behind the proxy that notes what is sent."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

from benchmarks.drift.applications import HERE, Application, Side, filled
from benchmarks.drift.proxy import Change, Proxy, unchanged

REPOSITORY: Final = HERE.parents[1]
ENVIRONMENTS: Final = Path(os.environ.get("TRAILMESH_DRIFT_APPS", REPOSITORY / ".venv-drift"))
"""Where ``scripts/drift_apps.py`` installs; the variable moves it."""
_SEED_TIMEOUT_S: Final = 180
_START_TIMEOUT_S: Final = 40
_STOP_TIMEOUT_S: Final = 10
_POLL_S: Final = 0.1


def programs(environment: str) -> Path:
    """The folder with the programs of an environment, of Python or of npm."""
    npm = ENVIRONMENTS / environment / "node_modules" / ".bin"
    return npm if npm.is_dir() else ENVIRONMENTS / environment / "bin"


def installed(application: Application) -> bool:
    """True if both versions are installed."""
    return all(programs(each).is_dir() for each in (application.older, application.newer))


def _places(application: Application, side: Side, work: Path) -> dict[str, str]:
    return {
        "bin": str(programs(application.environment(side))),
        "work": str(work),
        "port": str(application.upstream(side)),
        "public": application.public(side),
        "here": str(HERE),
    }


def _environment(work: Path, bin_: Path) -> dict[str, str]:
    # Nothing of the caller's environment but the path: no proxy, no settings module, no user's configuration.
    path = f"{bin_}{os.pathsep}{os.environ.get('PATH', '')}"
    return {"PATH": path, "HOME": str(work), "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}


def _made_from(application: Application) -> str:
    """Of the commands and the projects that make the data: other ones make it anew."""
    total = hashlib.sha256(repr(application.seed).encode())
    for file in sorted((HERE / "projects").rglob("*.py")):
        total.update(file.read_bytes())
    return total.hexdigest()[:12]


async def seeded(application: Application, side: Side, cache: Path) -> Path:
    """The folder with the data of a version, made once.

    It is made at the place where it is used, because some applications note absolute paths. Raises ``RuntimeError``.
    """
    kept = cache / "seeded" / f"{application.environment(side)}-{_made_from(application)}"
    work = cache / "work" / application.environment(side)
    if kept.is_dir():
        return kept
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    places = _places(application, side, work)
    for command in application.seed:
        program, *arguments = filled(command, places)
        if program == "write":
            target = work / arguments[0]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(arguments[1], encoding="utf-8")
            continue
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            cwd=work,
            env=_environment(work, Path(places["bin"])),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(_SEED_TIMEOUT_S):
            output, _ = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)}:\n{output.decode(errors='replace')[-2_000:]}")
    # Copied under another name first: an interrupted copy is made anew.
    half = kept.with_name(f"{kept.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    shutil.copytree(work, half, symlinks=True)
    half.rename(kept)
    return kept


async def restored(application: Application, side: Side, cache: Path) -> Path:
    """The folder that the version works on, as it was seeded."""
    kept = await seeded(application, side, cache)
    work = cache / "work" / application.environment(side)
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(kept, work, symlinks=True)
    return work


async def start(application: Application, side: Side, cache: Path) -> asyncio.subprocess.Process:
    """The version, answering, on the folder as it is. Raises ``RuntimeError`` when it does not start."""
    work = cache / "work" / application.environment(side)
    places = _places(application, side, work)
    program, *arguments = filled(application.serve, places)
    log = cache / f"{application.environment(side)}.log"
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            cwd=work,
            env=_environment(work, Path(places["bin"])),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        await _until_ready(f"http://127.0.0.1:{application.upstream(side)}{application.path}", process, log)
    except BaseException:
        await stop(process)
        raise
    return process


@asynccontextmanager
async def serve(application: Application, side: Side, cache: Path, change: Change = unchanged) -> AsyncIterator[Proxy]:
    """The application on restored data, until the end of the block. Raises ``RuntimeError`` when it does not start."""
    await restored(application, side, cache)
    process = await start(application, side, cache)
    try:
        async with Proxy(application.upstream(side), change).open(
            int(application.public(side).rpartition(":")[2])
        ) as on:
            yield on
    finally:
        await stop(process)


async def _until_ready(url: str, process: asyncio.subprocess.Process, log: Path) -> None:
    try:
        async with asyncio.timeout(_START_TIMEOUT_S), aiohttp.ClientSession() as session:
            while process.returncode is None:
                try:
                    async with session.get(url, allow_redirects=False) as answer:
                        if answer.status < 500:
                            return
                except aiohttp.ClientError:
                    pass  # it does not listen yet
                await asyncio.sleep(_POLL_S)
    except TimeoutError:
        raise RuntimeError(f"{url} did not answer within {_START_TIMEOUT_S} s; its output is in {log}") from None
    raise RuntimeError(f"ended before it was ready; its output is in {log}")


async def stop(process: asyncio.subprocess.Process) -> None:
    """End it with whatever it started: it leads a process group of its own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            async with asyncio.timeout(_STOP_TIMEOUT_S):
                await process.wait()
        except TimeoutError:
            continue
    await process.wait()
