"""``trailmesh capsule``: logins that are kept sealed. Prints names, counts, sizes, hosts and times; never a value."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from node.base import counted
from node.cli import needed_secrets
from node.cli.build import Look, commands_of, parameter
from node.cli.common import (
    Result,
    common_options,
    emit,
    home_path,
    moment,
    owner_only,
    run_async,
    run_verb,
    showing,
    table,
)
from node.cli.explore_words import read_condition
from node.cli.secret_sources import only_needed, read_secrets
from node.verbs import capsule as verbs
from node.verbs import capsule_login as verbs_of_login
from node.verbs import capsule_upkeep as upkeep
from node.verbs import capsule_work as work
from protocol.errors import MeshError

_MALICE: Final = (
    "The policy binds a node that follows it. Whoever changes the software of the peer has the login in clear:"
    " only logging out on the site ends it then."
)


_NOTES: Final = {
    "lost": "not taken at the capture",
    "key-bound": "bound to a key that only its own browser has",
    "session-storage": "sessionStorage: the first tab begins with it, no other",
    "partitioned-storage": "storage of a frame, kept apart for the site on top",
    "partitioned-cookie": "partitioned cookie",
    "ends-soon": "ends within a day",
    "ended": "has ended",
    "in-clear": "is sent without encryption too",
    "size": "large",
}
_NO_FRAME: Final = "storage of a frame, which no fresh browser begins with"


@click.group(name="capsule", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Keep logins sealed under a policy, and give them to peers (docs/capsules.md)."""


@group.command()
@click.argument("capsule", metavar="CAPSULE")
@click.option(
    "--to", metavar="PEER", default="", help="Consent to an export to this peer.  [default: to uses by this node]"
)
@click.option("--owner", metavar="NAME", default="", help="Whose key signs.  [default: the only one that is here]")
@common_options
def consent(home: str | None, capsule: str, to: str, owner: str, as_json: bool) -> None:
    """Consent to what a capsule is for: sign it with an owner's key.

    The passphrase is typed on the terminal. The consent is for exactly this policy and these nodes, and ends with the capsule;
    newer state of the same login needs no new one.
    """
    from node.cli.owner import _now, _owners, chosen
    from node.process.owner_files import open_key
    from protocol.capsule.artefacts import Consent, seal_consent

    owner_only("capsule consent")
    who = chosen(home, owner, _owners(home))
    params = {"capsule": capsule, "to": to, "owner": who.key.hex()}
    asked = run_verb(home, verbs.TERMS.name, params)
    # On standard error, so that it is read before the passphrase is typed, also with --json.
    click.echo(f"{asked['name']} ({asked['capsule']}), for {', '.join(asked['recipients'])}", err=True)
    for line in _rules(asked["policy"]):
        click.echo(line, err=True)
    key = open_key(home_path(home), who.id, who.name)
    said = Consent(capsule=asked["capsule"], terms=bytes.fromhex(asked["terms"]), expires_ms=asked["expires_ms"])
    signed = seal_consent(said, key, **_now())
    emit(run_verb(home, verbs.CONSENT.name, {**params, "signed": signed.hex()}), as_json=as_json, text=_show)


@group.command()
@click.argument("url", metavar="URL")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Configuration of browser and policy in place of the node's.",
)
@click.option(
    "--with", "actions", metavar="FILE", help="Log in once with the steps of this action file, and judge that too."
)
@parameter(verbs_of_login.LOGIN, "secrets")
@parameter(verbs_of_login.LOGIN, "allow")
@parameter(verbs_of_login.LOGIN, "approve_class")
@parameter(verbs_of_login.LOGIN, "until")
@click.option("--log-out", is_flag=True, help="With --with: log out at the end, and see whether the session ends.")
@common_options
def probe(home: str | None, url: str, config: str | None, as_json: bool, **typed: Any) -> None:
    """Tell how a site logs in, and what is weak about it.

    Opens URL once in a fresh browser that sends nothing but reads. Told are: a form, a redirect to another site (OAuth, SAML),
    passkeys, one-time codes, CAPTCHAs, sessions that are bound to the device, and the browser's own dialog. Weaknesses are: tokens
    and passwords in addresses or in clear, a form without a token against other sites, weak flags of session cookies. What is only
    on a later page of the login, or comes with its answer, is not seen.

    With --with, the steps of an action file log in once, and URL is an address that needs the login. Then these are told too: a
    session that keeps its id at the login (fixation), other sites that are told a token, a login at another site that is bound to
    no browser, and with --log-out a session that outlives its logout. Nothing is recorded or kept.

    \b
    Examples:
      trailmesh capsule probe https://shop.example/login
      trailmesh capsule probe https://shop.example/account --with login.yaml --secret password=prompt: \\
        --allow 'POST https://shop.example/login' --approve-class 6 --log-out
    """
    owner_only("capsule probe")
    emit(_probed(home_path(home), config or "", url, typed), as_json=as_json, text=_show_probed)


