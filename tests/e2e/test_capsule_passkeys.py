"""Logins with a passkey that this node has registered itself, at a site that verifies them."""

from __future__ import annotations

import asyncio
import base64
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from adapters.ports.browser import Passkey
from node.capsules.logins import PASSKEY_DIRECTORY
from tests.canaries import found_in
from tests.mesh_nodes import Node, cli, refusal
from tests.passkey_site import PASSWORD, PasskeySite

pytestmark = pytest.mark.browser


def flow(directory: Path, site: PasskeySite, name: str, *steps: str) -> list[str]:
    file = directory / f"{name}.yaml"
    file.write_text(f"start: {site.origin}/login\nsteps:\n" + "".join(f"  - {step}\n" for step in steps))
    paths = ("/login", "/passkeys/new", "/passkeys/enter")
    return [
        *("capsule", "login", f"{site.origin}/account", "--name", name, "--with", str(file), "--approve-class", "7"),
        *(word for path in paths for word in ("--allow", f"POST {site.origin}{path}")),
    ]


def registering(directory: Path, site: PasskeySite) -> list[str]:
    (directory / "word").write_text(PASSWORD)
    steps = (
        "fill: {role: textbox, name: Password, value: {secret: word}}",
        "click: {role: button, name: Log in}",
        "click: {role: button, name: Add a passkey}",
        "wait: done",
    )
    words = [f"word=file:{directory}/word"]
    return [*flow(directory, site, "first", *steps), "--secret", *words]


def entering(directory: Path, site: PasskeySite, name: str = "second") -> list[str]:
    return flow(directory, site, name, "click: {role: button, name: Sign in with a passkey}", "wait: Welcome anna")


def and_fail(command: list[str]) -> list[str]:
    """``command``, whose file has one step more: it fails."""
    with Path(command[command.index("--with") + 1]).open("a") as file:
        file.write("  - assert: {text: Never said}\n")
    return command


async def done(*command: str, home: Path) -> Any:
    status, out, err = await asyncio.to_thread(cli, *command, "--json", home=home, timeout_s=120)
    assert status == 0, out + err
    return json.loads(out)


async def refused(*command: str, home: Path) -> str:
    return (await asyncio.to_thread(refusal, *command, home=home, timeout_s=120))[0]


async def test_a_node_registers_a_passkey_once_and_logs_in_with_it_and_no_other_node_can(
    anna: Node, tmp_path: Path
) -> None:
    other = Node(tmp_path / "bruno", "bruno").create(tmp_path)
    async with PasskeySite() as site:
        # Nothing is registered yet.
        assert await refused(*entering(tmp_path, site), "--passkey", home=anna.home) == "capsule.no_passkey"
        kept = await done(*registering(tmp_path, site), "--register-passkey", home=anna.home)
        assert (kept["registered"], len(site.keys)) == (1, 1)
        first = await done(*entering(tmp_path, site), "--passkey", home=anna.home)
        assert first["registered"] == 0 and "the page asks for a password" in first["proof"][0]
        await asyncio.to_thread(anna.start)
        await done(*entering(tmp_path, site, "third"), "--passkey", home=anna.home)
        # In a new process of the node, and the site sees its count go up.
        assert len(site.entered) == 2 and site.entered[0] < site.entered[1] and not site.refused
        # Without the option the browser has no passkey; another node registers its own.
        assert (await refused(*entering(tmp_path, site, "none"), home=anna.home)).startswith("action.")
        assert await refused(*entering(tmp_path, site), "--passkey", home=other.home) == "capsule.no_passkey"
        assert (await done(*registering(tmp_path, site), "--register-passkey", home=other.home))["registered"] == 1
        assert len(site.keys) == 2
    (file,) = (anna.home / PASSKEY_DIRECTORY).iterdir()
    assert file.stat().st_mode & 0o777 == 0o600 and (anna.home / PASSKEY_DIRECTORY).stat().st_mode & 0o777 == 0o700
    # It opens nowhere else, not even under the same name.
    (theirs,) = (other.home / PASSKEY_DIRECTORY).iterdir()
    theirs.write_bytes(file.read_bytes())
    async with PasskeySite() as site:
        assert await refused(*entering(tmp_path, site), "--passkey", home=other.home) == "capsule.no_passkey"
    await asyncio.to_thread(anna.stop)
    private = await _private(anna)
    everything = {str(path): path.read_bytes() for path in anna.home.rglob("*") if path.is_file()}
    backup = tmp_path / "backup"
    await done("node", "backup", str(backup), home=anna.home)
    everything["backup"] = backup.read_bytes()
    forms = {"private": private, "text": base64.b64encode(private)}
    assert not [name for name, data in everything.items() if found_in(data, forms)]
    with tarfile.open(backup) as packed:
        names = packed.getnames()
    assert "store.db" in names and not [name for name in names if PASSKEY_DIRECTORY in name]


