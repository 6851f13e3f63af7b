"""Words that ``trailmesh capsule`` adds to results: warnings, and the ways in which a site logs in."""

from __future__ import annotations

from typing import Final

import click

from node.cli.base.common import Result

MALICE: Final = (
    "The policy binds a node that follows it. Whoever changes the software of the peer has the login in clear:"
    " only logging out on the site ends it then."
)
OTHER_WINDOWS: Final = "Try what needs the login before you close other windows: sites may end older logins."
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
    """Print how a site logs in."""
    click.echo(r["url"])
    if not r["kinds"]:
        click.echo("no login was found on this page: give the address of the form, or one that needs the login")
    for each in r["kinds"]:
        click.echo(f"  {each['what']:<13} {each['said']}\n{'':15} {_HELPS[each['what']]}")
    for each in r["weak"]:
        click.echo(f"  weak: {each['what']}: {each['said']}")
    for each in r.get("sound", ()):
        click.echo(f"  sound: {each['what']}: {each['said']}")
