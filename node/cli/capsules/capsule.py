"""Commands ``trailmesh capsule`` for logins that are kept sealed. They print names, counts, sizes, hosts and times, never
values.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from node.cli.base import needed_secrets
from node.cli.base.build import CommandPresentation, commands_of, parameter
from node.cli.base.common import (
    ConfigFile,
    Result,
    common_options,
    emit,
    home_path,
    owner_only,
    run_async,
    run_verb,
    showing,
)
from node.cli.base.render import shows
from node.cli.base.secret_sources import only_needed, read_secrets
from node.cli.capsules import capsule_passkey
from node.cli.capsules import capsule_words as words
from node.cli.searches.explore_words import read_condition
from node.cli.sessions.session_replays import refusals
from node.verbs.capsules import capsule as verbs
from node.verbs.capsules import capsule_handle as handle
from node.verbs.capsules import capsule_login as verbs_of_login
from node.verbs.capsules import capsule_policy as repolicy
from node.verbs.capsules import capsule_unseal as unseal
from node.verbs.capsules import capsule_upkeep as upkeep
from node.verbs.capsules import capsule_work as work
from node.verbs.written import lines_of
from protocol.errors import MeshError


@click.group(name="capsule", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Keep logins sealed under a policy, and export them to peers (docs/capsules.md)."""


@group.command()
@click.argument("capsule", metavar="CAPSULE")
@click.option(
    "--to", metavar="PEER", default="", help="Consent to an export to this peer.  [default: to uses by this node]"
)
@click.option("--owner", metavar="NAME", default="", help="Whose key signs.  [default: the only one that is here]")
@common_options
def consent(home: str | None, capsule: str, to: str, owner: str, as_json: bool) -> None:
    """Consent to the terms of a capsule: sign them with an owner's key.

    The passphrase is typed on the terminal. The consent is for exactly this policy and these nodes, and ends with the capsule.
    Newer state of the same login needs no new consent.
    """
    from node.cli.nodes.owner import _now, _owners, chosen
    from node.process.owner_files import open_key
    from protocol.capsule.artefacts import Consent, seal_consent

    owner_only("capsule consent")
    who = chosen(home, owner, _owners(home))
    params = {"capsule": capsule, "to": to, "owner": who.key.hex()}
    asked = run_verb(home, verbs.TERMS.name, params)
    # On standard error, so that a person reads it before typing the passphrase, even with --json.
    for line in lines_of(verbs.CapsuleTerms, asked):
        click.echo(line, err=True)
    key = open_key(home_path(home), who.id, who.name)
    said = Consent(capsule=asked["capsule"], terms=bytes.fromhex(asked["terms"]), expires_ms=asked["expires_ms"])
    signed = seal_consent(said, key, **_now())
    done = run_verb(home, verbs.CONSENT.name, {**params, "signed": signed.hex()})
    emit(done, as_json=as_json, text=shows(verbs.CONSENT))