def _probed(home: Path, config: str, url: str, typed: Result) -> Any:
    if not typed["actions"]:
        if any(typed[name] for name in ("secrets", "allow", "approve_class", "until", "log_out")):
            raise MeshError(
                "input.invalid", "--secret, --allow, --approve-class, --until and --log-out belong to --with"
            )
        from node.process.probing_login import probe_login

        return run_async(probe_login(home, config, url))
    from node.process.probing_flow import Asked, probe_flow

    asked = Asked(
        url=url,
        file=typed["actions"],
        secrets=read_secrets(only_needed(typed["secrets"], lambda: needed_secrets.of_file(None, typed))),
        allow=tuple(typed["allow"]),
        approve_class=typed["approve_class"],
        until=read_condition(typed["until"]) if typed["until"] else None,
        log_out=typed["log_out"],
    )
    return run_async(probe_flow(home, config, asked, showing(_login_line)))


_HELPS: Final = {
    "form": "`capsule login` with a file or a window",
    "sso": "`capsule login` in a window; name the site's own origin as URL",
    "passkey": "`capsule login` in a window; passkeys are never exported",
    "code": "`capsule login` in a window, with --mfa-now",
    "captcha": "`capsule login` in a window: only a person passes it",
    "device-bound": "an exported capsule may not work: let the node with the login do the work (`capsule work`)",
    "basic": "not a login that a capsule can keep",
}


def _show_probed(r: Result) -> None:
    click.echo(r["url"])
    if not r["kinds"]:
        click.echo("no login was found on this page: give the address of the form, or one that needs the login")
    for each in r["kinds"]:
        click.echo(f"  {each['what']:<13} {each['said']}\n{'':15} {_HELPS[each['what']]}")
    for each in r["weak"]:
        click.echo(f"  weak: {each['what']}: {each['said']}")
    for each in r.get("sound", ()):
        click.echo(f"  sound: {each['what']}: {each['said']}")


def _rules(policy: Result) -> list[str]:
    uses = counted(policy["replays_max"], "use")
    lines = [
        f"purpose  {policy['purpose'] or 'not said'}",
        f"origins  {', '.join(policy['origins'])}",
        f"work     {', '.join(policy['tasks'])}, classes up to {policy['class_max']}",
        f"ends     {moment(policy['expires_ms'])} UTC, or after {uses}",
        f"without word from its issuer  {policy['fresh_s']} s",
    ]
    if policy["mfa_s"]:
        lines.append(f"second factor  at most {policy['mfa_s']} s old")
    where = [name for name, on in (("machines", policy["cross_device"]), ("nodes", policy["cross_installation"])) if on]
    lines.append(f"on other {' and '.join(where)}" if where else "on this machine, by this node")
    if policy["consent"]:
        lines.append("needs the consent of an owner")
    return lines


