"""Commands ``trailmesh session``, which print recorded sessions for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from node.base.plain import called, counted, moment
from node.cli.base import apart, needed_secrets
from node.cli.base.build import CommandPresentation, commands_of
from node.cli.base.common import BUNDLE_SUFFIX, Result
from node.cli.base.render import render
from node.cli.sessions import headed, session_run
from node.cli.sessions.gated import show_gated
from node.cli.sessions.session_needs import show_needs
from node.cli.sessions.session_replays import (
    elsewhere,
    level_of,
    matched_steps,
    not_a_file,
    refusals,
    report_matched,
    show_diff,
    show_replayed,
    status_of_replay,
    step_line,
    unreached,
    verdict_of,
    with_inputs,
)
from node.verbs.sessions import session as verbs
from node.verbs.sessions import session_upkeep as upkeep

_MASKS_SHOWN = 5
_REPORT_ID_CHARS = 11  # "rep-" and enough to tell the replays of a session apart
_SUFFIXES: Final = {"bundle": BUNDLE_SUFFIX, "recorder": ".json", "playwright": ".py"}


@click.group(name="session", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Record, verify, export and replay browser sessions."""


def _name_of_file(params: Result, typed: Result) -> None:
    params["name"] = Path(typed["actions"]).stem


def _show_recorded(r: Result) -> None:
    """The file that was written, or the session; what speaks against it comes first."""
    if "output" in r:
        headed.show(r)
        return
    if r["reason"]:
        click.echo(f"{r['verdict']}: {r['reason']}")
    render((upkeep.LearnedSession,), {name: value for name, value in r.items() if name != "needs"})
    if r.get("needs"):
        show_needs(r["needs"])


def _show_learned(r: Result) -> None:
    _show_recorded(r)
    if not r["learned"]:
        click.echo(
            "nothing learned: no number differs from the recording, so the new session has no mask more than the first one"
        )


def _show_session(r: Result) -> None:
    """The stored facts of the session, then their consequences: parts that are not compared, personal data, results of replays."""
    render(verbs.SHOW.kinds, r)
    if "removed" in r:
        click.echo("its title, pages and steps are gone")
        return
    _show_masks(r["steps"])
    show_gated(r)
    for report in r["reports"]:
        matched = f"{report_matched(report, r['replayable'])}{elsewhere(report['origin'])}"
        refused = refusals("; ", report["blocked"])
        why = unreached(r["unreached"].get(report["id"], ""))
        when = f"{report['id'][:_REPORT_ID_CHARS]}  {moment(report['replayed_ms'])} UTC"
        found = r["uncounted"].get(report["id"], {})
        judged = f"{verdict_of(report, found)}, {level_of(report)}{with_inputs(report)}"
        click.echo(f"{when}, replayed by {called(report['node'], r['names'])}, {judged}: {matched}{refused}{why}")


def _show_masks(steps: list[Result]) -> None:
    """Print how much of the text is not compared, by step, line and form."""
    lines = sum(step["lines"] for step in steps)
    masked = [(step["index"], line, form) for step in steps for line, _, _, form in step["masks"]]
    if not masked:
        return
    count = len({(step, line) for step, line, _ in masked})
    click.echo(f"masked   {count} of {counted(lines, 'line')} ({100 * count / max(lines, 1):.1f} %): --json lists all")
    for step, line, form in masked[:_MASKS_SHOWN]:
        click.echo(f"  step {step}, line {line}: {form}")


def _show_verified(r: Result) -> None:
    counted_steps = f", {counted(r['steps'], 'step')}"
    if r["what"] == "replay-report":
        matched = matched_steps(r["matched"], r["steps"], r["stopped_at"], r["text"])
        counted_steps = (
            f", level {r['level']}: {matched}{elsewhere(r['origin'])}{with_inputs(r)}{unreached(r['unreached'])}"
        )
    verifies = f"{r['what']} {r['id']} verifies: signed by {r['signer_name']} ({r['signer'][:7]})"
    click.echo(f"{verifies}, {verdict_of(r, r['uncounted'])}{counted_steps}")


def _name_of_bundle(params: Result, typed: Result) -> None:
    suffix = _SUFFIXES[params["form"]]
    params["out"] = params["out"] or str(Path(f"{typed['session']}{suffix}").absolute())


def _status_of_recording(r: Any) -> int:
    if r.get("needs"):
        return 0  # the command asked for the needs of the file, not for its verdict
    return 0 if r.get("verdict", "pass") == "pass" else 1  # an action file has no verdict


def _show_trust_key(r: Result) -> None:
    click.echo(f"# trailmesh: sessions signed by {r['name']}, node {r['node']}\n{r['key']}")


LOOKS: Final = {
    "session.record": CommandPresentation(
        text=_show_recorded,
        line=step_line,
        prepare=_name_of_file,
        needs=needed_secrets.of_file,
        more=headed.OPTIONS,
        call=headed.record,
        status=_status_of_recording,
    ),
    "session.show": CommandPresentation(text=_show_session),
    "session.verify": CommandPresentation(text=_show_verified, more=apart.OPTIONS, call=apart.verify),
    "session.export": CommandPresentation(prepare=_name_of_bundle, status=lambda r: 1 if r["lost"] else 0),
    "session.fork": CommandPresentation(
        text=_show_recorded, line=step_line, needs=needed_secrets.of_session, status=_status_of_recording
    ),
    "session.learn": CommandPresentation(
        text=_show_learned, line=step_line, needs=needed_secrets.of_session, status=_status_of_recording
    ),
    "session.purge": CommandPresentation(confirm="Delete {session} for good?"),
    "session.replay": CommandPresentation(
        text=show_replayed,
        line=step_line,
        prepare=not_a_file,
        needs=needed_secrets.of_session,
        more=(*apart.OPTIONS, apart.PLAN),
        call=apart.replay,
        status=status_of_replay,
    ),
    "session.diff": CommandPresentation(text=show_diff, status=lambda r: 0 if r["same"] else 1),
    "session.trust_key": CommandPresentation(text=_show_trust_key),
}
for _command in commands_of((*verbs.VERBS, *upkeep.VERBS), LOOKS):
    group.add_command(_command)
group.add_command(session_run.command)
