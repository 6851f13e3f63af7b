"""``trailmesh explore``: search a site for a goal, together with peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from node.base import counted
from node.cli.common import Result, agree, common_options, emit, moment, run_verb, table
from protocol.errors import MeshError


@click.group(name="explore", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Search a site for a goal together with peers."""


@group.command()
@click.option(
    "--goal", metavar="TEXT", help="What to reach, in words: 'find the cheapest blue mug with a rating over 4'."
)
@click.option("--start", metavar="URL", help="Where to begin. Every peer of the search is told it: no tokens.")
@click.option("--until", metavar="CONDITION", help="What must hold on the page: YAML, or @FILE. See below.")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    metavar="NAME",
    help="Explore with this peer. Repeat for more.  [default: every peer that lets us assign branches]",
)
@click.option("--alone", is_flag=True, help="Explore without peers.")
@click.option("--seconds", type=click.IntRange(1, 86_400), default=120, show_default=True, help="Time limit.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the rollouts.")
@click.option(
    "--resume",
    "search",
    metavar="SEARCH",
    help="Follow a running search, or take up one that ended without success, for --seconds from now. Of a search that a "
    "peer coordinates: take part again.",
)
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
    search: str | None,
    as_json: bool,
) -> None:
    """Explore a site until a page meets the condition; what is found is replayed and recorded as a session before it is believed.

    Only actions of risk classes 1 to 3 are performed, and only GET requests are sent. Ctrl-C stops the search; `--resume` takes
    it up again.

    \b
    Conditions: url (glob), title, text (contained), element {role, name}; all, any, not combine them.
      --until '{url: "*/products/*", text: "In stock"}'
      --until '{any: [{title: Checkout}, {element: {role: heading, name: Checkout}}]}'
    """
    params: dict[str, Any]
    if search:
        verb, params = "explore.resume", {"search": search, "seconds": seconds}
    else:
        if goal is None or start is None or until is None:
            raise MeshError("input.invalid", "--goal, --start and --until are needed (or --resume)")
        verb = "explore.run"
        params = {
            "goal": goal,
            "start": start,
            "until": read_condition(until),
            "seconds": seconds,
            "seed": seed,
        }
        if alone or peers:
            params["peers"] = list(peers)

    def show(event: Result) -> str:
        nonlocal search
        search = event["search"] if "participants" in event else search
        return _line(event)

    try:
        result = run_verb(home, verb, params, show=show)
    except KeyboardInterrupt:
        again = f"; `trailmesh explore run --resume {search}` takes the search up again" if search else ""
        raise MeshError(
            "internal.cancelled", f"interrupted; what was found is kept{again}", search=search or ""
        ) from None
    emit(result, as_json=as_json, text=show_summary)


def read_condition(text: str) -> Any:
    """The plain data of a condition given as YAML or ``@FILE``. Errors: ``condition.invalid``."""
    from node.config import load

    try:
        if text.startswith("@"):
            text = Path(text[1:]).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise MeshError("condition.invalid", f"{text[1:]} cannot be read") from error
    try:
        return load(text).plain()
    except MeshError as error:
        raise MeshError("condition.invalid", error.message, **error.detail) from error


def _line(event: Result) -> str:
    if "participants" in event:
        return f"search {event['search']} with {counted(len(event['participants']), 'node')}"
    if "visits" in event:
        left = max(0, event["of_seconds"] - event["seconds"])
        shares = ", ".join(f"{peer[:7]} {count}" for peer, count in event["visits"].items() if count)
        return (
            f"  {left:>4} s left: {counted(event['live_leases'], 'lease')}, {counted(event['nodes'], 'action')} found, "
            f"{counted(sum(event['visits'].values()), 'visit')}{f' ({shares})' if shares else ''}, "
            f"best {event['best']:.2f}, {counted(event['claims'], 'claim')}"
        )
    if "claim" in event:
        return f"  {event['peer'][:7]} claims success after {counted(event['claim'], 'step')}: replaying …"
    if "claim_refused" in event:
        return f"  the claim of {event['peer'][:7]} did not hold"
    if "lease_expired" in event:
        return f"  {event['peer'][:7]} fell silent: its branch is open again"
    if "error" in event:
        return f"  {event['peer'][:7]} could not take a branch: {event['error']}"
    return ""


