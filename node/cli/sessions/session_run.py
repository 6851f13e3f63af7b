"""The command ``trailmesh session run``, which performs many files as one test run."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from node.base.plain import counted
from node.base.statuses import exit_code
from node.cli.base import apart
from node.cli.base.build import given, parameter
from node.cli.base.common import (
    BUNDLE_SUFFIX,
    Result,
    acting_as,
    common_options,
    emit,
    home_path,
    is_session_id,
    owner_only,
    run_async,
)
from node.cli.base.text_files import read_text
from node.cli.sessions.session_replays import report_matched, status_of_replay, verdict_of
from node.verbs.sessions import session as verbs
from protocol import limits
from protocol.errors import MeshError
from protocol.wire.line import one_line

if TYPE_CHECKING:
    from node.process.answering import CallVerb
    from node.process.running import Ran, Tried

_MARKS: Final = {"pass": "✓", "differs": "✗", "refused": "✗", "trouble": "!", "not run": "–"}
_FOR_ALL: Final = ("secrets", "allow", "approve_class", "capsule", "inputs")
"""Parameters that recording and replaying share."""
_OF_REPLAYS: Final = ("base_url", "level", "strict", "writes")


@click.command(name="run")
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1, limits.RUN_JOBS_MAX),
    default=1,
    show_default=True,
    help="Work on so many at once.",
)
@click.option(
    "--report",
    metavar="DIR",
    required=True,
    help="Write junit.xml, index.html, summary.md and a page for each file into this folder.",
)
@click.option(
    "--retries",
    metavar="N",
    type=click.IntRange(0, 5),
    default=0,
    show_default=True,
    help="Try a file again after trouble of the machine, the site or the network, and never after a difference.",
)
@click.option(
    "--before",
    metavar="COMMAND",
    default="",
    help="Run this shell command before each attempt, for example to reset data.",
)
@click.option(
    "--after", metavar="COMMAND", default="", help="Run this shell command after each attempt, whatever came of it."
)
@parameter(verbs.REPLAY, "base_url")
@parameter(verbs.REPLAY, "level")
@parameter(verbs.REPLAY, "strict")
@parameter(
    verbs.REPLAY,
    "inputs",
    text="Another value for an input. Each of the files must have an input of this name. Never a secret. Repeat for more.",
)
@parameter(verbs.REPLAY, "secrets")
@parameter(verbs.REPLAY, "allow")
@parameter(verbs.REPLAY, "approve_class")
@parameter(verbs.REPLAY, "writes")
@parameter(verbs.REPLAY, "capsule")
@apart.OPTIONS[0]
@apart.OPTIONS[1]
@common_options
def command(files: tuple[str, ...], home: str | None, as_json: bool, **typed: Any) -> None:
    """Replay sessions and record action files as one test run, with one report.

    A session id is replayed, and with --trust also a bundle (.tmsession), which needs no node. Any other file is an action file
    and is recorded; --base-url, --level, --strict and --writes do not apply to it. Other options apply to each file. The folder of
    --report gets junit.xml with one test case for each step, index.html with a link to the page of each file, these pages, and
    summary.md for the page of a CI job.

    With --retries, a file is tried again only after trouble of the machine, the site or the network. The hooks get the file in the
    variable TRAILMESH_FILE; a hook that fails is trouble too. Ctrl-C ends the present files, runs their --after and writes the
    report.

    Exit codes: 0 all passed; 1 one did not; 2 a wrong call; 3 trouble. The first code that fits any file counts.

    \b
    Examples:
      trailmesh session run flows/*.yaml --jobs 4 --report out
      trailmesh session run flows/*.tmsession --trust flows/trailmesh.key --base-url https://staging.example --report out
    """
    folder = Path(typed["report"]).absolute()
    wanted = {name: typed[name] for name in (*_FOR_ALL, *_OF_REPLAYS)}
    params = {name: value for name, value in given(verbs.REPLAY, wanted).items() if name in wanted}
    _check(files, typed)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MeshError("input.invalid", f"{folder} cannot be made: {error.strerror}", path=str(folder)) from error
    ran = run_async(_run(home, files, folder, params, typed))
    shown = [msgspec.to_builtins(one) for one in ran]
    result: Result = {
        "files": shown,
        "counts": dict(Counter(one["outcome"] for one in shown)),
        "junit": str(folder / "junit.xml"),
        "html": str(folder / "index.html"),
        "markdown": str(folder / "summary.md"),
    }
    emit(result, as_json=as_json, text=_show)
    if status := _status([one["exit"] for one in shown]):
        sys.exit(status)


def _check(files: tuple[str, ...], typed: Result) -> None:
    """Return if every file can be performed with these options. Nothing is performed before all files exist. Errors:
    ``input.invalid``, ``input.no_file``, ``caller.refused``.
    """
    replays = [name for name in _OF_REPLAYS if typed[name]]
    for file in files:
        if any("\ud800" <= letter <= "\udfff" for letter in file):
            raise MeshError("input.invalid", f"the name of {file!a} is not UTF-8: rename it")
        if not is_session_id(file) and not Path(file).is_file():
            raise MeshError("input.no_file", f"{file} is no file and no session", path=file)
        if file.endswith(BUNDLE_SUFFIX) and not typed["trust"]:
            raise MeshError("input.invalid", f"{file} is a bundle: give the key of its recorder with --trust")
        if replays and not (is_session_id(file) or file.endswith(BUNDLE_SUFFIX)):
            option = f"--{replays[0].replace('_', '-')}"
            raise MeshError(
                "input.invalid", f"{option} is for replays, and {file} would be recorded: run action files without it"
            )
        if typed["trust"] and not file.endswith(BUNDLE_SUFFIX):
            raise MeshError("input.invalid", f"with --trust only bundles are replayed, and {file} is none")
    if typed["config"] and not typed["trust"]:
        raise MeshError("input.invalid", "--config belongs to --trust: a node has a configuration of its own")
    if typed["trust"] and typed["capsule"]:
        raise MeshError("input.invalid", "--capsule needs a node that keeps the login: leave out --trust (docs/ci.md)")
    if typed["trust"]:
        owner_only("work with --trust")


async def _run(home: str | None, files: tuple[str, ...], folder: Path, params: Result, typed: Result) -> list[Ran]:
    from node.process.running import Hooks, Ran, run_files
    from node.sessions.recording import write_run

    done: dict[int, Ran] = {}

    def tell(number: int, ran: Ran) -> None:
        done[number] = ran
        tried = f", tried {ran.attempts} times" if ran.attempts > 1 else ""
        words = f"{len(done)}/{len(files)} {_MARKS[ran.outcome]} {ran.file}: {ran.said} ({ran.duration_ms / 1_000:.1f} s{tried})"
        click.echo(one_line(f"  {words}"), err=True)

    async with _calls(home, typed) as call:
        runner = _Runner(call, folder, params, typed)
        hooks = Hooks(before=typed["before"], after=typed["after"])
        try:
            return await run_files(
                files, runner.attempt, hooks, jobs=typed["jobs"], retries=typed["retries"], tell=tell
            )
        finally:
            left = [Ran(file=file, exit=3, said="interrupted", outcome="not run") for file in files]
            ended = [done.get(number, one) for number, one in enumerate(left, 1)]
            write_run(folder, f"Run of {counted(len(files), 'file')}", [msgspec.to_builtins(one) for one in ended])


@contextlib.asynccontextmanager
async def _calls(home: str | None, typed: Result) -> AsyncIterator[CallVerb | None]:
    """The node of ``home``; None with ``--trust``, where each bundle gets a node of its own."""
    if typed["trust"]:
        yield None
        return
    from node.process.client import connected

    path = home_path(home)
    async with connected(path, agent=acting_as(path)) as call:
        yield call


class _Runner:
    """Performs one file after the other, or several at once."""

    def __init__(self, call: CallVerb | None, folder: Path, params: Result, typed: Result) -> None:
        self._call = call
        self._folder = folder
        self._params = params
        self._typed = typed

    async def attempt(self, number: int, file: str) -> Tried:
        """``Perform`` of ``node.process.running``. Errors: those of the verbs."""
        name = f"{number:03}-{re.sub(r'[^A-Za-z0-9._-]+', '-', Path(file).stem)[:60]}"
        if self._call is None or is_session_id(file):
            return await self._replay(file, name)
        return await self._record(file, name)

    def _files(self, name: str) -> tuple[Result, Result]:
        """The names of the files to write about one file, in the folder, and the parameters for them. Files of an earlier attempt
        are removed.
        """
        written = {"html": f"{name}.html", "junit": f"{name}.xml"}
        paths = {key: self._folder / value for key, value in written.items()}
        for path in paths.values():
            path.unlink(missing_ok=True)
        return written, {key: str(path) for key, path in paths.items()}

    async def _replay(self, file: str, name: str) -> Tried:
        from node.process.running import Tried

        written, paths = self._files(name)
        params = {**self._params, **paths, "session": file}
        if self._call is not None:
            result = await self._call(verbs.REPLAY.name, params, _quietly)
        else:
            from node.process.apart import read_trust, replay_apart

            logs = await asyncio.to_thread(read_trust, self._typed["trust"])
            path = Path(file)  # the bundle exists, and a temporary node does not change the working directory
            result = await replay_apart(logs, self._typed["config"] or "", path, params, _quietly)
        report = result["report"]
        said = f"{verdict_of(report, result['uncounted'])}: {report_matched(report, result['replayable'])}"
        if result["lacking"]:
            said = f"the call lacked a permission: {result['lacking']}"
        code = result["unreached"]
        return Tried(
            exit=status_of_replay(result),
            said=said,
            code=code,
            session=report["session"],
            report=report["id"],
            **written,
        )

    async def _record(self, file: str, name: str) -> Tried:
        from node.process.running import Tried

        assert self._call is not None
        written, paths = self._files(name)
        actions = await asyncio.to_thread(read_text, file)
        shared = {key: self._params[key] for key in _FOR_ALL}
        params = {**shared, **paths, "actions": actions, "name": Path(file).stem}
        try:
            result = await self._call(verbs.RECORD.name, params, _quietly)
        except MeshError as error:
            # Its report shows the steps performed until then; there is none if no step was performed.
            there = {key: value for key, value in written.items() if (self._folder / value).is_file()}
            session = str(error.detail.get("session", ""))
            said = f"[{error.code}] {error.message}"
            return Tried(exit=exit_code(error.code), said=said, code=error.code, session=session, **there)
        status = 0 if result["verdict"] == "pass" else 1
        return Tried(exit=status, said=verdict_of(result), session=result["id"], **written)


def _quietly(event: Result) -> None:
    """Drop progress: nobody could read the steps of several files at once, and the pages contain them."""


def _status(exits: list[int]) -> int:
    """1 precedes 2 and 3, because a test run exists to find differences."""
    return min(filter(None, exits), default=0)


def _show(r: Result) -> None:
    counts = ", ".join(f"{count} {outcome}" for outcome, count in r["counts"].items())
    click.echo(f"{counted(len(r['files']), 'file')}: {counts}; report in {r['html']}")
