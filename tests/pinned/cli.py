"""What every command asks its node and how it ends, and what some commands print, for answers made by chance."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
from click.testing import CliRunner

from node.cli import main
from node.cli.base import common, shell_agent
from node.process import client
from node.verbs.catalogue import CATALOGUE
from protocol.errors import MeshError
from scripts.docs import commands
from tests.pinned.made import answer, plain, words

SEEDS, JSON_SEED = range(4), 3
"""The first call is without options; the last asks for JSON."""
_PRINTED = frozenset(
    {
        "approve ls",
        "audit verify",
        "capsule check",
        "capsule show",
        "explore run",
        "explore schedule ls",
        "explore show",
        "live show",
        "node grant",
        "node peers",
        "node status",
        "session diff",
        "session ls",
        "session replay",
        "session show",
    }
)
"""One command of each layout. Of the others what is printed is left to the tests of that command."""
_OWN_WORK = frozenset(
    {
        "approve no",
        "approve show",
        "approve yes",
        "live open",
        "node init",
        "node logs",
        "node start",
        "node stop",
        "ui",
        "node serve",
        "node id",
        "node doctor",
        "node recover",
        "node pair",
        "node restore",
        "owner add",
        "owner revoke",
        "demo",
        "demo mesh",
        "demo shop",
        "mcp",
        "actions schema",
        "log verify",
        "snapshot",
    }
)
"""These do more than to ask a node one thing."""
_RUN = re.compile(r"([ ━─])\1{9,}")
"""What pads a table."""
_STEP = {"step": 1, "of": 3, "blocked": [], "helps": ""}
_SEARCH_EVENTS: tuple[dict[str, Any], ...] = (
    {"search": "sea-1", "participants": ["A", "B"]},
    {"search": "sea-1", "participants": ["A"]},
    {
        "seconds": 4, "of_seconds": 30, "visits": {"NODEABC-D": 3, "NODEXYZ-D": 0}, "live_leases": 1, "nodes": 2, "best": 0.456,
        "claims": 1,
    },
    {"seconds": 40, "of_seconds": 30, "visits": {}, "live_leases": 0, "nodes": 1, "best": 0, "claims": 0},
    {"claim": 1, "peer": "NODEABC-DEF"},
    {"claim_refused": 1, "peer": "NODEABC-DEF"},
    {"lease_expired": 1, "peer": "NODEABC-DEF"},
    {"error": "peer.unreachable", "peer": "NODEABC-DEF"},
    {"of another": "kind"},
)  # fmt: skip
_STEP_EVENTS: tuple[dict[str, Any], ...] = (
    {"note": "2 steps are left out"},
    _STEP | {"did": "click link “Mugs”", "ok": True},
    _STEP
    | {
        "did": "click button “Send”",
        "ok": False,
        "blocked": ["WS /socket", "POST /a", "POST /b", "POST /c", "PUT /d"],
        "helps": "allow it with --allow 'POST URL'",
    },
    _STEP | {"did": "open", "ok": False, "blocked": ["WS /socket", "WS /b", "WS /c"]},
    _STEP | {"action": "click link “Mugs”", "matched": True, "error": "", "text": "same", "instead": ""},
    _STEP | {"action": "click link “Mugs”", "matched": True, "error": "", "text": "numbers", "instead": ""},
    _STEP
    | {
        "action": "click link “Mugs”",
        "matched": False,
        "error": "step.not_found",
        "text": "differs",
        "instead": "no link “Mugs”",
    },
    _STEP
    | {"action": "click link “Mugs”", "matched": False, "error": "", "text": "", "instead": "text “b” instead of “a”"},
    {"of another": "kind"},
)
_EVENTS = {
    "session.record": _STEP_EVENTS,
    "session.replay": _STEP_EVENTS,
    "explore.run": _SEARCH_EVENTS,
    "explore.resume": _SEARCH_EVENTS,
}


def lines() -> Iterator[str]:
    """One block for each call of a command."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("actions.yaml").write_text("title: Mugs\n")
        Path("secret.txt").write_text("hidden\n")
        for path, command in commands():
            name = " ".join(path)
            if (
                path
                and name not in _OWN_WORK
                and (not isinstance(command, click.Group) or command.invoke_without_command)
            ):
                for seed in SEEDS if name in _PRINTED else (SEEDS[0], JSON_SEED):
                    made = _called(path, command, seed, printed=name in _PRINTED)
                    yield from (line.replace(os.path.realpath(folder), "…") for line in made)


def _called(path: tuple[str, ...], command: click.Command, seed: int, *, printed: bool) -> Iterator[str]:
    chance = random.Random(f"{path} {seed}")
    typed = [*path, *words(command, chance, full=seed > 0)]
    asked: list[str] = []
    given: list[str] = []

    async def call(home: Path, verb: str, params: dict[str, Any], tell: Any = None, **more: Any) -> Any:
        """In place of the node."""
        asked.append(f"  asks {verb} {plain(params)}")
        for event in (*_EVENTS.get(verb, ()), *_EVENTS.get(verb, ())[-1:]):
            tell(event)
        made = answer(CATALOGUE[verb].kinds, chance)
        given.append(plain(made))
        return made

    def uncaught(error: Exception, *more: Any) -> MeshError:
        """Made-up answers are not all possible ones: what a command cannot show is pinned as it is, without a report."""
        raise error

    as_person = patch.object(shell_agent, "caller_of", lambda home, *, as_owner: None)  # else an agent is made first
    asks = patch.object(client, "ask", call)
    with patch.object(client, "call", call), asks, patch.object(common, "_of_defect", uncaught), as_person:
        done = CliRunner().invoke(
            main,
            [*typed, *(["--json"] if seed == JSON_SEED else [])],
            env={"COLUMNS": "150", "DISPLAY": "", "WAYLAND_DISPLAY": "", "TRAILMESH_HOME": str(Path.cwd() / "none")},
            prog_name="trailmesh",
        )
    yield f"$ trailmesh {' '.join(typed)}"
    yield from asked
    if seed == JSON_SEED:
        out = plain(json.loads(done.stdout)) if done.stdout else ""
        yield f"  | {'the answer' if [out] == given else out}"
    elif printed:
        for sign, text in (("|", done.stdout), ("!", done.stderr)):
            yield from (f"  {sign} {_RUN.sub('…', line.rstrip())}" for line in text.splitlines())
    fault = f" {done.exception!r}" if done.exception and not isinstance(done.exception, SystemExit) else ""
    yield f"  = {done.exit_code}{fault}"
