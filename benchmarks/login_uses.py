"""Logs in once on one node and uses the login on two, over everything that lies between them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.live_mesh import LiveNode
from tests.sites.mechanisms import PASSWORD, USER, WELCOME, MechanismSite


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """How somebody logs in to a site, and what shows then."""

    name: str
    origin: str
    start: str
    """Path of the page with the form."""
    page: str
    """Path of a page that needs the login."""
    steps: tuple[str, ...]
    shows: str
    posts: str
    """Path that the form is sent to."""
    password: str
    until: dict[str, Any] = {}
    moves: bool = False
    """True if the work is moved to the login instead of the login to the work."""


def way_of(site: MechanismSite) -> Way:
    """The way of one of the sites of our own."""
    by_script = site.name in ("local-token", "database-token", "software-key")
    return Way(
        name=site.name,
        origin=site.origin,
        start="/account" if by_script else "/login",
        page="/account",
        steps=(
            f"fill: {{role: textbox, name: Name, value: {USER}}}",
            "fill: {role: textbox, name: Password, value: {secret: word}}",
            "click: {role: button, name: Log in}",
            f"wait: {WELCOME}",
        ),
        shows=WELCOME,
        posts="/api/login" if by_script else "/login",
        password=PASSWORD,
        moves=site.name == "rotating",
    )


async def grant(anna: LiveNode, bruno: LiveNode, origin: str) -> None:
    """Let Bruno import from Anna, and have work done there."""
    for node, peer, scopes in (
        (anna, "bruno", ("capsule:import", "login:use")),
        (bruno, "anna", ("capsule:offer",)),
    ):
        await node.run("node.grant", peer=peer, grants=[f"{scope}={origin}" for scope in scopes])


async def log_in(node: LiveNode, way: Way, **policy: Any) -> dict[str, Any]:
    """The capsule of a login that is done now."""
    lines = "".join(f"  - {step}\n" for step in way.steps)
    given: dict[str, Any] = {
        "url": way.origin + way.page,
        "name": way.name,
        "actions": f"title: Log in\nstart: {way.origin}{way.start}\nsteps:\n{lines}",
        "secrets": {"word": {"value": way.password, "origins": [way.origin]}},
        "allow": [f"POST {way.origin}{way.posts}"],
        "approve_class": 7,
        "cross_installation": True,
        "cross_device": True,
        "replays_max": 1_000,
    }
    if way.until:
        given["until"] = way.until
    kept: dict[str, Any] = await node.run("capsule.login", **given | policy)
    return kept


async def give(anna: LiveNode, bruno: LiveNode, way: Way, file: Path) -> None:
    """Export it to Bruno, who imports it."""
    await anna.run("capsule.export", capsule=way.name, to="bruno", out=str(file))
    await bruno.run("capsule.import", file=str(file))


def actions_of(way: Way) -> str:
    """Work that succeeds only with the login."""
    text = json.dumps(way.shows)
    return f"title: Account\nstart: {way.origin}{way.page}\nsteps:\n  - wait: {text}\n  - assert: {{text: {text}}}\n"


async def use(node: LiveNode, way: Way, *, at: str = "") -> bool:
    """True if one use shows the page of a logged-in user. at: let this peer do the work."""
    if at:
        done = await node.run("capsule.work", peer=at, actions=actions_of(way))
    else:
        done = await node.run("session.record", actions=actions_of(way), capsule=way.name)
    return bool(done["verdict"] == "pass")
