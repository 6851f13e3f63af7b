"""What ``trailmesh capsule`` prints: names, counts, sizes, hosts and times; never a value."""

from __future__ import annotations

from typing import Final

import click

from node.base import counted
from node.cli.base.common import Result, moment, table
from protocol.capsule.policy import class_in_words, presses_in_words

_MALICE: Final = (
    "The policy binds a node that follows it. Whoever changes the software of the peer has the login in clear:"
    " only logging out on the site ends it then."
)


_NOTES: Final = {
    "lost": "not taken at the capture",
    "key-bound": "bound to a key that only its own browser has",
    "sliced": "in files of the browser's profile",
    "basic": "user name and password for basic authentication, for this origin alone",
    "session-storage": "sessionStorage: the first tab begins with it, no other",
    "partitioned-storage": "storage of a frame, kept apart for the site on top",
    "partitioned-cookie": "partitioned cookie",
    "ends-soon": "ends within a day",
    "ended": "has ended",
    "in-clear": "is sent without encryption too",
    "size": "large",
}
_NO_FRAME: Final = "storage of a frame, which no fresh browser begins with"


_HELPS: Final = {
    "form": "`capsule login` with a file or a window",
    "sso": "`capsule login` in a window; name the site's own origin as URL",
    "passkey": "`capsule login` in a window; passkeys are never exported",
    "code": "`capsule login` in a window, with --mfa-now",
    "captcha": "`capsule login` in a window: only a person passes it",
    "device-bound": "an exported capsule may not work: let the node with the login do the work (`capsule work`)",
    "basic": "`capsule capture` with --secret NAME:basic@ORIGIN=SOURCE, and --page",
}


def show_probed(r: Result) -> None:
    """How a site logs in."""
    click.echo(r["url"])
    if not r["kinds"]:
        click.echo("no login was found on this page: give the address of the form, or one that needs the login")
    for each in r["kinds"]:
        click.echo(f"  {each['what']:<13} {each['said']}\n{'':15} {_HELPS[each['what']]}")
    for each in r["weak"]:
        click.echo(f"  weak: {each['what']}: {each['said']}")
    for each in r.get("sound", ()):
        click.echo(f"  sound: {each['what']}: {each['said']}")


def rules(policy: Result) -> list[str]:
    """A policy, line by line."""
    uses = counted(policy["replays_max"], "use")
    lines = [
        f"purpose  {policy['purpose'] or 'not said'}",
        f"origins  {', '.join(policy['origins'])}",
        f"work     {', '.join(policy['tasks'])}",
        f"sends    {class_in_words(policy['class_max'])}",
        f"ends     {moment(policy['expires_ms'])} UTC, or after {uses}",
        f"without word from its issuer  {policy['fresh_s']} s",
    ]
    if policy["mfa_s"]:
        lines.append(f"second factor  at most {policy['mfa_s']} s old")
    where = [name for name, on in (("machines", policy["cross_device"]), ("nodes", policy["cross_installation"])) if on]
    lines.append(f"on other {' and '.join(where)}" if where else "on this machine, by this node")
    if policy["consent"]:
        lines.append("needs the consent of an owner")
    lines.append(presses_in_words(probes=policy["probes"]))
    return lines


def show_changed_policy(r: Result) -> None:
    """A capsule under its new policy, and what ended with the old one."""
    show_capsule(r["capsule"])
    if r["widened"]:
        click.echo(
            f"allows more than before: {', '.join(r['widened'])}; grants to agents and offers to peers have ended"
        )
    if r["consents"]:
        click.echo(f"ended: {counted(r['consents'], 'consent')}, given on other terms")
    for name in r["to_give_anew"]:
        click.echo(f"{name} uses its copy no more: trailmesh capsule export {r['capsule']['name']} --to {name}")


def show_capsule(r: Result) -> None:
    """One capsule."""
    click.echo(f"{r['id']}  {r['name']}  generation {r['generation']}, captured by {r['tenant_name']}")
    for each in r["origins"]:
        parts = (
            counted(each["cookies"], "cookie"),
            f"{each['local']} local and {each['session']} session entries",
            counted(each["databases"], "database"),
            *(["basic authentication"] if each["basic"] else []),
        )
        click.echo(f"  {each['origin']}: {', '.join(parts)}")
    for line in rules(r["policy"]):
        click.echo(line)
    if r.get("slice_version"):
        size = sum(each["slice"] for each in r["origins"])
        click.echo(f"slice    {size} bytes of a browser's profile, for version {r['slice_version']} alone")
    if r.get("page"):
        click.echo(f"page     {r['page']}")
    if r.get("ended"):
        click.echo(f"ended    {r['ended']}: it is not used any more")
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


