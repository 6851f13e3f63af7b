"""Prints replays and comparisons of sessions for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from node.base.plain import called, counted
from node.base.statuses import exit_code
from node.cli.base.common import BUNDLE_SUFFIX, Result, is_session_id
from node.cli.sessions.session_needs import show_needs
from protocol.errors import MeshError

_REFUSALS_SHOWN = 3
_EXIT_LACKING: Final = 2
_TEXT_MARKS = {"masked": "", "numbers": "; text: only numbers differ", "differs": "; text differs"}


def refusals(before: str, blocked: list[str]) -> str:
    """The requests that the network guard refused, as a phrase after ``before``; empty if none."""
    if not blocked:
        return ""
    more = f" and {len(blocked) - _REFUSALS_SHOWN} more" if len(blocked) > _REFUSALS_SHOWN else ""
    return f"{before}the guard refused {', '.join(blocked[:_REFUSALS_SHOWN])}{more}"


def step_line(event: Result) -> str:
    if "note" in event:
        return f"  ! {event['note']}"
    if "did" in event:
        refused = refusals("  ! ", event["blocked"]) + (f" ({event['helps']})" if event["helps"] else "")
        return f"  {event['step']}/{event['of']} {'✓' if event['ok'] else '✗'} {event['did']}{refused}"
    if "matched" in event:
        instead = f": {event['instead']}" if event["instead"] else _TEXT_MARKS.get(event["text"], "")
        mark = "✓" if event["matched"] else f"✗ {event['error'] or 'differs'}:"
        return f"  {event['step']}/{event['of']} {mark} {event['action']}{instead}"
    return ""


def matched_steps(matched: int, steps: int, stopped_at: int, text: dict[str, int]) -> str:
    """``5 of 9 steps matched, stopped at step 6; text: 4 same, 1 only numbers differ``."""
    from protocol.recording.replays.replay import text_words

    words = text_words(text)
    stopped = f", stopped at step {stopped_at}" if stopped_at else ""
    return f"{matched} of {steps} steps matched{stopped}{'; ' if words else ''}{words}"


def report_matched(report: Result, steps: int) -> str:
    """The matched steps of a report, in words. steps: the number of steps to replay, including those after the step at which it
    stopped.
    """
    last = report["steps"][-1] if report["steps"] else {"performed": True, "index": 0}
    ended = last["performed"] and len(report["steps"]) >= steps
    texts = Counter(step["text"] for step in report["steps"])
    return matched_steps(report["matched"], steps, 0 if ended else last["index"], texts)


def _show_differences(result: Result) -> None:
    """Print the recorded and the replayed value of each difference, or the reason why they are not shown."""
    above = None
    for found in result["differences"]:
        if (found["step"], _where(found), found["also"]) != above:
            did = dict(enumerate(result["described"], 1)).get(found["step"], "")
            more = f" and {counted(len(found['also']), 'other')}" if found["also"] else ""
            click.echo(f"step {found['step']}{more}, {did}, {_where(found)}:")
            above = (found["step"], _where(found), found["also"])
        for name in ("recorded", "met"):
            if found[name] or found["what"] != "text":
                click.echo(f"  {name:<8}  {found[name]}")
    if result["secrets_missing"] and any(_is_other(step) for step in result["report"]["steps"]):
        names = ", ".join(result["secrets_missing"])
        click.echo(
            f"differences are shown only if the secrets of the recording are given: --secret NAME@ORIGIN=SOURCE for {names}"
        )


def _where(found: Result) -> str:
    from msgspec import convert

    from protocol.recording.records.findings import Difference, where

    return where(convert(found, Difference))


def _is_other(step: Result) -> bool:
    return step["performed"] and not (step["matched"] and step["text"] in ("", "same", "masked"))


def level_of(report: Result) -> str:
    from protocol.recording.replays.uncounted import level_in_words

    return level_in_words(report["level"], strict=report["strict"])


def verdict_of(r: Result, uncounted: Mapping[str, Sequence[int]] = {}) -> str:
    """The verdict in words. uncounted: for a replay, the differences that do not count."""
    from protocol.recording.replays.uncounted import verdict_in_words

    return verdict_in_words(r["verdict"], r["reason"], uncounted)


def with_inputs(r: Result) -> str:
    """A note about inputs that a replay has changed; empty if it changed none."""
    changed = ", ".join(f"{item['name']} “{item['value']}” for “{item['recorded']}”" for item in r["inputs"])
    return f", with {changed}" if changed else ""


def elsewhere(origin: str) -> str:
    return f", replayed at {origin}, not where it was recorded" if origin else ""


def unreached(code: str) -> str:
    """A note for a replay that reached no page because of ``code``; empty for other replays."""
    return f"; the site could not be reached [{code}]: this says nothing about the recording" if code else ""


def not_a_file(params: Result, typed: Result) -> None:
    session = typed["session"]
    if typed["trust"]:
        return
    if not is_session_id(session) and (Path(session).is_file() or session.endswith(BUNDLE_SUFFIX)):
        raise MeshError(
            "input.invalid",
            f"{session} is a file: `trailmesh session import` imports it; then replay its session. Without a node: --trust KEY",
        )


def show_replayed(r: Result) -> None:
    if "report" not in r:
        show_needs(r)
        return
    report = r["report"]
    judged = f"{verdict_of(report, r['uncounted'])}, {level_of(report)}{with_inputs(report)}"
    click.echo(
        f"{judged}: {report_matched(report, r['replayable'])}{elsewhere(report['origin'])}"
        f"{refusals('; ', report['blocked'])}; signed by {called(r['signed_by'], r['names'])}{unreached(r['unreached'])}"
    )
    if r["agreed"]:
        steps = ", ".join(map(str, r["agreed"]))
        click.echo(f"performed after a mismatch, because you were asked and said yes: step {steps}")
    if r["lacking"]:
        click.echo(f"the call lacked a permission, so this says nothing about the site: {r['lacking']}")
    if r["stopped"]:
        click.echo(
            r["stopped"]
            if r["lacking"]
            else f"{r['stopped']}; `--on-mismatch go` performs it, `--on-mismatch ask` asks before each such step"
        )
    _show_differences(r)
    if r["out"]:
        click.echo(f"report in {r['out']}: `trailmesh session verify` checks it on the other node")


def status_of_replay(r: Any) -> int:
    if "report" not in r:
        return 0  # the needs of a replay
    if r["unreached"]:
        return exit_code(r["unreached"])
    if r["lacking"]:
        return _EXIT_LACKING
    return 0 if r["report"]["verdict"] == "pass" else 1


def _show_runs(r: Result) -> None:
    for name in ("first", "second"):
        report = r[name]
        told = f"{report['id']}, {verdict_of(report)}" if report else "the recording"
        click.echo(f"{name:<7} {told}")
    same = sum(step["status"] == "same" for step in r["steps"])
    click.echo(f"{same} of {counted(len(r['steps']), 'step')} are the same")
    for step in r["steps"]:
        if step["status"] != "same":
            click.echo(
                f"step {step['index']}, {step['did']}:\n    first   {step['first']}\n    second  {step['second']}"
            )


def show_diff(r: Result) -> None:
    if "session" in r:
        _show_runs(r)
    else:
        _show_recordings(r)
    if r["html"]:
        click.echo(f"as a page: {r['html']}")


def _show_recordings(r: Result) -> None:
    same = sum(step["status"] == "same" for step in r["steps"])
    click.echo(f"{same} of {counted(len(r['steps']), 'step')} are the same")
    for step in r["steps"]:
        if step["status"] == "same":
            continue
        where = f"{step['first'] or '–'} ↔ {step['second'] or '–'}"
        click.echo(f"step {where}, {step['did']}: {step['status']}")
        for found in step["differences"]:
            click.echo(f"  {_where(found)}")
            click.echo(f"    first   {found['recorded']}")
            click.echo(f"    second  {found['met']}")
