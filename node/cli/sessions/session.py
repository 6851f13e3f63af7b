"""Commands ``trailmesh session``, which print recorded sessions for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click

from node.base.plain import called, counted, moment
from node.cli.base import apart, needed_secrets
from node.cli.base.build import Look, commands_of
from node.cli.base.common import BUNDLE_SUFFIX, Result, table
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
    show_sends,
    status_of_replay,
    step_line,
    unreached,
    verdict_of,
    with_inputs,
)
from node.verbs.sessions import session as verbs
from node.verbs.sessions import session_upkeep as upkeep

_MASKS_SHOWN = 5
_FAILED_LINES_SHOWN = 40
_EXTRACTED_CHARS_SHOWN = 200
_REPORT_ID_CHARS = 11  # "rep-" and enough characters to distinguish the replays of a session
_SUFFIXES: Final = {"bundle": BUNDLE_SUFFIX, "recorder": ".json", "playwright": ".py"}


@click.group(name="session", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Record, verify, export and replay browser sessions."""


def _name_of_file(params: Result, typed: Result) -> None:
    params["name"] = Path(typed["actions"]).stem


def _show_recorded(r: Result) -> None:
    if "output" in r:
        headed.show(r)
        return
    if r["reason"]:
        click.echo(f"{r['verdict']}: {r['reason']}")
    click.echo(f"recorded {r['id']}: {counted(r['steps'], 'step')}, {r['verdict']}{refusals('; ', r['blocked'])}")
    for name, value in r["extracted"].items():
        click.echo(_extracted(name, value))
    if r["needs"]:
        show_needs(r["needs"])


def _show_learned(r: Result) -> None:
    _show_recorded(r)
    if not r["learned"]:
        click.echo(
            "nothing learned: no number differs from the recording, so the new session has no mask more than the first one"
        )
    for one in r["learned"]:
        click.echo(f"masked at step {one['step']}:\n  recorded  {one['recorded']}\n  now       {one['met']}")


def _extracted(name: str, value: str) -> str:
    if len(value) <= _EXTRACTED_CHARS_SHOWN:
        return f"extracted “{name}”: {value}"
    return f"extracted “{name}”: {value[:_EXTRACTED_CHARS_SHOWN]}… ({len(value)} characters; --json prints all)"


def _incomplete(url: str) -> str:
    """A note for a session whose start address was not stored completely; empty for other sessions."""
    from protocol.page.secrets.redaction import is_incomplete

    return "  (a part is not stored: cannot be replayed as it stands)" if is_incomplete(url) else ""


def _show_list(r: Result) -> None:
    if not r["sessions"]:
        click.echo(
            "no archived sessions"
            if r["archived"]
            else f"no session contains {r['text']!r} in title, address or id"
            if r["text"]
            else "no sessions yet: `trailmesh session record`"
        )
    for s in r["sessions"]:
        steps, by = counted(s["steps"], "step"), called(s["node"], r["names"])
        click.echo(f"{s['id']}  {s['verdict']}, {steps}, {moment(s['created_ms'])} UTC, recorded by {by}")
        click.echo(f"  {s['title']}\n  {s['start_url']}{_incomplete(s['start_url'])}")


def _login_of(session: Result) -> str:
    login = session.get("login")
    return f"“{login['name']}” of {login['tenant'][:7]}, generation {login['generation']}: " if login else ""


