"""The command ``trailmesh snapshot``, which prints the elements of a page as an action file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click

from node.base.plain import counted
from node.cli.base.build import CommandPresentation, command_of
from node.cli.base.common import ConfigFile, Result, acting_as, home_path, owner_only, run_async, run_verb, showing
from node.verbs.sessions import page as verbs
from protocol.errors import MeshError

_OPTIONS_SHOWN: Final = 12
_WHERE = " (what may be sent stands under `policy` in the configuration: docs/approvals.md)"


def _call(home: str | None, verb: str, params: Result, typed: Result, line: Callable[[Result], str] | None) -> Any:
    """Call the node of this machine if there is one, otherwise a temporary node."""
    if home and typed["config"]:
        raise MeshError("input.invalid", "--config works without a node: leave out --home or --config")
    path = home_path(home)
    if params.get("capsule"):
        if typed["config"]:
            raise MeshError(
                "input.invalid", "--config works without a node, which has no capsules: leave out one of them"
            )
        return run_verb(home, verb, params, show=line)
    if not typed["config"] and (home or acting_as(path) is not None or _is_there(path)):
        return run_verb(home, verb, params, show=line)
    from node.process.apart import call_apart

    owner_only("work without a node")
    return run_async(call_apart(typed["config"] or "", verb, params, showing(line)))


def _is_there(home: Any) -> bool:
    from node.signing import LOG_FILE

    return bool((home / LOG_FILE).exists())


def _show(r: Result) -> None:
    from node.sessions.actions import comment, write_file

    lines: list[str] = []
    around: list[str] = []
    for item in r["elements"]:
        if item["within"] != around:
            around = item["within"]
            lines.append(comment(f"in {' › '.join(around)}" if around else "in the page"))
        lines += [f"{line}{note}" for line, note in zip(item["lines"], _notes(item), strict=True)]
    if r["cut"]:
        lines.append(comment(f"the page is too large to be read to its end: {r['cut']}"))
    if r["left_out"]:
        lines.append(comment(f"{counted(r['left_out'], 'element')} more: --text TEXT, --limit N"))
    if not r["elements"]:
        lines.append(comment("nothing that can be named"))
    lines += [
        comment(f"the guard refused {each}: what the page gets by it is missing{_WHERE}") for each in r["refused"]
    ]
    lines += [comment(each) for each in r["faults"]]
    for each in r["faults"]:
        click.echo(f"! {each}", err=True)
    click.echo(write_file(r["title"], r["url"], lines), nl=False)


def _notes(item: Result) -> list[str]:
    """The comment after each line of an element, with facts that the line lacks."""
    said = []
    if item["level"]:
        said.append(f"level {item['level']}")
    if item["options"]:
        more = " …" if len(item["options"]) > _OPTIONS_SHOWN else ""
        said.append(f"options: {', '.join(item['options'][:_OPTIONS_SHOWN])}{more}")
    if item["only_by_place"]:
        said.append("only its place tells it from others")
    from node.sessions.actions import comment

    first = f"  {comment('; '.join(said))}" if said else ""
    return [first, *("" for _ in item["lines"][1:])]


command = command_of(
    verbs.SNAPSHOT,
    CommandPresentation(
        text=_show,
        more=(
            click.option(
                "--config",
                metavar="FILE",
                type=ConfigFile(exists=True, dir_okay=False),
                help="Work without a node, with this configuration of browser and policy (docs/configuration.md).",
            ),
        ),
        call=_call,
    ),
)
