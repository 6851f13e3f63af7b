"""Shared by all commands: find the node, run a verb, show progress, print a result or an error, choose an exit code."""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import click

from node.base.fault_report import fault
from node.base.statuses import exit_code
from node.base.terminal import LineFormatter, json_text, one_lined
from protocol.errors import MeshError
from protocol.store_faults import store_code
from protocol.wire.line import one_line

if TYPE_CHECKING:
    from node.process.answering import AskPerson
    from node.process.client import AsAgent

F = TypeVar("F", bound=Callable[..., Any])
Result = dict[str, Any]
BUNDLE_SUFFIX: Final = ".tmsession"
_UNBROKEN_COLUMNS_MAX: Final = 120
"""The longest text that a table keeps on one line."""


class ConfigFile(click.Path):
    """The file of ``--config``; a name such as ``ci`` selects an example configuration."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from node.config import starting

        return super().convert(str(starting(str(value))), param, ctx)


class Program(click.Group):
    """The top-level group. It reports usage errors in the same form as all other errors, also with ``--json``."""

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
        given = list(sys.argv[1:] if args is None else args)
        if os.environ.get("NO_COLOR"):  # https://no-color.org
            extra["color"] = False
        try:
            _check_python(sys.version_info[:3])
            return self._run(given, *more, **extra)
        except MeshError as error:
            fail(error, as_json="--json" in given)
        except (
            Exception
            # the last handler: an exception that arrives here is a defect, and its traceback does not help a user
        ) as error:
            fail(_of_defect(error, self.name or "", given), as_json="--json" in given)

    def _run(self, given: list[str], *more: Any, **extra: Any) -> Any:
        if "--json" not in given:
            return super().main(given, *more, **extra)
        try:
            status = super().main(given, *more, **{**extra, "standalone_mode": False})
        except click.UsageError as error:
            shown_by = {"help": f"{error.ctx.command_path} --help"} if error.ctx else {}
            fail(MeshError("input.invalid", error.format_message(), **shown_by), as_json=True)
        except click.Abort:
            fail(MeshError("internal.cancelled"), as_json=True)
        sys.exit(status if isinstance(status, int) else 0)


def _check_python(version: tuple[int, ...]) -> None:
    """Return if this Python is supported. Errors: ``node.python``. The package `automerge` has no wheels for later versions, and
    fails on import.
    """
    if not (3, 11) <= version[:2] < (3, 13):
        found = ".".join(map(str, version))
        raise MeshError("node.python", f"this is Python {found}; trailmesh needs Python 3.11 or 3.12")


def _of_defect(error: Exception, name: str, given: Sequence[str]) -> MeshError:
    """The error for an exception that no part of the program expected. A disk that is full or read-only is no defect."""
    if isinstance(error, OSError) and error.errno is not None and (code := store_code(error.errno)) != "store.corrupt":
        where = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return MeshError(code, f"{where}{error.strerror}")
    # Group and command only, because the following words can be addresses, names or files.
    words = [] if name == "main" else [name]
    words += itertools.takewhile(
        lambda word: word.replace("-", "").isalpha() and word[0] != "-", given[: 2 - len(words)]
    )
    return fault(error, " ".join(["trailmesh", *words]), _given_home(given))


def _given_home(given: Sequence[str]) -> Path | None:
    """The data directory in the options; None if it cannot be determined."""
    found = None
    for word, following in itertools.pairwise([*given, ""]):
        if word == "--home":
            found = following
        elif word.startswith("--home="):
            found = word.removeprefix("--home=")
    try:
        return home_path(found)
    except Exception:  # whatever fails there, the report goes to the directory for temporary files
        return None


def common_options(command: F) -> F:
    """Add ``--home`` and ``--json`` to a command, and handle its errors and exit code."""

    @click.option(
        "--home",
        metavar="DIR",
        help="Data directory of the node.  [default: $TRAILMESH_HOME, else the user's data directory]",
    )
    @click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
    @functools.wraps(command)
    def run(*args: Any, as_json: bool, **kwargs: Any) -> None:
        try:
            command(*args, as_json=as_json, **kwargs)
        except MeshError as error:
            fail(error, as_json=as_json)
        except KeyboardInterrupt:
            fail(MeshError("internal.cancelled", "interrupted; committed work is kept"), as_json=as_json)

    return run  # type: ignore[return-value]


def passphrase_option(command: F) -> F:
    """Add ``--passphrase-file`` to a command that opens the witness key."""
    return click.option(
        "--passphrase-file",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="File with the passphrase of a sealed witness key.  [default: $TRAILMESH_PASSPHRASE_FILE, else a prompt]",
    )(command)


def home_path(home: str | None) -> Path:
    """The data directory as a path."""
    from node.base.environment import home_directory

    return home_directory(home)


def run_verb(
    home: str | None,
    verb: str,
    params: dict[str, Any],
    *,
    show: Any = None,
    person: AskPerson | None = None,
    agent: AsAgent | None = None,
) -> Any:
    """Call ``verb`` and return its result. Progress goes to standard error through ``show(event) -> line``; equal lines are
    printed once. person: answers the questions of the verb; of a task nobody is asked. agent: the caller, if it is not as
    ``acting_as`` says.
    """
    from node.cli.base.as_task import as_task, run_as_task
    from node.process.client import call

    path = home_path(home)
    if as_task(verb):
        return run_as_task(home, verb, params, show, agent)
    more: dict[str, Any] = {} if person is None else {"person": person}
    return run_async(call(path, verb, params, showing(show), agent=agent or acting_as(path), **more))


def showing(show: Callable[[Result], str] | None) -> Callable[[Result], None]:
    """Returns a function that prints progress to standard error in the way of ``run_verb``."""
    last = ""

    def tell(event: dict[str, Any]) -> None:
        nonlocal last
        line = show(one_lined(event)) if show is not None else ""
        if line and line != last:
            last = line
            click.echo(line, err=True)

    return tell


def acting_as(home: Path) -> AsAgent | None:
    """The agent in whose name commands call, if ``--token-file`` or the environment names a token file; None for the owner.

    Both name a file and never contain the token: every user of a machine can see arguments, and every child process inherits
    environment variables. Errors: ``input.invalid``.
    """
    from node.base import environment

    context = click.get_current_context(silent=True)
    given = context.find_root().params if context else {}
    token_file = given.get("token_file") or environment.token_file_from_environment()
    if not token_file:
        return None
    from node.process.client import as_agent

    return as_agent(home, token_file, given.get("socket") or environment.socket_from_environment())


def owner_only(what: str) -> None:
    """Refuse if commands call as an agent: agents may not use commands that open the data directory. Errors: ``caller.refused``."""
    if acting_as(Path()) is not None:
        raise MeshError("caller.refused", f"{what} is only for the owner of the node, but a token file is given")


def _is_news(record: logging.LogRecord) -> bool:
    """True if a log line says more than the error with which this command ends. A command is the only caller on the control
    channel in its process, so a refusal counted there is its own error.
    """
    return not record.getMessage().startswith("refused on the control channel: ")


def run_async(work: Any) -> Any:
    """Run a coroutine; Ctrl-C and SIGTERM cancel it so that it can clean up, then raise ``KeyboardInterrupt``."""

    if logging.lastResort is not None:  # a node in this process writes its warnings to standard error
        logging.lastResort.setFormatter(LineFormatter())
        logging.lastResort.addFilter(_is_news)

    async def guarded() -> Any:
        task = asyncio.ensure_future(work)
        interrupted = False

        def stop() -> None:
            nonlocal interrupted
            # Only the first signal cancels: clean-up must not be interrupted, and every wait in it is bounded.
            if not interrupted:
                interrupted = True
                task.cancel()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop)
        try:
            return await task
        except asyncio.CancelledError:
            if interrupted:
                raise KeyboardInterrupt from None
            raise

    return asyncio.run(guarded())


def is_session_id(text: str) -> bool:
    """True if ``text`` is a session id and not a file. Bundle files are usually named after their session."""
    return text.lower().startswith("ses-") and not text.endswith(BUNDLE_SUFFIX) and not Path(text).is_file()


def agree(question: str, *, yes: bool) -> None:
    """Ask for confirmation unless ``--yes`` was given. Errors: ``input.invalid`` if the person refuses or there is no terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise MeshError("input.invalid", "there is no terminal to ask for confirmation: pass --yes")
    if not click.confirm(question, err=True):
        raise MeshError("internal.cancelled", "nothing was done")