async def _private(node: Node) -> bytes:
    """The private key, opened as the node opens it."""
    from node.process.wiring import open_node

    async with open_node(node.home) as opened:
        (key,) = await opened.rooms.sealed.logins._passkeys.lend("http://localhost:1/")
    assert isinstance(key, Passkey) and len(key.private) > 100
    return key.private


async def test_a_passkey_is_kept_as_soon_as_it_was_made_and_proven_by_a_login_with_it(
    anna: Node, tmp_path: Path
) -> None:
    listing, removing = ("capsule", "passkey", "ls"), ("capsule", "passkey", "rm")
    async with PasskeySite() as site:
        assert (await done(*listing, home=anna.home))["passkeys"] == []
        # The site has made it, and the steps after it fail.
        failing = and_fail(registering(tmp_path, site))
        assert (await refused(*failing, "--register-passkey", home=anna.home)).startswith("action.")
        assert len(site.keys) == 1 and (await done("capsule", "ls", home=anna.home))["capsules"] == []
        (kept,) = (await done(*listing, home=anna.home))["passkeys"]
        assert (kept["site"], kept["account"], kept["proven"], kept["used_ms"]) == ("localhost", "anna", False, 0)
        assert kept["made_ms"] > 0
        # A flow that uses it and comes to no login proves nothing.
        failing = and_fail(entering(tmp_path, site, "third"))
        assert (await refused(*failing, "--passkey", home=anna.home)).startswith("action.")
        (kept,) = (await done(*listing, home=anna.home))["passkeys"]
        assert kept["used_ms"] >= kept["made_ms"] and not kept["proven"]
        await done(*entering(tmp_path, site), "--passkey", home=anna.home)
        (kept,) = (await done(*listing, home=anna.home))["passkeys"]
        assert kept["proven"] and not site.refused
        status, out, _ = await asyncio.to_thread(cli, *listing, home=anna.home)
        assert status == 0 and "localhost" in out and "anna" in out
        # Nobody is there to confirm it.
        assert (await asyncio.to_thread(cli, *removing, kept["id"], home=anna.home))[0] != 0
        assert await refused(*removing, "0" * 12, "--yes", home=anna.home) == "input.not_found"
        await asyncio.to_thread(anna.stop)
        private = await _private(anna)
        assert (await done(*removing, kept["id"], "--yes", home=anna.home))["id"] == kept["id"]
        assert (await done(*listing, home=anna.home))["passkeys"] == []
        assert await refused(*entering(tmp_path, site, "fourth"), "--passkey", home=anna.home) == "capsule.no_passkey"
        rows = (await done("audit", "--what", "passkey.remove", home=anna.home))["rows"]
        assert kept["id"] in {row["subject"] for row in rows}
    everything = {str(path): path.read_bytes() for path in anna.home.rglob("*") if path.is_file()} | {
        "out": out.encode()
    }
    assert not [name for name, data in everything.items() if found_in(data, {"private": private})]
