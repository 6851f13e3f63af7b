"""Commands ``trailmesh live`` for live browser sessions, for people and for agents that use a shell."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final

import click
from click.core import ParameterSource

from node.cli.base import shell_agent
from node.cli.base.build import CommandPresentation, commands_of
from node.cli.base.common import Result, acting_as, home_path, run_verb
from node.cli.base.pictures import in_file
from node.cli.sessions.current import current_session, note_session
from node.verbs.live import live as verbs
from node.verbs.live.live_params import LiveParams
from protocol import limits
from protocol.errors import MeshError

_AS_OWNER: Final = click.option(
    "--as-owner", is_flag=True, help="Call as the owner of the node, also without a terminal (docs/live.md)."
)
Line = Callable[[Result], str] | None


@click.group(name="live", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Open a browser session and act in it, call by call.

    Without a terminal the caller is the agent `shell`, which is made with its first call.
    """


def _called(home: str | None, verb: str, params: Result, typed: Result, line: Line) -> Any:
    """The result of ``verb``, called by a person or by the agent of a shell."""
    as_owner = typed["as_owner"]
    agent = shell_agent.caller_of(home, as_owner=as_owner)
    try:
        return run_verb(home, verb, params, show=line, agent=agent)
    except MeshError as error:
        named = acting_as(home_path(home)) is not None
        if error.code not in shell_agent.REFUSED or named or agent is None:
            raise
        return run_verb(home, verb, params, show=line, agent=shell_agent.made_anew(home))


def _waits_longer(params: Result, typed: Result) -> None:
    source = click.get_current_context().get_parameter_source("hold")
    if source is ParameterSource.DEFAULT and sys.stdin.isatty():
        params["hold"] = limits.HELD_TERMINAL_S  # a person is there


def _open(home: str | None, verb: str, params: Result, typed: Result, line: Line) -> Any:
    if acting_as(home_path(home)) is None:
        from node.process.background import ensure_serving

        ensure_serving(home_path(home), idle_s=limits.NODE_IDLE_EXIT_S, say=lambda told: click.echo(told, err=True))
    opened = _called(home, verb, params, typed, line)
    note_session(home, opened["session"])
    return opened


def _in_session(home: str | None, verb: str, params: Result, typed: Result, line: Line) -> Any:
    """Call ``verb`` in the session that was named, or in the current one."""
    named = params["session"]
    params["session"] = named or current_session(home)
    try:
        result = _called(home, verb, params, typed, line)
    except MeshError as error:
        if not named and error.code in ("live.ended", "live.not_found"):
            note_session(home, "")
        raise
    if verb == verbs.CLOSE.name and not named:
        note_session(home, "")
    return result


def _handed_over(home: str | None, verb: str, params: Result, typed: Result, line: Line) -> Any:
    from node.base.handed_files import hand_over

    if os.access(home_path(home), os.W_OK):  # the node may be that of somebody else
        params["files"] = [hand_over(home_path(home), each) for each in params["files"]]
    return _in_session(home, verb, params, typed, line)


def _pictured(home: str | None, verb: str, params: Result, typed: Result, line: Line) -> Any:
    out = params.pop("out")
    result = _in_session(home, verb, params, typed, line)
    return in_file(result, out, result["session"])


def _which_tab(params: Result, typed: Result) -> None:
    what, of = typed["what"], typed["of"]
    if what.isdecimal() and not of:
        params |= {"action": "select", "index": int(what)}
    elif what in ("", "list") and not of:
        params["action"] = "list"
    elif what == "new":
        params |= {"action": "new", "url": of}
    elif what == "close" and (not of or of.isdecimal()):
        params |= {"action": "close", "index": int(of) if of else None}
    else:
        raise click.UsageError("live tab takes nothing, a number, `new [URL]` or `close [NUMBER]`")


_TAB: Final = (
    click.argument("what", default="", metavar="[list|NUMBER|new|close]"),
    click.argument("of", default="", metavar="[URL|NUMBER]"),
)
LOOKS: Final = {
    **{
        verb.name: CommandPresentation(
            call=_in_session if issubclass(verb.takes, LiveParams) else _called, more=(_AS_OWNER,)
        )
        for verb in verbs.VERBS
    },
    verbs.UPLOAD.name: CommandPresentation(call=_handed_over, more=(_AS_OWNER,)),
    verbs.SCREENSHOT.name: CommandPresentation(call=_pictured, more=(_AS_OWNER,)),
    verbs.PAGES.name: CommandPresentation(prepare=_which_tab, call=_in_session, more=(*_TAB, _AS_OWNER)),
    verbs.OPEN.name: CommandPresentation(prepare=_waits_longer, call=_open, more=(_AS_OWNER,)),
}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