def _show(r: Result) -> None:
    click.echo(f"{r['id']}  {r['name']}  generation {r['generation']}, captured by {r['tenant_name']}")
    for each in r["origins"]:
        parts = (
            counted(each["cookies"], "cookie"),
            f"{each['local']} local and {each['session']} session entries",
            counted(each["databases"], "database"),
        )
        click.echo(f"  {each['origin']}: {', '.join(parts)}")
    for line in _rules(r["policy"]):
        click.echo(line)
    click.echo(f"used     {counted(r['uses'], 'time')}; {r['state_bytes']} bytes, sealed {moment(r['sealed_ms'])} UTC")
    if r["owner"]:
        click.echo(f"consent  {r['owner']}")
    for each in r.get("holds", ()):
        ends = f", ends {moment(each['expires_s'] * 1000)} UTC" if each["expires_s"] else ""
        click.echo(f"  {each['kind']:<8} {each['host']}  {each['name']}  {each['bytes']} bytes{ends}")
    for each in r.get("weak", ()):
        click.echo(f"  weak: {each}")
    for each in r.get("lost", ()):
        click.echo(f"  not taken: {each}")


def _show_captured(r: Result) -> None:
    _show(r)
    if r["left_out"]:
        click.echo(f"left out {counted(r['left_out'], 'cookie or storage', 'cookies and storages')} of other origins")
    _show_proof(r)
    click.echo("A file that it was captured from still holds the login in clear: delete it.")


def _show_proof(r: Result) -> None:
    if r["not_needed"]:
        parts = counted(r["not_needed"], "cookie or entry", "cookies and entries")
        click.echo(f"left out {parts} that the page does not need (--whole keeps them)")
    for reason in r["proof"]:
        click.echo(f"{r['proven']:<8} {reason}")


def _show_logged_in(r: Result) -> None:
    _show(r)
    _show_proof(r)
    if r["session"]:
        click.echo(f"the login was recorded as {r['session']}")
    if r["registered"]:
        click.echo(f"registered {counted(r['registered'], 'passkey')} of this node: --passkey logs in with it")
    click.echo("The login is kept. Try what needs it before you close other windows: sites may end older logins.")


def _prepare_login(params: Result, typed: Result) -> None:
    if params["until"] is not None:
        params["until"] = read_condition(params["until"])


_OF_STEPS: Final = ("secrets", "allow", "approve_class", "passkey", "register_passkey")
"""Options about steps of a file, which a person in a window does without."""


def _log_in(home: str | None, verb: str, params: Result, typed: Result, line: Callable[[Result], str] | None) -> Any:
    """``capsule login``: by the steps of a file, which the node performs, else by a person in a window of this process."""
    if params["actions"]:
        if typed["attach"]:
            raise MeshError("input.invalid", "--attach opens a window for a person: leave it out, or --with")
        return run_verb(home, verb, params, show=line)
    from node.process.logging_in import log_in
    from node.process.watching import refuse_without_display

    owner_only("capsule login")
    if any(typed[name] for name in _OF_STEPS):
        raise MeshError("input.invalid", "--secret, --allow, --approve-class and those for passkeys belong to --with")
    if not typed["attach"]:
        refuse_without_display(dict(os.environ))
    held = run_async(
        log_in(home_path(home), params["url"], params["until"], typed["attach"] or "", showing(_window_line))
    )
    given = {name: value for name, value in params.items() if name not in ("actions", *_OF_STEPS)}
    return run_verb(home, verbs_of_login.KEEP.name, {**given, **held}, show=line)


def _window_line(event: Result) -> str:
    return (
        f"log in at {event['open']} in the window: it closes as soon as the login has succeeded\n"
        "  nothing of what you do there is recorded; Ctrl-C leaves nothing"
        + "".join(f"\n  {said}" for said in event["unguarded"])
    )


def _login_line(event: Result) -> str:
    if "note" in event:
        return f"  {event['note']}"
    return f"  {event['step']} of {event['of']}: {event['did']}{'' if event['ok'] else ' (failed)'}"


_ATTACH: Final = click.option(
    "--attach",
    metavar="ENDPOINT",
    help="Open the window in the Chromium that listens at ENDPOINT, such as http://127.0.0.1:9222.",
)


def _show_work(r: Result) -> None:
    why = f" ({r['code']})" if r["code"] else ""
    click.echo(
        f"{r['name']}: {r['task']} {r['verdict'] or 'not done'}, {r['good']} of {counted(r['steps'], 'step')}{why}"
    )
    if r["session"]:
        where = "fetched" if r["fetched"] else f"kept by {r['name']}"
        click.echo(f"session  {r['session']}, {where}")
    if r["question"]:
        click.echo(f"the owner of {r['name']} is asked for an approval: ask for the work again after a yes")
    click.echo(f"signed   by {r['name']}, SHA-256 {r['signed']}")


