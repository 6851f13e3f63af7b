"""Commands ``trailmesh live`` for live browser sessions, for people and for agents that use a shell."""

from __future__ import annotations

import sys
from typing import Final

import click
from click.core import ParameterSource

from node.cli.base.build import CommandPresentation, commands_of
from node.cli.base.common import Result
from node.verbs.live import live as verbs
from protocol import limits


@click.group(name="live", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Open a browser session and act in it, call by call."""


def _waits_longer(params: Result, typed: Result) -> None:
    source = click.get_current_context().get_parameter_source("hold")
    if source is ParameterSource.DEFAULT and sys.stdin.isatty():
        params["hold"] = limits.HELD_TERMINAL_S  # a person is there


LOOKS: Final = {"live.open": CommandPresentation(prepare=_waits_longer)}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