@group.command()
@click.argument("url", metavar="URL")
@click.option(
    "--config",
    metavar="FILE",
    type=ConfigFile(exists=True, dir_okay=False),
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
    """Find out how a site logs in, and its weaknesses.

    Opens URL once in a fresh browser that sends only reads. It reports a form, a redirect to another site (OAuth, SAML), passkeys,
    one-time codes, CAPTCHAs, sessions bound to the device, and the browser's own dialog. It reports these weaknesses: tokens and
    passwords in addresses or in clear, a form without a token against other sites, weak flags of session cookies. Later pages of
    the login, and its answers, are not examined.

    With --with, the steps of an action file log in once, and URL is an address that needs the login. Then it also reports a
    session that keeps its id at the login (fixation), other sites that receive a token, a login at another site that is bound to
    no browser, and with --log-out a session that outlives its logout. Nothing is recorded or kept.

    \b
    Examples:
      trailmesh capsule probe https://shop.example/login
      trailmesh capsule probe https://shop.example/account --with login.yaml --secret password=prompt: \\
        --allow 'POST https://shop.example/login' --approve-class 6 --log-out
    """
    owner_only("capsule probe")
    emit(_probed(home_path(home), config or "", url, typed), as_json=as_json, text=words.show_probed)


def _probed(home: Path, config: str, url: str, typed: Result) -> Any:
    if not typed["actions"]:
        if any(typed[name] for name in ("secrets", "allow", "approve_class", "until", "log_out")):
            raise MeshError(
                "input.invalid", "--secret, --allow, --approve-class, --until and --log-out belong to --with"
            )
        from node.process.probing_login import probe_login

        return run_async(probe_login(home, config, url))
    from node.process.probing_flow import ProbedFlow, probe_flow

    asked = ProbedFlow(
        url=url,
        file=typed["actions"],
        secrets=read_secrets(only_needed(typed["secrets"], lambda: needed_secrets.of_file(None, typed))),
        allow=tuple(typed["allow"]),
        approve_class=typed["approve_class"],
        until=read_condition(typed["until"]) if typed["until"] else None,
        log_out=typed["log_out"],
    )
    return run_async(probe_flow(home, config, asked, showing(_login_line)))


def _prepare_login(params: Result, typed: Result) -> None:
    if params["until"] is not None:
        params["until"] = read_condition(params["until"])


_OF_STEPS: Final = ("secrets", "allow", "approve_class", "passkey", "register_passkey", "slice")
"""Options for the steps of a file; a person in a window does without them."""


def _log_in(home: str | None, verb: str, params: Result, typed: Result, line: Callable[[Result], str] | None) -> Any:
    """Run ``capsule login``: the node performs the steps of a file, or a person logs in in a window of this process."""
    if params["actions"]:
        if typed["attach"]:
            raise MeshError("input.invalid", "--attach opens a window for a person: leave it out, or --with")
        return run_verb(home, verb, params, show=line)
    from node.process.logging_in import log_in
    from node.process.watching import refuse_without_display

    owner_only("capsule login")
    if any(typed[name] for name in _OF_STEPS):
        raise MeshError(
            "input.invalid", "--secret, --allow, --approve-class, --slice and those for passkeys belong to --with"
        )
    if not typed["attach"]:
        refuse_without_display(dict(os.environ))
    _check_name(home, params)
    held = run_async(
        log_in(home_path(home), params["url"], params["until"], typed["attach"] or "", showing(_window_line))
    )
    given = {name: value for name, value in params.items() if name not in ("actions", *_OF_STEPS)}
    return run_verb(home, verbs_of_login.KEEP.name, {**given, **held}, show=line)


def _check_name(home: str | None, params: Result) -> None:
    """Refuse, before a person logs in, parameters that the node would refuse afterwards. Errors: ``input.not_found``,
    ``input.invalid``.
    """
    if params["replaces"]:
        run_verb(home, verbs.SHOW.name, {"capsule": params["replaces"]})
    elif params["name"]:
        kept = run_verb(home, verbs.LIST.name, {})["capsules"]
        if any(
            each["name"] == params["name"] and each["tenant_name"] == "this node" and each["ended"] != "expired"
            for each in kept
        ):
            raise MeshError("input.invalid", verbs.name_taken(params["name"]))


def _window_line(event: Result) -> str:
    return (
        f"log in at {event['open']} in the window: it closes as soon as the login has succeeded\n"
        "  nothing of what you do there is recorded; Ctrl-C leaves nothing"
        + "".join(f"\n  {said}" for said in event["unguarded"])
    )


def _login_line(event: Result) -> str:
    if "note" in event:
        return f"  {event['note']}"
    did = f"  {event['step']} of {event['of']}: {event['did']}{'' if event['ok'] else ' (failed)'}"
    if not event.get("blocked"):
        return did
    return did + refusals("\n  ! ", event["blocked"]) + (f" ({event['helps']})" if event["helps"] else "")


_ATTACH: Final = click.option(
    "--attach",
    metavar="ENDPOINT",
    help="Open the window in the Chromium that listens at ENDPOINT, such as http://127.0.0.1:9222.",
)


def _status_of_kill(r: Result) -> int:
    return int(bool(r["evidence"]) and not r["dead"])


def _looks() -> dict[str, Any]:
    return {
        upkeep.CHECK.name: CommandPresentation(status=lambda r: int(r["verdict"] != "portable")),
        verbs.CAPTURE.name: CommandPresentation(
            line=_login_line,
            after=lambda r: "A file that it was captured from still holds the login in clear: delete it.",
        ),
        verbs_of_login.LOGIN.name: CommandPresentation(
            after=lambda r: "" if r["session"] else words.OTHER_WINDOWS,
            line=_login_line,
            prepare=_prepare_login,
            needs=needed_secrets.of_file,
            more=(_ATTACH,),
            call=_log_in,
        ),
        work.WORK.name: CommandPresentation(
            line=lambda event: f"  {event['note']}",
            status=lambda r: 0 if r["verdict"] == "pass" else 1,
        ),
        handle.OFFER.name: CommandPresentation(after=lambda r: words.MALICE if r["offered"] else ""),
        verbs.EXPORT.name: CommandPresentation(after=lambda r: words.MALICE),
        upkeep.REVOKE.name: CommandPresentation(status=_status_of_kill, confirm="Revoke {capsule} everywhere?"),
        unseal.UNSEAL.name: CommandPresentation(
            confirm=f"{unseal.UNSEALED_WARNING}\nWrite the login of {{capsule}} in clear to {{out}}?",
        ),
        verbs.REMOVE.name: CommandPresentation(says="removed {id}", confirm="Remove {capsule}?"),
    }


group.add_command(capsule_passkey.group)
for _command in commands_of(
    (*verbs_of_login.VERBS, *work.VERBS, *handle.VERBS, *verbs.VERBS, *repolicy.VERBS, *unseal.VERBS, *upkeep.VERBS),
    _looks(),
):
    group.add_command(_command)
