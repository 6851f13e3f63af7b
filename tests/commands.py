"""Commands of which every question to the node gets an answer that the test gives."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import click
from click.testing import CliRunner

from node.cli import main
from node.process import client
from protocol.errors import MeshError


class Terminal(io.BytesIO):
    """Standard input on which a person types."""

    def isatty(self) -> bool:
        return True


class Done(NamedTuple):
    """A command that has ended."""

    code: int
    out: list[str]
    err: list[str]
    asked: list[tuple[str, dict[str, Any]]]
    """The verbs that it called, with their parameters."""


class Answers:
    """Answers each verb by its next answer in turn; the last one goes on for ever. An error is raised."""

    def __init__(self, **answers: Sequence[Any]) -> None:
        """answers: by verb, ``node_join`` for ``node.join``."""
        self._left = {name.replace("_", ".", 1): list(given) for name, given in answers.items()}
        self.events: list[dict[str, Any]] = []
        """Told before each answer."""
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.homes: list[Path] = []

    async def call(self, home: Path, verb: str, params: dict[str, Any], tell: Any, *more: Any, **named: Any) -> Any:
        """In place of the node."""
        self.asked.append((verb, dict(params)))
        self.homes.append(home)
        for event in self.events:
            tell(event)
        left = self._left[verb]
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, MeshError):
            raise answer
        return answer

    @contextmanager
    def given(self) -> Iterator[None]:
        """Every call within the block is answered here."""
        with patch.object(client, "call", self.call):
            yield

    def run(self, *words: str, typed: io.BytesIO | str | None = None, program: click.Command = main) -> Done:
        """Run one command. typed: what stands on its standard input, or a person types."""
        before = len(self.asked)
        with self.given():
            done = CliRunner().invoke(
                program, [*words], input=typed, env={"COLUMNS": "150"}, prog_name="trailmesh", catch_exceptions=False
            )
        out, err = ([line.rstrip() for line in text.splitlines()] for text in (done.stdout, done.stderr))
        return Done(done.exit_code, out, err, self.asked[before:])
