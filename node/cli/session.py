"""``trailmesh session``: record, verify, hand over and replay browser sessions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click

from node.base import counted, exit_code
from node.cli.common import (
    BUNDLE_SUFFIX,
    Result,
    agree,
    common_options,
    emit,
    is_session_id,
    moment,
    run_verb,
    table,
)
from protocol.errors import MeshError

_REFUSALS_SHOWN = 3
_TEXT_MARKS = {"numbers": "; text: only numbers differ", "differs": "; text differs"}
_ASPECTS = {
    "address": "address",
    "title": "title",
    "extracted": "extracted text",
    "text": "text",
    "action": "not performed",
}


@click.group(name="session", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Record, verify, hand over and replay browser sessions."""


def _secret_option(command: Any) -> Any:
    return click.option(
        "--secret",
        "secrets",
        multiple=True,
        metavar="NAME=@FILE",
        help="A secret the actions name, read from a file. Repeat for more.",
    )(command)


def _approval_options(command: Any) -> Any:
    command = click.option(
        "--approve-class",
        metavar="N",
        type=click.IntRange(0, 7),
        default=0,
        help="Approve risk classes up to N for this run (docs/risk.md).",
    )(command)
    return click.option(
        "--allow",
        multiple=True,
        metavar="'METHOD URL'",
        help="A request other than GET that may be sent, for example 'POST https://shop.example/login'.",
    )(command)


def read_secrets(given: tuple[str, ...]) -> dict[str, str]:
    """Secrets by name. They are read from files, because arguments can be seen by other users of the machine."""
    secrets = {}
    for text in given:
        name, _, source = text.partition("=")
        if not name or not source.startswith("@"):
            raise MeshError(
                "input.invalid", "--secret wants NAME=@FILE: arguments can be seen by others on this machine"
            )
        try:
            secrets[name] = Path(source[1:]).read_text().rstrip("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise MeshError("input.invalid", f"the file of the secret {name} cannot be read") from error
    return secrets


@group.command()
@click.argument("actions", type=click.Path(dir_okay=False))
@_secret_option
@_approval_options
@common_options
def record(
    home: str | None, actions: str, secrets: tuple[str, ...], approve_class: int, allow: tuple[str, ...], as_json: bool
) -> None:
    """Drive the actions of a file in a browser and record them as a signed session.

    ACTIONS is YAML, or JSON exported by the Chrome DevTools Recorder (docs/devtools-recorder.md). Requests other than GET
    are refused unless --allow names them; what was refused stands behind its step, here and in `session show`.

    \b
    Example:
      title: The blue mugs
      start: https://shop.example/
      steps:
        - click: {role: link, name: Mugs}
        - select: {role: combobox, name: Sort by, option: "Price: low to high"}
        - extract: {as: cheapest, role: heading, name: Mugs}
    """
    path = Path(actions)
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise MeshError("input.invalid", f"{actions} cannot be read") from error
    params = {
        "actions": text,
        "name": path.stem,
        "secrets": read_secrets(secrets),
        "allow": list(allow),
        "approve_class": approve_class,
    }
    blocked: list[str] = []

    def line(event: Result) -> str:
        blocked.extend(event.get("blocked", ()))
        return _step_line(event)

    result = run_verb(home, "session.record", params, show=line)

    def ended(r: Result) -> None:
        click.echo(f"recorded {r['id']}: {counted(r['steps'], 'step')}, {r['verdict']}{_refused('; ', blocked)}")

    emit(result, as_json=as_json, text=ended)


def _refused(before: str, blocked: list[str]) -> str:
    """What the network guard refused (``METHOD /path``), in words after ``before``; empty if nothing."""
    if not blocked:
        return ""
    more = f" and {len(blocked) - _REFUSALS_SHOWN} more" if len(blocked) > _REFUSALS_SHOWN else ""
    return f"{before}the guard refused {', '.join(blocked[:_REFUSALS_SHOWN])}{more}"


def _how_to_allow(blocked: list[str]) -> str:
    """The option that lets the first of them be sent; sockets have none."""
    method = next((entry.partition(" ")[0] for entry in blocked if not entry.startswith("WS ")), "")
    return f" (allow it with --allow '{method} URL')" if method else ""


def _step_line(event: Result) -> str:
    if "note" in event:
        return f"  ! {event['note']}"
    if "did" in event:
        refused = _refused("  ! ", event["blocked"]) + _how_to_allow(event["blocked"])
        return f"  {event['step']}/{event['of']} {'✓' if event['ok'] else '✗'} {event['did']}{refused}"
    if "matched" in event:
        mark = "✓ matched" if event["matched"] else f"✗ {event['error'] or 'differs'}"
        return f"  {event['step']}/{event['of']} {mark}{_TEXT_MARKS.get(event['text'], '')}"
    return ""


def _matched(matched: int, steps: int, text: dict[str, int]) -> str:
    """``5 of 5 steps matched; text: 4 same, 1 only numbers differ``."""
    from protocol.recording.replay import text_words

    words = text_words(text)
    return f"{matched} of {steps} steps matched{'; ' if words else ''}{words}"


def _report_matched(report: Result) -> str:
    counted = Counter(step["text"] for step in report["steps"])
    return _matched(report["matched"], len(report["steps"]), counted)


def _show_differences(result: Result) -> None:
    """What was recorded, and below it what was met; or why that is not shown."""
    above = None
    for found in result["differences"]:
        if (found["step"], found["what"]) != above:
            click.echo(f"step {found['step']}, {_ASPECTS[found['what']]}:")
            above = (found["step"], found["what"])
        for name in ("recorded", "met"):
            if found[name] or found["what"] != "text":
                click.echo(f"  {name:<8}  {found[name]}")
    if result["secrets_missing"] and any(_is_other(step) for step in result["report"]["steps"]):
        names = ", ".join(result["secrets_missing"])
        click.echo(f"what differs is shown only with the secrets of the recording: --secret NAME=@FILE for {names}")


def _is_other(step: Result) -> bool:
    return step["performed"] and not (step["matched"] and step["text"] in ("", "same"))


@group.command(name="ls")
@click.argument("text", required=False, default="")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="At most this many.")
@common_options
def list_sessions(home: str | None, text: str, limit: int, as_json: bool) -> None:
    """List sessions, newest first; TEXT is searched in title, address and id."""
    result = run_verb(home, "session.list", {"text": text, "limit": limit})

    emit(result, as_json=as_json, text=lambda r: _show_sessions(r, text))


