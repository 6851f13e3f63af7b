"""``trailmesh``: the top-level command and its groups."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click

from node.cli.base.common import Program

_GROUPS = {
    "node": ("node.cli.nodes.node", "Create, run, pair and check this node."),
    "agent": ("node.cli.nodes.agent", "Let programs work with this node under tokens of their own."),
    "owner": ("node.cli.nodes.owner", "Add and revoke the keys of the people who own this node."),
    "approve": ("node.cli.nodes.approve", "Answer what was not done because it needs a person's approval."),
    "policy": ("node.cli.nodes.policy", "Explain what this node allows, and which rule says so."),
    "session": ("node.cli.sessions.session", "Record, verify, export and replay browser sessions."),
    "actions": ("node.cli.sessions.actions", "Check action files without performing them, and help to write them."),
    "snapshot": ("node.cli.sessions.snapshot", "Print what can be named on a page, as lines for an action file."),
    "capsule": ("node.cli.capsules.capsule", "Keep logins sealed under a policy, and give them to peers."),
    "live": ("node.cli.sessions.live", "Open a browser session and act in it, call by call."),
    "log": ("node.cli.nodes.log", "Show, prove and audit what this node and its peers have signed."),
    "audit": ("node.cli.nodes.audit", "Show the audit trail: which caller used which privileged action."),
    "explore": ("node.cli.searches.explore", "Search a site for a goal together with peers."),
    "demo": ("trailmesh.demo", "See trailmesh at work on a small shop that comes with it."),
    "mcp": ("node.cli.nodes.mcp", "Offer the browser of this node to a client of the Model Context Protocol."),
    "skills": ("node.cli.nodes.skills", "Print instructions for agents that use a shell."),
    "task": ("node.cli.sessions.task", "Begin what takes long, and look at it later."),
    "ui": ("node.cli.nodes.ui", "Open the page of this node in a web browser."),
    "events": ("node.cli.nodes.events", "List what changed on this node, or follow it."),
}


def _plain() -> Mapping[str, str]:
    """The groups without a module of commands, with their purpose."""
    from node.verbs.catalogue import PLAIN

    return PLAIN


def _of_declarations(name: str) -> click.Group:
    """A group whose commands consist only of their declarations."""
    from node.cli.base.build import commands_of
    from node.verbs.catalogue import CATALOGUE

    group = click.Group(name=name, help=_plain()[name], context_settings={"help_option_names": ["-h", "--help"]})
    for command in commands_of(tuple(verb for verb in CATALOGUE.values() if verb.command.startswith(f"{name} ")), {}):
        group.add_command(command)
    return group


class LazyGroup(Program):
    """A group that imports its subgroups on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_GROUPS, *_plain()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _GROUPS:
            return _of_declarations(cmd_name) if cmd_name in _plain() else None
        module = vars(importlib.import_module(_GROUPS[cmd_name][0]))
        found: click.Command = module.get("group") or module["command"]
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*((name, text) for name, (_, text) in _GROUPS.items()), *_plain().items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="trailmesh")
@click.option(
    "--token-file",
    metavar="FILE",
    help="Call as the agent whose token is in FILE, never as the owner.  [default: $TRAILMESH_TOKEN_FILE]",
)
@click.option(
    "--socket",
    metavar="PATH",
    help="Socket on which an agent reaches the node.  [default: $TRAILMESH_SOCKET, else control/agents.sock in the data directory]",
)
def main(token_file: str | None, socket: str | None) -> None:
    """Record, verify and replay browser work, and explore sites together with peers.

    Each installation runs one node. It records browser work as signed sessions that others can verify and replay, and explores
    sites together with the peers it trusts.

    \b
    First steps:
      trailmesh node init                     create a node on this machine
      trailmesh node doctor                   check everything it needs
      trailmesh node serve                    run it
      trailmesh actions check actions.yaml    check a file of browser actions, without a node
      trailmesh session record actions.yaml   drive a browser and record it
      trailmesh live open URL                 open a browser session and act in it, call by call; starts a node
      trailmesh skills get core               how an agent that uses a shell does that
      trailmesh agent add --help              let a program work with the node
      trailmesh mcp --help                    let a client of the Model Context Protocol work with it
      trailmesh node invite                   let another node pair with it
      trailmesh explore run --help            search a site for a goal
      trailmesh ui                            see all of it in a web browser

    Every command but `mcp` takes --json. Exit codes: 0 done, 1 the answer is no, 2 wrong usage, 3 a fault on this machine, 4 a
    fault of a peer, 130 interrupted (not `node serve`: 0); docs/errors.md lists every code.
    """
