"""``trailmesh demo``: records a session, replays it, and replays it on the next release of the shop, where the mug is sold out."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from trailmesh.demo.mesh import COMMAND, CommandFailed, write_config
from trailmesh.demo.site import shop

SOLD_OUT: Final = "tidewater-mug-blue"
FLOW: Final = """\
title: The Tidewater mug can be bought
start: {url}/
steps:
  - fill: {{role: searchbox, name: Search products, value: tidewater}}
  - press: {{role: searchbox, name: Search products, key: Enter}}
  - click: {{role: heading, name: "Tidewater Mug, Blue"}}
  - extract: {{as: price, selectors: ["css=.price.large"], type: money}}
  - assert: {{role: button, name: Add to cart, enabled: yes}}
"""
PROMISES: Final = (
    "the recording passed",
    "its signature verified",
    "the replay on the same release passed",
    "the replay on the next release found the difference",
)
_DIFFERENT: Final = 1


class ReleaseCheck:
    """One run in an empty directory. Each command is printed before it runs, so that a reader can repeat it."""

    def __init__(self, directory: Path, say: Callable[[str], None], *, quiet: bool) -> None:
        """quiet: nothing of the commands' own output is shown."""
        self.directory = directory
        self._say = say
        self._quiet = quiet
        self._home = directory / "node"

    def run(self) -> dict[str, Any]:
        """The whole check: ``promises`` says of each whether it held. Raises ``CommandFailed``."""
        began = time.monotonic()
        with shop() as before, shop("--sold-out", SOLD_OUT) as after:
            flow = self.directory / "mug.yaml"
            flow.write_text(FLOW.format(url=before))
            config = write_config(self.directory / "config.yaml")
            self._command(
                "node", "init", "--config", str(config), heading="A node: a signing key and a database", hidden=True
            )
            recorded = self._command(
                "session", "record", str(flow), heading="Record what the file says, as a signed session"
            )
            session = self._newest()
            verified = self._command("session", "verify", session, heading="Verify the signature")
            same = self._command("session", "replay", session, heading="Replay on the same release: all is well")
            page = self.directory / "difference.html"
            arguments = ("session", "replay", session, "--base-url", after, "--html", str(page))
            other = self._command(
                *arguments, heading="Replay on the next release: the mug is sold out", expected=_DIFFERENT
            )
        held = dict(
            zip(PROMISES, (recorded == 0, verified == 0, same == 0, other == _DIFFERENT and page.exists()), strict=True)
        )
        return {
            "directory": str(self.directory),
            "session": session,
            "report": str(page),
            "promises": held,
            "seconds": round(time.monotonic() - began, 1),
        }

    def _command(self, *arguments: str, heading: str, hidden: bool = False, expected: int = 0) -> int:
        """Run one command and return its exit code. hidden: its output is shown only if it fails."""
        self._say(f"\n# {heading}")
        self._say(f"$ trailmesh {shlex.join(arguments)}")
        captured = hidden or self._quiet
        done = subprocess.run(
            self._at_home(arguments), capture_output=captured, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode in (0, expected):
            return done.returncode
        if captured:
            sys.stderr.write(done.stderr)
        raise CommandFailed(arguments, done.returncode, "", "this command should have worked", {})

    def _newest(self) -> str:
        listed = subprocess.run(self._at_home(["session", "ls", "--json"]), capture_output=True, text=True, check=True)
        session: str = json.loads(listed.stdout)["sessions"][0]["id"]
        return session

    def _at_home(self, arguments: Sequence[str]) -> list[str]:
        return [*COMMAND, *arguments, "--home", str(self._home)]
