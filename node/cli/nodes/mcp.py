"""The command ``trailmesh mcp``, which serves this node's tools to a client of the Model Context Protocol (MCP)."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable
from typing import Any, Final

import click
import msgspec

from node.base.terminal import LineFormatter
from node.cli.base import shell_agent
from node.cli.base.build import given, parameter
from node.cli.base.common import acting_as, fail, home_path, owner_only, run_async
from node.verbs import Tell
from node.verbs.live import live as verbs
from node.verbs.live.live_params import OpenParams
from protocol import limits
from protocol.errors import MeshError

_OPENING: Final = tuple(name for name in OpenParams.__struct_fields__ if name != "url")
"""Options that the person who sets up the client fixes for every live session. The client chooses only the start address."""


def _takes_opening(command: Any) -> Any:
    for name in reversed(_OPENING):
        command = parameter(verbs.OPEN, name)(command)
    return command


@click.command(name="mcp", context_settings={"help_option_names": ["-h", "--help"]})
@_takes_opening
@click.option("--full", is_flag=True, help="Offer all tools, and not only the few that a model needs.")
@click.option("--as-owner", is_flag=True, help="Call as the owner of the node, and not as the agent `shell`.")
@click.option(
    "--home",
    metavar="DIR",
    help="Data directory of the node.  [default: $TRAILMESH_HOME, else the user's data directory]",
)
def command(home: str | None, full: bool, as_owner: bool, **typed: Any) -> None:
    """Offer the browser of this node as tools to a client of the Model Context Protocol (MCP), over standard input and output.

    The client starts this command, and the command starts the node, if none is running; docs/mcp.md has the lines for its
    configuration. It calls as the agent `shell`, or as the agent of a token file. The tools have the names of Playwright MCP. What
    the client leaves open is closed and signed when it ends. The options fix the limits of every session; no tool can change them.
    Standard output carries only the protocol; all else goes to standard error.

    \b
    Example:
      trailmesh mcp --secret password@https://shop.example=@/run/secrets/shop
    """
    _log_to_standard_error()
    try:
        serve = _bridge()
        opening = given(verbs.OPEN, typed)
        _check(opening, as_owner=as_owner)
        if not opening["capsule"] and not as_owner:
            del opening["capsule"]  # the client chooses among those that its agent was granted
        run_async(serve(_asker(home, as_owner=as_owner), opening, "full" if full else "default"))
    except MeshError as error:
        fail(error, as_json=False)
    except KeyboardInterrupt:
        fail(MeshError("internal.cancelled", "interrupted; committed work is kept"), as_json=False)


def _check(opening: dict[str, Any], *, as_owner: bool) -> None:
    """Refuse options that every opening of a live session would refuse: the person who starts this command can correct them, and
    the client cannot.

    Errors: ``input.invalid``, ``caller.refused``.
    """
    from node.config import invalid_in_words

    _require_sites(opening["secrets"])
    try:
        params = msgspec.convert({**opening, "url": ""}, OpenParams)
    except msgspec.ValidationError as error:
        raise MeshError("input.invalid", invalid_in_words(error, OpenParams)) from error
    if field := verbs.OPEN.for_owner(params):
        flag = f"--{field.replace('_', '-')}"
        owner_only(flag)
        if not as_owner:
            raise MeshError("caller.refused", f"{flag} is only for the owner of the node: add --as-owner, if you are")


def _require_sites(secrets: dict[str, Any]) -> None:
    """Refuse a secret without a site: the client, and so the model behind it, chooses the start address. Errors:
    ``input.invalid``.
    """
    for name, secret in secrets.items():
        if not secret["origins"]:
            raise MeshError(
                "input.invalid", f"say for which site the secret {name} is: --secret {name}@https://shop.example=SOURCE"
            )


def _bridge() -> Any:
    """Import the bridge, and with it a package that takes half a second to import. Errors: ``mcp.missing``."""
    try:
        from node.process import mcp_bridge
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise MeshError("mcp.missing") from error
    return mcp_bridge.serve


def _asker(home: str | None, *, as_owner: bool) -> Any:
    """A function that calls the node of ``home``, which is started if none runs there."""
    from node.process.background import ensure_serving
    from node.process.client import ask

    path = home_path(home)

    def start() -> None:
        ensure_serving(path, idle_s=limits.NODE_IDLE_EXIT_S, say=lambda told: click.echo(told, err=True))

    ours = acting_as(path) is None
    if ours:
        start()
    asking = functools.partial(ask, path, agent=shell_agent.serving(home, as_owner=as_owner))
    return _starting(asking, start) if ours else asking


def _starting(ask: Any, start: Callable[[], None]) -> Any:
    """``ask``, which starts the node again if it has ended: a node without work ends, and its clients stay open for days."""

    async def asked(verb: str, params: dict[str, Any], tell: Tell, key: str) -> Any:
        try:
            return await ask(verb, params, tell, key)
        except MeshError as error:
            # The call has not reached the node, so it is not made twice. Nobody starts a node to close what has ended with it.
            if error.code != "node.not_serving" or verb == verbs.CLOSE.name:
                raise
        await asyncio.to_thread(start)
        return await ask(verb, params, tell, key)

    return asked


def _log_to_standard_error() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)
    logging.getLogger("node").setLevel(logging.INFO)