def emit(result: Any, *, as_json: bool, text: Callable[[Any], None]) -> None:
    """Print ``result`` as JSON, or for a person through ``text``. Each value in it is printed on one line."""
    if as_json:
        click.echo(json_text(result))
    else:
        text(one_lined(result))


def kept_in(error: MeshError) -> str:
    """The recordings made until ``error``, as its detail names them: one, several or none."""
    return ", ".join(error.detail.get("sessions", ())) or str(error.detail.get("session", ""))


def fail(error: MeshError, *, as_json: bool) -> NoReturn:
    """Print an error in the common form and exit with its code."""
    error = error.shown
    if as_json:
        click.echo(json_text({"error": error.to_dict()}))
    else:
        # An error outside of every command has no context, which otherwise decides about colours.
        color = False if os.environ.get("NO_COLOR") else None
        title = click.style("error", fg="red", bold=True)
        click.echo(title + one_line(f" [{error.code}] {error.message}"), err=True, color=color)
        click.echo(one_line(f"  → {error.remedy}"), err=True)
        for each in error.detail.get("candidates", ()):
            if each not in error.message:
                click.echo(one_line(f"  there is {each}"), err=True)
        if recorded := kept_in(error):
            click.echo(
                one_line(f"  kept as {recorded}: `trailmesh session show` shows what happened until then"), err=True
            )
    sys.exit(exit_code(error.code))


def table(title: str, columns: list[str], rows: list[list[str]], *, wrap: tuple[str, ...] = ()) -> None:
    """Print a table. wrap: the columns that may be wrapped between words.

    People copy ids, addresses and times, so no other column is wrapped, even if lines become longer than the terminal.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(title=title, title_justify="left", header_style="bold")
    for index, column in enumerate(columns):
        cells = [column, *(row[index] for row in rows)]
        parts = [word for cell in cells for word in cell.split()] if column in wrap else cells
        # A page or a peer can choose a very long word, which would stretch every line.
        width = min(max(map(cell_len, parts), default=0), _UNBROKEN_COLUMNS_MAX)
        shown.add_column(column, overflow="fold", min_width=width)
    for row in rows:
        # Text, not str: rich would interpret markup in text from a page or a peer.
        shown.add_row(*(Text(cell) for cell in row))
    Console().print(shown, crop=False)


def short_caller(who: str) -> str:
    """The caller, for one line of output: node ids are shortened, ``owner`` and ``agent:NAME`` are not."""
    return who if ":" in who or len(who) < 8 else who[:7]


def utc_seconds(option: str, text: str | None) -> int:
    """The UTC time given with ``option``, in seconds since 1970; 0 for none. Errors: ``input.invalid``."""
    from datetime import UTC, datetime

    if not text:
        return 0
    try:
        given = datetime.fromisoformat(text)
    except ValueError as error:
        raise MeshError("input.invalid", f"{option} needs a time such as 2025-03-01T12:00, not {text!r}") from error
    return max(1, int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()))