def show_captured(r: Result) -> None:
    """A capsule that was captured."""
    show_capsule(r)
    if r["left_out"]:
        click.echo(f"left out {counted(r['left_out'], 'cookie or storage', 'cookies and storages')} of other origins")
    show_proof(r)
    click.echo("A file that it was captured from still holds the login in clear: delete it.")


def show_proof(r: Result) -> None:
    """What showed that it is a login."""
    if r["not_needed"]:
        parts = counted(r["not_needed"], "cookie or entry", "cookies and entries")
        click.echo(f"left out {parts} that the page does not need (--whole keeps them)")
    for reason in r["proof"]:
        click.echo(f"{r['proven']:<8} {reason}")


def show_logged_in(r: Result) -> None:
    """A login that was kept."""
    show_capsule(r)
    show_proof(r)
    if r["session"]:
        click.echo(f"the login was recorded as {r['session']}")
    else:
        click.echo("Try what needs the login before you close other windows: sites may end older logins.")
    if r["registered"]:
        click.echo(f"registered {counted(r['registered'], 'passkey')} of this node: --passkey logs in with it")


def show_work(r: Result) -> None:
    """The verdict about work at a peer."""
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


def show_offered(r: Result) -> None:
    """Who may request cookies."""
    names = ", ".join(r["offered"]) or "nobody"
    click.echo(f"the cookies of {r['name']} ({r['id']}) can be requested by: {names}")
    if r["offered"]:
        click.echo(_MALICE)


def show_requested(r: Result) -> None:
    """Cookies that a peer has answered with."""
    show_capsule(r)
    click.echo(f"attested by {r['attested_by']}, and scanned here with the same result")


def show_list(r: Result) -> None:
    """The capsules of this node."""
    if not r["capsules"]:
        click.echo("no capsules yet: `trailmesh capsule login URL`, or `trailmesh capsule capture --from FILE`")
        return
    rows = [
        [
            each["id"],
            each["name"],
            each["tenant_name"],
            f"{each['uses']} of {each['policy']['replays_max']}",
            each.get("ended") or moment(each["policy"]["expires_ms"]),
        ]
        for each in r["capsules"]
    ]
    table("capsules", ["id", "name", "captured by", "used", "ends (UTC)"], rows)


def show_exported(r: Result) -> None:
    """A capsule that was written for a peer."""
    click.echo(f"wrote {r['out']}: {r['name']} for {r['to']}, {r['bytes']} bytes")
    click.echo(f"It opens there until {moment(r['key_ends_ms'])} UTC.")
    if r["slice_version"]:
        click.echo(
            f"It is mounted there by version {r['slice_version']} of the browser alone, after an import with --slice."
        )
    click.echo(_MALICE)


def show_unsealed(r: Result) -> None:
    """A login that was written in clear."""
    click.echo(f"wrote {r['out']}: {r['name']} in clear, {counted(r['cookies'], 'cookie')}, {r['bytes']} bytes")
    for origin in r["origins"]:
        click.echo(f"  storage of {origin}")
    for what in r["left_out"]:
        click.echo(f"  left out  {what}")
    click.echo(f"left     {counted(r['uses_left'], 'use')}")
    click.echo(r["warning"])


def show_revoked(r: Result) -> None:
    """A capsule that has ended."""
    click.echo(f"revoked {r['id']}")
    for name in r["told"]:
        click.echo(f"  {name} has confirmed it")
    for name in r["not_told"]:
        click.echo(f"  {name} was not reached: it learns it at its next use, at the latest after the freshness window")

    if r["pressed"]:
        click.echo(f"pressed “{r['pressed']}” on the site")
    if r["evidence"]:
        click.echo(f"the login on the site is {'dead' if r['dead'] else 'not seen to be dead'}: {r['evidence']}")


def show_checked(r: Result) -> None:
    """Whether a login works."""
    click.echo(f"{r['id']}  {r['name']}: {r['verdict']}")
    click.echo(f"seen     {r['page']}: {r['evidence']}")
    click.echo(f"left     {counted(r['uses_left'], 'use')}, until {moment(r['expires_ms'])} UTC")
    for origin in r["offers"]:
        click.echo(f"  {origin} offers to bind sessions to a device: a bound one soon ends in any other browser")
    for each in r["notes"]:
        kept = each["kind"] == "partitioned-storage" and not each["travels"]
        click.echo(f"  {_NO_FRAME if kept else _NOTES[each['kind']]}: {each['what']}")


def show_refreshed(r: Result) -> None:
    """A capsule with its newest state."""
    show_capsule(r)
    click.echo("sealed newer state" if r["renewed"] else "the site has changed nothing: there is no newer state")
    for name in r["export_again"]:
        click.echo(
            f"  {name} holds an older generation: export it again, `trailmesh capsule export {r['id']} --to {name}`"
        )
