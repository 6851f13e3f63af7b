"""Asks the person at the terminal while a verb runs. Only an explicit yes counts as a yes."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from typing import TYPE_CHECKING, Any, Final

import click

from node.base.terminal import one_lined
from node.cli.base.common import Result
from protocol.wire.line import one_line

if TYPE_CHECKING:
    from node.process.answering import AskPerson

_ANSWER_BYTES_MAX: Final = 1_024
_NOBODY: Final = "there is no terminal to ask at: the replay stops before a step that writes after a mismatch"


def person(params: Result) -> AskPerson | None:
    """Asks a person during a replay with these parameters; None if nobody can be asked. Without a terminal, ``ask`` becomes
    ``stop`` in the parameters.
    """
    if params["on_mismatch"] != "ask":
        return None
    if _at_terminal():
        return ask
    params["on_mismatch"] = "stop"
    click.echo(f"  ! {_NOBODY}", err=True)
    return None


def of_recording(params: Result) -> AskPerson | None:
    """Asks a person about the requests of a recording with these parameters; None without a terminal."""
    if params["plan"] or not _at_terminal():
        return None
    params["ask"] = True
    return ask


def _at_terminal() -> bool:
    context = click.get_current_context(silent=True)
    as_json = bool(context and context.params.get("as_json"))
    return not as_json and sys.stdin.isatty() and sys.stderr.isatty()


async def ask(question: dict[str, Any]) -> bool | None:
    """Print ``question``, an event of a replay or a recording, and wait for a line on the terminal: True only for y or yes.

    Returns None after the time that the question names. Text typed before the question was shown is ignored.
    """
    for line in _lines(one_lined(question)):
        click.echo(line, err=True)
    sends = "sends" in question
    click.echo("  allow in this recording? [y/N] " if sends else "  perform this step? [y/N] ", err=True, nl=False)
    terminal = sys.stdin.fileno()
    termios.tcflush(terminal, termios.TCIFLUSH)
    try:
        async with asyncio.timeout(question["timeout_s"]):
            return (await _line(terminal)).strip().lower() in ("y", "yes")
    except TimeoutError:
        click.echo(f"\n  no answer: {'nothing is sent' if sends else 'the step is not performed'}", err=True)
        return None


def _lines(question: Result) -> list[str]:
    if "sends" in question:
        return [
            one_line(
                f"step {question['step']}, {question['action']}, sends {question['sends']}, class {question['risk']}"
            )
        ]
    shown = [f"step {question['step']} writes (class {question['risk']}), and {question['reason']}"]
    told = (("would", question["action"]), ("on", question["element"]), ("page", question["page"]))
    shown += [f"  {name:<7}  {text}" for name, text in told if text]
    shown += [f"  differs  {text}" for text in question["differences"]]
    return [one_line(line) for line in shown]


async def _line(terminal: int) -> str:
    """The next line typed on ``terminal``; empty at its end. It is read without a thread, because a reading thread cannot be
    ended.
    """
    loop = asyncio.get_running_loop()
    typed = loop.create_future()

    def read() -> None:
        if not typed.done():
            typed.set_result(os.read(terminal, _ANSWER_BYTES_MAX).decode(errors="replace"))

    loop.add_reader(terminal, read)
    try:
        return str(await typed)
    finally:
        loop.remove_reader(terminal)