def _show_session(r: Result) -> None:
    if "removed" in r:
        _show_remains(r["removed"], r["names"])
        return
    s = r["session"]
    browser = s["browser"]
    click.echo(f"{s['id']}  {s['verdict']}  {s['title']}")
    if s["reason"]:
        click.echo(f"reason   {s['reason']}")
    click.echo(f"start    {s['start_url']}{_incomplete(s['start_url'])}")
    click.echo(f"browser  {browser['name']} {browser['version']} ({browser['backend']})")
    doubt = f"  no longer relied on: {r['standing']}" if r["standing"] else ""
    signer = called(r["signed_by"], r["names"]) or "not committed"
    click.echo(f"signed   {signer}  manifest {r['manifest'][:16]}{doubt}")
    if s["caller"]:
        click.echo(f"caller   {s['caller']}")
    if s["capsule"]:
        click.echo(f"login    {_login_of(s)}{s['capsule']} (`trailmesh capsule show`)")
    if s["parent"]:
        click.echo(f"parent   {s['parent']}")
    if r["archived"]:
        click.echo("archived `trailmesh session unarchive` lists it again")
    for name, value in ((item["name"], item["value"]) for item in s["inputs"]):
        click.echo(f"input    {name} = {value}")
    for one in s["skipped"]:
        click.echo(f"skipped  {one['place']} ({one['what']}): {one['reason']}")
    _show_steps(r)
    show_sends(r)
    _show_failed(r["failed"])
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
    for report in r["reports_refused"]:
        click.echo(f"replayed by {called(report['node'], r['names'])}: no longer relied on ({report['code']})")
    if r["html"]:
        click.echo(f"as a page: {r['html']}")


def _show_failed(page: Result | None) -> None:
    """Print the page on which a step failed, as far as a terminal has room."""
    if page is None:
        return
    click.echo(f"step {page['step']} failed on “{page['title']}”, {page['url']}:")
    for line in page["lines"][:_FAILED_LINES_SHOWN]:
        click.echo(f"  | {line}")
    more = len(page["lines"]) - _FAILED_LINES_SHOWN + page["more"]
    if more > 0:
        click.echo(f"  … {counted(more, 'more line')}: --json and --html have them")


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


def _dialog(dialog: Result) -> str:
    said = f" “{dialog['message']}”" if dialog.get("message") else ""
    return f"{dialog['kind']}{said}, {'accepted' if dialog.get('accepted') else 'dismissed'}"


def _download(file: Result) -> str:
    if fault := file.get("fault"):
        return f"“{file['name']}”, {fault.replace('_', ' ')}"
    return f"“{file['name']}”, {counted(file.get('size_bytes', 0), 'byte')}, SHA-256 {file['sha256']}"


def _show_steps(r: Result) -> None:
    rows = [
        [
            str(step["index"]),
            done,
            "ok" if step["ok"] else step["error"],
            str(step["risk"]),
            f"{step['duration_ms']} ms",
            step["url"],
        ]
        for step, done in zip(r["steps"], r["described"], strict=True)
    ]
    table("steps", ["", "action", "outcome", "risk", "took", "address after"], rows, wrap=("action",))
    for step in r["steps"]:
        if step["blocked"]:
            click.echo(f"step {step['index']}{refusals(': ', step['blocked'])}")
        for name in step["basic"]:
            click.echo(f"step {step['index']}: the site asked for basic authentication and got the secret “{name}”")
        for said in step["console"]:
            click.echo(f"step {step['index']}: error in the console: {said}")
        if step["unseen"]:
            click.echo(
                f"step {step['index']}: what it says is absent was on no page before, so it may hold of every page"
            )
        for note in step["notes"]:
            click.echo(f"step {step['index']}: {note}")
        if step["tab"]:
            into = f"tab {step['on_tab']}" if step["on_tab"] else "a new tab, which was followed in the page"
            click.echo(f"step {step['index']}: opened {into}")
        for file in step["downloads"]:
            click.echo(f"step {step['index']}: download: {_download(file)}")
        for dialog in step["dialogs"]:
            click.echo(f"step {step['index']}: dialog: {_dialog(dialog)}")
        if step["ok"] and step["action"]["type"] == "extract":
            click.echo(f"step {step['index']}: {_extracted(step['action']['name'], step['extracted'])}")
        if step["action"]["type"] == "goto" and (note := _incomplete(step["action"]["url"])):
            click.echo(f"step {step['index']}:{note}")
        if step["error"] in ("action.assertion_failed", "action.dialog"):
            click.echo(f"step {step['index']}: found {step['extracted']}")


