"""Commands ``trailmesh explore``, which search a site for a goal together with peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from node.cli.base.as_task import task_option
from node.cli.base.build import CommandPresentation, commands_of, parameter
from node.cli.base.common import Result, common_options, emit, run_verb
from node.cli.base.render import shows
from node.cli.searches import schedule
from node.cli.searches.explore_words import progress_line, read_condition
from node.verbs.searches import explore as verbs
from protocol.errors import MeshError


@click.group(name="explore", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Search a site for a goal together with peers."""


@group.command(help=verbs.RUN.help)
@parameter(verbs.RUN, "goal", needed=False)
@parameter(verbs.RUN, "start", needed=False)
@parameter(verbs.RUN, "until", needed=False, text="Condition that the page must meet: YAML, or @FILE. See below.")
@parameter(verbs.RUN, "peers")
@click.option("--alone", is_flag=True, help="Explore without peers.")
@parameter(verbs.RUN, "seconds")
@parameter(verbs.RUN, "seed")
@parameter(verbs.RUN, "capsule")
@parameter(verbs.RUN, "chooser")
@click.option(
    "--resume",
    "search",
    metavar="SEARCH",
    help="Follow a running search, or resume one that ended without success, for --seconds from now. A search that a "
    "peer coordinates is joined again.",
)
@task_option(verbs.RUN)
@common_options
def run(
    home: str | None,
    goal: str | None,
    start: str | None,
    until: str | None,
    peers: tuple[str, ...],
    alone: bool,
    seconds: int,
    seed: int,
    capsule: str,
    chooser: str,
    search: str | None,
    as_json: bool,
) -> None:
    params: dict[str, Any]
    if search:
        verb, params = verbs.RESUME, {"search": search, "seconds": seconds}
    else:
        if goal is None or start is None or until is None:
            raise MeshError("input.invalid", "--goal, --start and --until are needed (or --resume)")
        verb = verbs.RUN
        params = {
            "goal": goal,
            "start": start,
            "until": read_condition(until),
            "seconds": seconds,
            "seed": seed,
            "capsule": capsule,
            "chooser": chooser,
        }
        if alone or peers:
            params["peers"] = list(peers)

    def show(event: Result) -> str:
        nonlocal search
        search = event["search"] if "participants" in event else search
        return progress_line(event)

    try:
        result = run_verb(home, verb.name, params, show=show)
    except KeyboardInterrupt:
        again = f"; `trailmesh explore run --resume {search}` continues the search" if search else ""
        raise MeshError(
            "internal.cancelled", f"interrupted; the results so far are kept{again}", search=search or ""
        ) from None
    emit(result, as_json=as_json, text=shows(verb))


@group.command()
@parameter(verbs.SHOW, "search", needed=False)
@parameter(verbs.SHOW, "html")
@parameter(verbs.LIST, "limit")
@common_options
def show(home: str | None, search: str | None, html: str, limit: int, as_json: bool) -> None:
    """Show a search; without SEARCH, list them, newest first."""
    if not search:
        emit(run_verb(home, verbs.LIST.name, {"limit": limit}), as_json=as_json, text=shows(verbs.LIST))
        return
    path = str(Path(html).absolute()) if html else ""
    emit(run_verb(home, verbs.SHOW.name, {"search": search, "html": path}), as_json=as_json, text=shows(verbs.SHOW))


LOOKS: Final = {"explore.remove": CommandPresentation(confirm="Remove {search} with all its results?")}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
group.add_command(schedule.group)
