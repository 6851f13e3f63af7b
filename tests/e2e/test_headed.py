"""``session record --attach``: what a person does in a window becomes an action file, and the file a session."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from tests.forked import Forked
from tests.mesh_nodes import CONFIG, ROOT, Node, cli, shop
from tests.person import Person, person_at
from tests.sites.pages.backends import running_chromium
from tests.sites.shop import ShopConfig

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
_WAIT_S = 20.0


class Desk:
    """A recording at work: the command, its file, and the person."""

    def __init__(self, process: subprocess.Popen[str], file: Path, person: Person) -> None:
        self.process, self.file, self.person = process, file, person

    async def noted(self, line: str) -> None:
        """Wait until the file has ``line``."""
        async with asyncio.timeout(_WAIT_S):
            try:
                while line not in self.file.read_text():  # noqa: ASYNC110 (another process writes it)
                    await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                raise AssertionError(f"{line!r} is not in\n{self.file.read_text()}") from None

    async def end(self) -> tuple[str, str]:
        """What the command said, ended by Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(self.process.communicate, timeout=_WAIT_S)
        assert self.process.returncode == 0, err
        return out, err


async def began(process: subprocess.Popen[str]) -> None:
    """Wait until the command says that the person may begin."""
    assert process.stderr is not None
    async with asyncio.timeout(_WAIT_S):
        line = await asyncio.to_thread(process.stderr.readline)
    assert "recording at" in line, line


async def test_what_a_person_does_is_a_file_that_replays_to_the_same_page(tmp_path: Path) -> None:
    """Guard: adapters/browser/watch_script.py, typed."""
    config, file = tmp_path / "config.yaml", tmp_path / "mugs.yaml"
    config.write_text(CONFIG)
    known = ShopConfig()
    with shop(tmp_path) as (there, _):
        async with running_chromium() as (endpoint, _):
            begin = (
                "session",
                "record",
                f"{there}/login",
                "--attach",
                endpoint,
                "--output",
                str(file),
                "--config",
                str(config),
            )
            with Forked(begin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
                try:
                    await began(process)
                    async with person_at(endpoint, there) as person:
                        desk = Desk(process, file, person)
                        await person.click("#login-email")
                        await person.type(known.user_email)
                        await desk.noted(f"value: {known.user_email}")
                        await person.click("#login-password")
                        await person.type(known.password)
                        await desk.noted("value: {secret: password}")
                        await person.press("Enter")
                        await person.reads("/account")
                        await person.click("#site-search")
                        await person.type("mug")
                        await person.press("Enter")
                        await desk.noted("press: {role: searchbox, name: Search products, key: Enter}")
                        await person.reads("/products")
                        await person.click("article:nth-of-type(1) button")
                        await desk.noted("Quick view")
                        await person.sees("document.querySelector('#quick-dialog').open")
                        await person.press("Escape")
                        await person.sees("!document.querySelector('#quick-dialog').open")
                        await person.click("footer a[href='/contact']")
                        await desk.noted("Contact")
                        await person.reads("/contact")
                        await person.click("#contact-method")
                        await person.press("Escape")
                        await person.send(
                            "Runtime.evaluate", expression="document.querySelector('#contact-method').focus()"
                        )
                        await person.send(
                            "Input.dispatchKeyEvent",
                            type="rawKeyDown",
                            key="ArrowDown",
                            code="ArrowDown",
                            windowsVirtualKeyCode=40,
                        )
                        await desk.noted("select: ")
                        last = await person.sees("location.href")
                        out, err = await desk.end()
                finally:
                    process.kill()
        written = file.read_text()
        assert known.password not in written + out + err
        assert "# " not in written, "every step was named on the page that it was done on"
        assert (err.count("with “demo"), err.count("click searchbox")) == (1, 0), "letters make one step"
        assert cli("actions", "check", str(file))[0] == 0
        (secret := tmp_path / "secret.txt").write_text(known.password)
        node = Node(tmp_path / "anna", "anna").create(tmp_path)
        command = shlex.split(out.split("trailmesh ", 1)[1].replace("=@FILE", f"=@{secret}").replace("\\\n", ""))
        status, told, err = cli(*command, "--json", home=node.home)
        assert status == 0, told + err
        recorded = json.loads(told)
        assert recorded["verdict"] == "pass", recorded["reason"]
        shown = json.loads(cli("session", "show", recorded["id"], "--json", home=node.home)[1])
        assert shown["steps"][-1]["url"] == last
