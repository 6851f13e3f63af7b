"""``trailmesh explore schedule``: runs searches at set times."""

from __future__ import annotations

from typing import Final

import click

from node.cli.base.build import Look, commands_of
from node.cli.base.common import Result, moment, table
from node.cli.searches.explore_words import progress_line, read_condition
from node.verbs.searches import schedule as verbs

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


@click.group(name="schedule", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Run searches repeatedly, at set times or intervals."""


def _complete(params: Result, typed: Result) -> None:
    params["until"] = read_condition(typed["until"])
    params["peers"] = params["peers"] or None


def _duration(seconds: int) -> str:
    size, unit = next((size, unit) for size, unit in _UNITS if seconds % size == 0)
    return f"{seconds // size}{unit}"


def _when(r: Result) -> str:
    when = f"every {_duration(r['every_s'])}" if r["every_s"] else f"{r['cron']} ({r['timezone']})"
    return when + (f", up to {_duration(r['jitter_s'])} later" if r["jitter_s"] else "")


def _state(r: Result) -> str:
    return f"{r['state']} [{r['reason']}]" if r["reason"] else str(r["state"])


def _next(r: Result) -> str:
    return moment(r["next_due_ms"][0]) if r["next_due_ms"] else "-"


def _last(r: Result) -> str:
    return f"{moment(r['runs'][0]['due_ms'])} {r['runs'][0]['status']}" if r["runs"] else "-"


def _show_list(r: Result) -> None:
    if not r["schedules"]:
        click.echo("no schedules yet: `trailmesh explore schedule add`")
        return
    rows = [[s["schedule"], _state(s), _when(s), _next(s), _last(s), s["goal"]] for s in r["schedules"]]
    table("schedules", ["id", "state", "when", "next (UTC)", "last (UTC)", "goal"], rows, wrap=("when", "goal"))


def _show(r: Result) -> None:
    click.echo(f"{r['schedule']}  {_state(r)}  {r['goal']}")
    click.echo(f"{_when(r)}, {r['misfire']}, {r['seconds']} s from {r['start_url']}")
    if r["capsule"]:
        name = r["capsule_name"]
        click.echo(f"with the login {name} ({r['capsule']})" if name else f"with the login {r['capsule']}")
    if r["expires_s"]:
        click.echo(f"expires {moment(r['expires_s'] * 1000)} UTC")
    told = [way for way in (r["notify_webhook"], r["notify_command"]) if way]
    if told:
        click.echo(f"tells {' and '.join(told)} of runs that {r['notify_on']}")
    if r["next_due_ms"]:
        click.echo(f"next (UTC): {', '.join(moment(due) for due in r['next_due_ms'])}")
    if r["runs"]:
        rows = [
            [
                moment(run["due_ms"]) + (" by hand" if run["manual"] else ""),
                run["status"],
                run["reason"],
                run["search"],
                f"{sum(peer['cost_ms'] for peer in run['spend']) / 1000:.1f} s",
            ]
            for run in r["runs"]
        ]
        table("runs", ["due (UTC)", "status", "reason", "search", "spent"], rows)


def _show_run(r: Result) -> None:
    reason = f" [{r['reason']}]" if r["reason"] else ""
    click.echo(f"{r['status']}{reason}  {r['search']}{'  ' + r['session'] if r['session'] else ''}")
    for peer in r["spend"]:
        click.echo(f"  {peer['name'] or peer['node'][:7]}: {peer['visits']} visits, {peer['cost_ms'] / 1000:.1f} s")


def _removed(r: Result) -> None:
    click.echo(f"removed {r['schedule']}")


LOOKS: Final = {
    "schedule.add": Look(text=_show, prepare=_complete),
    "schedule.list": Look(text=_show_list),
    "schedule.show": Look(text=_show),
    "schedule.run_now": Look(text=_show_run, line=progress_line, status=lambda r: 0 if r["status"] == "done" else 1),
    "schedule.pause": Look(text=_show),
    "schedule.resume": Look(text=_show),
    "schedule.remove": Look(text=_removed, confirm="Remove {schedule} and the records of its runs?"),
}
for _command in commands_of(verbs.VERBS, LOOKS):
    group.add_command(_command)