def _show_sessions(result: Result, text: str) -> None:
    if not result["sessions"]:
        click.echo(
            f"none of the sessions has {text!r} in it" if text else "no sessions yet: `trailmesh session record`"
        )
        return
    for s in result["sessions"]:
        steps = f"{s['steps']} step{'' if s['steps'] == 1 else 's'}"
        click.echo(f"{s['id']}  {s['verdict']}, {steps}, {moment(s['created_ms'])} UTC, recorded by {s['node'][:7]}")
        click.echo(f"  {s['title']}\n  {s['start_url']}")


@group.command()
@click.argument("session")
@common_options
def show(home: str | None, session: str, as_json: bool) -> None:
    """Show a session step by step, who signed it, and its replays; of one that was removed, what is left of it."""
    result = run_verb(home, "session.show", {"session": session})

    def text(r: Result) -> None:
        if "removed" in r:
            _show_remains(r["removed"])
            return
        s = r["session"]
        click.echo(f"{s['id']}  {s['verdict']}  {s['title']}")
        click.echo(
            f"start    {s['start_url']}\nbrowser  {s['browser']['name']} {s['browser']['version']} ({s['browser']['backend']})"
        )
        doubt = f"  not relied on any more: {r['standing']}" if r["standing"] else ""
        click.echo(f"signed   {r['signed_by'][:7] or 'not committed'}  manifest {r['manifest'][:16]}{doubt}")
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
        table("steps", ["", "action", "outcome", "risk", "took", "address after"], rows)
        for step in r["steps"]:
            if step["blocked"]:
                click.echo(f"step {step['index']}{_refused(': ', step['blocked'])}")
        for report in r["reports"]:
            matched = f"{_report_matched(report)}{_elsewhere(report['origin'])}"
            refused = _refused("; ", report["blocked"])
            why = _unreached(r["unreached"].get(report["id"], ""))
            click.echo(f"replayed by {report['node'][:7]}, {report['verdict']}: {matched}{refused}{why}")
        for report in r["reports_refused"]:
            click.echo(f"replayed by {report['node'][:7]} {report['name']}: not relied on any more ({report['code']})")

    emit(result, as_json=as_json, text=text)


def _show_remains(remains: Result) -> None:
    browser = remains["browser"]
    click.echo(f"{remains['id']}  removed on {moment(remains['removed_ms'])} UTC; its title, pages and steps are gone")
    click.echo(f"was      {remains['verdict']}, {remains['steps']} steps in {remains['duration_ms'] / 1000:.1f} s")
    click.echo(
        f"recorded {moment(remains['created_ms'])} UTC by {remains['node'][:7]}, {browser['name']} {browser['version']}"
    )
    click.echo(f"manifest {remains['manifest'][:16] or 'none: it was not committed'}")


@group.command()
@click.argument("target")
@common_options
def verify(home: str | None, target: str, as_json: bool) -> None:
    """Check signatures and content of a session (id), a bundle or a replay report (file).

    The name of a file that exists, or that ends in .tmsession, is a file, also when it begins like an id.
    A fault names the element that does not match. A replay report that verifies is kept with its session.
    """
    result = run_verb(home, "session.verify", {"target": _target(target)})

    def text(r: Result) -> None:
        matched = (
            f", {r['verdict']}: {_matched(r['matched'], r['steps'], r['text'])}{_elsewhere(r['origin'])}"
            f"{_unreached(r['unreached'])}"
            if r["what"] == "replay-report"
            else f", {counted(r['steps'], 'step')}"
        )
        click.echo(f"{r['what']} {r['id']} verifies: signed by {r['signer_name']} ({r['signer'][:7]}){matched}")

    emit(result, as_json=as_json, text=text)


