"""Prints a result for a person, as ``node.verbs.written`` lays it out: lines, and tables as wide as the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from node.cli.base.common import Result, table
from node.verbs import Verb
from node.verbs.written import TextTable, told


def shows(verb: Verb) -> Callable[[Result], None]:
    """Returns a function that prints a result of ``verb``."""
    return lambda result: render(verb.kinds, result)


def render(kinds: tuple[Any, ...], result: Result) -> None:
    """Print ``result``. kinds: the records that it may be."""
    for part in told(kinds, result):
        if isinstance(part, TextTable):
            table(part.title, list(part.heads), [list(row) for row in part.cells], wrap=part.wrap)
        else:
            click.echo(part)
