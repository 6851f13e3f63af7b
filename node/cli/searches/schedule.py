"""Commands ``trailmesh explore schedule``, which run searches at set times."""

from __future__ import annotations

from typing import Final

import click

from node.cli.base.build import CommandPresentation, commands_of
from node.cli.base.common import Result
from node.cli.searches.explore_words import progress_line, read_condition
from node.verbs.searches import schedule as verbs


@click.group(name="schedule", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Run searches repeatedly, at set times or intervals."""


def _complete(params: Result, typed: Result) -> None:
    params["until"] = read_condition(typed["until"])
    params["peers"] = params["peers"] or None


LOOKS: Final = {
    "schedule.add": CommandPresentation(prepare=_complete),
    "schedule.run_now": CommandPresentation(line=progress_line, status=lambda r: 0 if r["status"] == "done" else 1),
    "schedule.remove": CommandPresentation(
        says="removed {schedule}", confirm="Remove {schedule} and the records of its runs?"
    ),
}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
