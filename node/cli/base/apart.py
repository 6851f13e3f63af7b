"""Commands with ``--trust``, which need a bundle and a key but no node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from node.cli.base import asking
from node.cli.base.common import ConfigFile, Result, owner_only, run_async, run_verb, showing
from protocol.errors import MeshError

OPTIONS = (
    click.option(
        "--trust",
        metavar="KEY|FILE",
        multiple=True,
        help="Work without a node, on a bundle: a signature counts only if this key made it (`trailmesh session "
        "trust-key`). Repeat for more.",
    ),
    click.option(
        "--config",
        metavar="FILE",
        type=ConfigFile(exists=True, dir_okay=False),
        help="With --trust: configuration of browser and policy, or the name of an example (docs/configuration.md).",
    ),
)
"""Options of commands that can work without a node."""
PLAN = click.option(
    "--plan",
    is_flag=True,
    help="Replay nothing: print all that the replay needs, secrets, classes to approve, and the writes that the session lists.",
)


def verify(home: str | None, verb: str, params: Result, typed: Result, line: Callable[[Result], str] | None) -> Any:
    """``session verify``, with or without ``--trust``."""
    if not _is_apart(home, typed):
        return run_verb(home, verb, params, show=line)
    from node.process.apart import read_trust, verify_apart

    path = _bundle(typed["target"])
    return run_async(verify_apart(read_trust(typed["trust"]), typed["config"] or "", path))


def replay(home: str | None, verb: str, params: Result, typed: Result, line: Callable[[Result], str] | None) -> Any:
    """``session replay``, with or without ``--trust``."""
    is_apart = _is_apart(home, typed)
    if typed["plan"] and not is_apart:
        return run_verb(home, "session.plan", {"session": params["session"]})
    person = None if typed["plan"] else asking.person(params)
    if not is_apart:
        return run_verb(home, verb, params, show=line, person=person)
    from node.process.apart import read_trust, replay_apart

    if params["capsule"]:
        # Logins are on the nodes that captured them. A CI job logs in by the steps of the session.
        raise MeshError("input.invalid", "--capsule needs a node that keeps the login: leave out --trust (docs/ci.md)")
    path = _bundle(typed["session"])
    logs = read_trust(typed["trust"])
    return run_async(replay_apart(logs, typed["config"] or "", path, params, showing(line), person, plan=typed["plan"]))


def _is_apart(home: str | None, typed: Result) -> bool:
    """True if ``--trust`` is given. Errors: ``input.invalid``, ``caller.refused``."""
    if not typed["trust"]:
        if typed["config"]:
            raise MeshError("input.invalid", "--config belongs to --trust: a node has a configuration of its own")
        return False
    if home:
        raise MeshError("input.invalid", "--trust works without a node: leave out --home or --trust")
    owner_only("work with --trust")
    return True


def _bundle(named: str) -> Path:
    """The bundle that a command with ``--trust`` names. Errors: ``input.no_file``."""
    path = Path(named).absolute()
    if not path.is_file():
        raise MeshError("input.no_file", f"{named} is no file; with --trust a bundle is needed (`session export`)")
    return path
