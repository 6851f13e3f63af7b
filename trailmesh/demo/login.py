"""The chapter of the demo about a login: done once, used on another node under its policy, ended; and how to keep it instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from rich.text import Text

from trailmesh.demo.mesh import CommandFailed, MeshNode

USES: Final = 2
"""The limits of the exported login's policy."""
_STEPS: Final = """\
title: Sign in
start: {url}/login
steps:
  - fill: {{role: textbox, name: E-mail address, nth: 0, value: {email}}}
  - fill: {{role: textbox, name: Password, value: {{secret: word}}}}
  - click: {{role: button, name: Sign in}}
"""
_ACCOUNT: Final = """\
title: The account
start: {url}/account
steps:
  - assert: {{text: "Your account"}}
"""


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An account of the site, and what it is signed in to with."""

    url: str
    """The origin of the site."""
    email: str
    password: str


class LoginOutcome(msgspec.Struct, kw_only=True):
    """The results of the chapter."""

    capsule: str = ""
    uses: int = 0
    session: str = ""
    """The last one that was recorded with the login."""
    refused: str = ""
    """The code with which the use after the last one was refused."""
    told: tuple[str, ...] = ()
    """Who was told of the revocation."""
    revoked: str = ""
    """The code with which a use after the revocation was refused."""
    work: str = ""
    """The verdict of work that was moved to the login."""


class LoginChapter:
    """One run: ``holder`` logs in, ``other`` is given the login."""

    def __init__(self, directory: Path, account: Account, tell: Callable[[Text], None]) -> None:
        self._directory, self._account, self._tell = directory, account, tell
        self._steps = directory / "account.yaml"
        self.outcome = LoginOutcome()

    def promises(self) -> dict[str, bool]:
        """The conditions that must hold."""
        done = self.outcome
        return {
            "the login was used on another node as often as its policy allows": done.uses == USES,
            "one use more was refused": done.refused == "capsule.replays",
            "the other node was told of the revocation, and refuses": bool(done.told) and bool(done.revoked),
            "the work was done where the login is": done.work == "pass",
        }

    def run(self, holder: MeshNode, other: MeshNode) -> None:
        """The whole chapter. Raises ``CommandFailed``."""
        self._steps.write_text(_ACCOUNT.format(url=self._account.url))
        self._log_in(holder, "given", "--replays", str(USES), "--cross-installation", "--cross-device")
        self._give(holder, other)
        self._use(other)
        self._revoke(holder, other)
        self._move_the_work(holder, other)

    def _log_in(self, holder: MeshNode, name: str, *policy: str) -> None:
        url, word, steps = self._account.url, self._directory / "word.txt", self._directory / "login.yaml"
        steps.write_text(_STEPS.format(url=url, email=self._account.email))
        word.touch(mode=0o600)  # before it holds the password
        word.write_text(self._account.password)
        try:
            kept = holder.run(
                *("capsule", "login", f"{url}/account", "--name", name, "--with", str(steps)),
                *("--secret", f"word@{url}=@{word}", "--allow", f"POST {url}/login", "--approve-class", "6"),
                *("--purpose", "to read the account", "--task", "record", "--task", "replay", *policy),
            )
        finally:
            word.unlink()
        self.outcome.capsule = self.outcome.capsule or kept["id"]
        self._tell(
            Text(
                f"   {holder.name} logged in, and keeps the login sealed as “{kept['name']}” ({kept['state_bytes']} bytes):"
                f" {kept['proof'][0]}"
            )
        )

    def _give(self, holder: MeshNode, other: MeshNode) -> None:
        url, file = self._account.url, self._directory / "account.capsule"
        holder.run("node", "grant", other.name, f"capsule:import={url}")
        other.run("node", "grant", holder.name, f"capsule:offer={url}")
        holder.run("capsule", "export", "given", "--to", other.name, "--out", str(file))
        taken = other.run("capsule", "import", str(file))
        self._tell(
            Text(f"   {other.name} has it, of {taken['tenant_name']}, for {taken['policy']['replays_max']} uses")
        )

    def _use(self, other: MeshNode) -> None:
        for number in range(USES + 1):
            try:
                done = other.run("session", "record", str(self._steps), "--capsule", "given")
            except CommandFailed as error:
                self.outcome.refused = error.code
                self._tell(Text(f"   {other.name}, once more: {error.code}"))
                return
            self.outcome.uses += done["verdict"] == "pass"
            self.outcome.session = done["id"]
            self._tell(Text(f"   {other.name} recorded the account, use {number + 1}: {done['verdict']}"))

    def _revoke(self, holder: MeshNode, other: MeshNode) -> None:
        self.outcome.told = tuple(holder.run("capsule", "revoke", "given", "--yes")["told"])
        try:
            other.run("session", "record", str(self._steps), "--capsule", self.outcome.capsule)
        except CommandFailed as error:
            self.outcome.revoked = error.code
        self._tell(Text(f"   revoked; {', '.join(self.outcome.told)} was told, and refuses: {self.outcome.revoked}"))

    def _move_the_work(self, holder: MeshNode, other: MeshNode) -> None:
        self._log_in(holder, "kept")
        holder.run("node", "grant", other.name, f"login:use={self._account.url}")
        done = other.run("capsule", "work", holder.name, "--record", str(self._steps))
        self.outcome.work = done["verdict"]
        self._tell(Text(f"   {other.name} had {holder.name} do the work, and learned: {done['verdict']}, nothing else"))