def _show_remains(remains: Result, names: dict[str, str]) -> None:
    browser = remains["browser"]
    click.echo(f"{remains['id']}  removed on {moment(remains['removed_ms'])} UTC; its title, pages and steps are gone")
    click.echo(f"was      {remains['verdict']}, {remains['steps']} steps in {remains['duration_ms'] / 1000:.1f} s")
    click.echo(
        f"recorded {moment(remains['created_ms'])} UTC by {called(remains['node'], names)}, {browser['name']} {browser['version']}"
    )
    click.echo(f"manifest {remains['manifest'][:16] or 'none: it was not committed'}")


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


def _show_exported(r: Result) -> None:
    click.echo(f"wrote {r['out']} ({counted(r['steps'], 'step')}, manifest {r['manifest'][:16]})")
    for one in r["lost"]:
        click.echo(f"  ! not written: {one}")


def _show_imported(r: Result) -> None:
    click.echo(f"imported {r['id']}: {counted(r['steps'], 'step')}, signed by {r['signer_name']} ({r['signer'][:7]})")


def _status_of_recording(r: Any) -> int:
    if r.get("needs"):
        return 0  # the command asked for the needs of the file, not for its verdict
    return 0 if r.get("verdict", "pass") == "pass" else 1  # an action file has no verdict


def _show_trust_key(r: Result) -> None:
    click.echo(f"# trailmesh: sessions signed by {r['name']}, node {r['node']}\n{r['key']}")


def _show_purged(r: Result) -> None:
    click.echo(f"purged {r['session']}: {counted(r['steps'], 'step')}, {r['title']}")
    names = ", ".join(f"{holder['name'] or 'unnamed'} ({holder['node'][:7]})" for holder in r["may_hold"])
    if names:
        click.echo(f"may still hold it: {names}; and whoever has an exported bundle")


def _show_archived(r: Result) -> None:
    done = "archived" if r["archived"] else "listed again"
    click.echo(f"{r['session']} {'is ' if r['changed'] else 'was already '}{done}: {r['title']}")


LOOKS: Final = {
    "session.record": Look(
        text=_show_recorded,
        line=step_line,
        prepare=_name_of_file,
        needs=needed_secrets.of_file,
        more=headed.OPTIONS,
        call=headed.record,
        status=_status_of_recording,
    ),
    "session.list": Look(text=_show_list),
    "session.show": Look(text=_show_session),
    "session.verify": Look(text=_show_verified, more=apart.OPTIONS, call=apart.verify),
    "session.export": Look(text=_show_exported, prepare=_name_of_bundle, status=lambda r: 1 if r["lost"] else 0),
    "session.import": Look(text=_show_imported),
    "session.fork": Look(
        text=_show_recorded, line=step_line, needs=needed_secrets.of_session, status=_status_of_recording
    ),
    "session.learn": Look(
        text=_show_learned, line=step_line, needs=needed_secrets.of_session, status=_status_of_recording
    ),
    "session.archive": Look(text=_show_archived),
    "session.unarchive": Look(text=_show_archived),
    "session.purge": Look(text=_show_purged, confirm="Delete {session} for good?"),
    "session.replay": Look(
        text=show_replayed,
        line=step_line,
        prepare=not_a_file,
        needs=needed_secrets.of_session,
        more=(*apart.OPTIONS, apart.PLAN),
        call=apart.replay,
        status=status_of_replay,
    ),
    "session.diff": Look(text=show_diff, status=lambda r: 0 if r["same"] else 1),
    "session.trust_key": Look(text=_show_trust_key),
}
for _command in commands_of((*verbs.VERBS, *upkeep.VERBS), LOOKS):
    group.add_command(_command)
group.add_command(session_run.command)