def _elsewhere(origin: str) -> str:
    return f", replayed at {origin}, not where it was recorded" if origin else ""


def _unreached(code: str) -> str:
    """What is to be said of a replay that met no page because of ``code``; empty for one that did."""
    return f"; the site could not be reached [{code}]: this says nothing about the recording" if code else ""


def _target(target: str) -> str:
    return target if is_session_id(target) else str(Path(target).absolute())


@group.command()
@click.argument("session")
@click.option("--out", metavar="FILE", help=f"Where to write the bundle.  [default: <session>{BUNDLE_SUFFIX}]")
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@common_options
def export(home: str | None, session: str, out: str | None, force: bool, as_json: bool) -> None:
    """Write a session as one signed file that another node can verify and replay."""
    path = Path(out or f"{session}{BUNDLE_SUFFIX}").absolute()
    result = run_verb(home, "session.export", {"session": session, "out": str(path), "force": force})
    result["out"] = str(path)
    emit(
        result,
        as_json=as_json,
        text=lambda r: click.echo(f"wrote {r['out']} ({counted(r['steps'], 'step')}, manifest {r['manifest'][:16]})"),
    )


@group.command(name="import")
@click.argument("bundle", type=click.Path(dir_okay=False))
@common_options
def import_session(home: str | None, bundle: str, as_json: bool) -> None:
    """Verify a bundle and keep it. Its signer must be a peer of this node."""
    result = run_verb(home, "session.import", {"path": str(Path(bundle).absolute())})
    emit(
        result,
        as_json=as_json,
        text=lambda r: click.echo(
            f"imported {r['id']}: {counted(r['steps'], 'step')}, signed by {r['signer_name']} ({r['signer'][:7]})"
        ),
    )


@group.command()
@click.argument("session")
@click.option("--base-url", metavar="URL", default="", help="Replay at another origin, for example a staging server.")
@click.option(
    "--out", metavar="FILE", default="", help="Write the signed replay report here, for the recorder to verify."
)
@click.option(
    "--on-mismatch",
    type=click.Choice(["stop", "go"]),
    default="stop",
    show_default=True,
    help="After a step that did not match: stop before the next step that writes (risk class 3 and up), or perform it too.",
)
@_secret_option
@_approval_options
@common_options
def replay(
    home: str | None,
    session: str,
    base_url: str,
    out: str,
    on_mismatch: str,
    secrets: tuple[str, ...],
    approve_class: int,
    allow: tuple[str, ...],
    as_json: bool,
) -> None:
    """Drive a session again in a fresh browser context and sign, step by step, what matched.

    A step matches by address, title, controls and headings without their numbers, and extracted text. How the whole text of its
    page compares is said beside that: same, only numbers differ, differs. What differs is shown, and is not in the report.

    Once a step did not match, steps that read go on, and the replay ends before the first step that writes (docs/risk.md).

    SESSION is an id: a bundle is imported first. Exit code 1 when it did not match throughout; text does not count for that. Exit
    code 3 when the site could not be reached: a report is signed then as well, and says nothing about the recording.
    """
    if not is_session_id(session) and (Path(session).is_file() or session.endswith(BUNDLE_SUFFIX)):
        raise MeshError("input.invalid", f"{session} is a file: `trailmesh session import` it, then replay its session")
    params = {
        "session": session,
        "base_url": base_url,
        "out": str(Path(out).absolute()) if out else "",
        "secrets": read_secrets(secrets),
        "allow": list(allow),
        "approve_class": approve_class,
        "on_mismatch": on_mismatch,
    }
    result = run_verb(home, "session.replay", params, show=_step_line)

    def text(r: Result) -> None:
        report = r["report"]
        click.echo(
            f"{report['verdict']}: {_report_matched(report)}{_elsewhere(report['origin'])}"
            f"{_refused('; ', report['blocked'])}; signed by {r['signed_by'][:7]}{_unreached(r['unreached'])}"
        )
        if r["stopped"]:
            click.echo(f"{r['stopped']}; `--on-mismatch go` performs it")
        _show_differences(r)
        if r["out"]:
            click.echo(f"report in {r['out']}: `trailmesh session verify` checks it on the other node")

    emit(result, as_json=as_json, text=text)
    if result["unreached"]:
        raise SystemExit(exit_code(result["unreached"]))
    if result["report"]["verdict"] != "pass":
        raise SystemExit(1)


@group.command()
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options
def rm(home: str | None, session: str, yes: bool, as_json: bool) -> None:
    """Remove a session with its steps, pictures, signatures and replay reports.

    Bundles that were exported stay what they are. What stays here is a manifest without what was seen or done (`session show`):
    when, by whom, how many steps, which verdict, its hash; that it was signed, in the witness log; that it was removed, on the
    audit trail.
    """
    agree(f"Remove {session} for good?", yes=yes)
    result = run_verb(home, "session.remove", {"session": session})
    emit(
        result,
        as_json=as_json,
        text=lambda r: click.echo(f"removed {r['session']}: {counted(r['steps'], 'step')}, {r['title']}"),
    )