def _show_list(r: Result) -> None:
    if not r["capsules"]:
        click.echo("no capsules yet: `trailmesh capsule capture --from FILE`")
        return
    rows = [
        [
            each["id"],
            each["name"],
            each["tenant_name"],
            f"{each['uses']} of {each['policy']['replays_max']}",
            moment(each["policy"]["expires_ms"]),
        ]
        for each in r["capsules"]
    ]
    table("capsules", ["id", "name", "captured by", "used", "ends (UTC)"], rows)


def _show_exported(r: Result) -> None:
    click.echo(f"wrote {r['out']}: {r['name']} for {r['to']}, {r['bytes']} bytes")
    click.echo(f"It opens there until {moment(r['key_ends_ms'])} UTC.")
    click.echo(_MALICE)


def _show_revoked(r: Result) -> None:
    click.echo(f"revoked {r['id']}")
    for name in r["told"]:
        click.echo(f"  {name} has confirmed it")
    for name in r["not_told"]:
        click.echo(f"  {name} was not reached: it learns it at its next use, at the latest after the freshness window")

    if r["evidence"]:
        click.echo(f"the login on the site is {'dead' if r['dead'] else 'not seen to be dead'}: {r['evidence']}")


def _show_checked(r: Result) -> None:
    click.echo(f"{r['id']}  {r['name']}: {r['verdict']}")
    click.echo(f"seen     {r['page']}: {r['evidence']}")
    click.echo(f"left     {counted(r['uses_left'], 'use')}, until {moment(r['expires_ms'])} UTC")
    for origin in r["offers"]:
        click.echo(f"  {origin} offers to bind sessions to a device: a bound one soon ends in any other browser")
    for each in r["notes"]:
        kept = each["kind"] == "partitioned-storage" and not each["travels"]
        click.echo(f"  {_NO_FRAME if kept else _NOTES[each['kind']]}: {each['what']}")


def _show_refreshed(r: Result) -> None:
    _show(r)
    click.echo("sealed newer state" if r["renewed"] else "the site has changed nothing: there is no newer state")
    for name in r["export_again"]:
        click.echo(
            f"  {name} holds an older generation: export it again, `trailmesh capsule export {r['id']} --to {name}`"
        )


def _status_of_kill(r: Result) -> int:
    return int(bool(r["evidence"]) and not r["dead"])


def _looks() -> dict[str, Any]:
    return {
        upkeep.CHECK.name: Look(text=_show_checked, status=lambda r: int(r["verdict"] != "portable")),
        upkeep.REFRESH.name: Look(text=_show_refreshed),
        upkeep.ROTATE.name: Look(text=_show_refreshed),
        verbs.CAPTURE.name: Look(text=_show_captured, line=_login_line),
        verbs_of_login.LOGIN.name: Look(
            text=_show_logged_in,
            line=_login_line,
            prepare=_prepare_login,
            needs=needed_secrets.of_file,
            more=(_ATTACH,),
            call=_log_in,
        ),
        work.WORK.name: Look(
            text=_show_work,
            line=lambda event: f"  {event['note']}",
            status=lambda r: 0 if r["verdict"] == "pass" else 1,
        ),
        verbs.LIST.name: Look(text=_show_list),
        verbs.SHOW.name: Look(text=_show),
        verbs.IMPORT.name: Look(text=_show),
        verbs.EXPORT.name: Look(text=_show_exported),
        upkeep.REVOKE.name: Look(text=_show_revoked, status=_status_of_kill, confirm="Revoke {capsule} everywhere?"),
        verbs.REMOVE.name: Look(text=lambda r: click.echo(f"removed {r['id']}"), confirm="Remove {capsule}?"),
    }


for _command in commands_of((*verbs_of_login.VERBS, *work.VERBS, *verbs.VERBS, *upkeep.VERBS), _looks()):
    group.add_command(_command)