def show_summary(r: Result) -> None:
    """Print a search for a person."""
    click.echo(f"{r['search']}  {r['status']}  {r['goal']}")
    rows = [
        [
            p["name"],
            p["node"][:7],
            p["role"],
            str(p["leases"]),
            str(p["visits"]),
            str(p["steps"]),
            f"{p['cost_ms'] / 1000:.1f} s",
        ]
        for p in r["spend"]
    ]
    table(
        f"{counted(r['nodes'], 'action')} found, {counted(r['branches'], 'branch', 'branches')}, {r['seconds']:.0f} s",
        ["node", "id", "role", "leases", "visits", "steps", "spent"],
        rows,
    )
    if r["verified"]:
        click.echo(f"verified: found by {r['claimed_by']}, replayed here as {r['session']}")
        for number, step in enumerate(r["path"], 1):
            click.echo(f"  {number}. {step}")
    else:
        click.echo(f"not reached{': ' + r['reason'] if r['reason'] else ''}")
    if r["html"]:
        click.echo(f"report in {r['html']}")


@group.command()
@click.argument("search", required=False)
@click.option(
    "--html", metavar="FILE", default="", help="Also write the report: tree picture, screenshots, who signed what."
)
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="Without SEARCH: at most this many."
)
@common_options
def show(home: str | None, search: str | None, html: str, limit: int, as_json: bool) -> None:
    """Show a search; without SEARCH, list them, newest first."""
    if not search:
        result = run_verb(home, "explore.list", {"limit": limit})

        def listed(r: Result) -> None:
            if not r["searches"]:
                click.echo("no searches yet: `trailmesh explore run`")
                return
            rows = [[s["id"], s["status"], s["coordinator"][:7], moment(s["created_ms"])] for s in r["searches"]]
            table("searches", ["id", "status", "coordinator", "when (UTC)"], rows)

        emit(result, as_json=as_json, text=listed)
        return
    path = str(Path(html).absolute()) if html else ""
    result = run_verb(home, "explore.show", {"search": search, "html": path})
    emit(result, as_json=as_json, text=show_summary)


@group.command()
@click.argument("search")
@common_options
def stop(home: str | None, search: str, as_json: bool) -> None:
    """Stop a running search; it can be resumed.

    A search that a peer coordinates is left: this node takes no part in it any more, whatever the peer asks, until `trailmesh
    explore run --resume SEARCH` on this node.
    """
    result = run_verb(home, "explore.stop", {"search": search})
    emit(result, as_json=as_json, text=show_summary)


@group.command()
@click.argument("search")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def rm(home: str | None, search: str, yes: bool, as_json: bool) -> None:
    """Remove a search that does not run: its tree, its leases, and what peers sent about it.

    Peers at their disk quota get that room back at once. Sessions that the search found stay (`trailmesh session rm`), and so does
    what the audit trail and the witness log say. A peer cannot open the same search here again.

    \b
    Example:
      trailmesh explore show
      trailmesh explore rm sea-P2FRIBWZAO6JCN73NHTWW --yes
    """
    agree(f"Remove {search} with everything that was found?", yes=yes)
    result = run_verb(home, "explore.remove", {"search": search})

    def text(r: Result) -> None:
        click.echo(f"removed {r['search']}")
        for peer in r["freed"]:
            click.echo(f"{peer['name'] or peer['node'][:7]} has {peer['bytes'] / 1024:.0f} KiB of its disk back")

    emit(result, as_json=as_json, text=text)
