"""Secrets from where they are kept, and one-time codes, in a login to a real site."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.auth_site import PASSWORD, SEED, USER, AuthSite
from tests.canaries import found_in
from tests.mesh_nodes import ROOT, Node, cli, refusal

pytestmark = pytest.mark.browser
_PASSWORD_STEPS = f"""\
  - fill: {{role: textbox, name: Name, value: {USER}}}
  - fill: {{role: textbox, name: Password, value: {{secret: word}}}}
  - click: {{role: button, name: Log in}}
"""
_CODE_STEPS = """\
  - fill: {role: textbox, name: Code, value: {secret: otp}}
  - click: {role: button, name: One-time code}
"""


def flow(directory: Path, origin: str, steps: str) -> Path:
    file = directory / "flow.yaml"
    file.write_text(f"title: Log in\nstart: {origin}/login\nsteps:\n{steps}")
    return file


def allowed(origin: str, *paths: str) -> list[str]:
    return [word for path in paths for word in ("--allow", f"POST {origin}{path}")] + ["--approve-class", "7"]


def printing(directory: Path, name: str, text: str) -> str:
    """A command line that prints ``text``, complains with it, and leaves a mark that it ran."""
    script = directory / f"{name}.py"
    script.write_text(
        f"import sys, pathlib\npathlib.Path({str(directory / (name + '.ran'))!r}).touch()\n"
        f"print({text!r})\nprint('warning:', {text!r}, file=sys.stderr)\n"
    )
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"


async def test_a_command_and_a_variable_give_secrets_and_only_what_the_flow_uses_is_asked(
    anna: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word, other = printing(tmp_path, "word", PASSWORD), printing(tmp_path, "other", "never-asked-for")
    async with AuthSite(totp=True) as site:
        monkeypatch.setenv("MY_SEED", SEED)
        command = [
            *("capsule", "login", f"{site.origin}/account", "--name", "shop"),
            *("--with", str(flow(tmp_path, site.origin, _PASSWORD_STEPS + _CODE_STEPS))),
            *("--secret", f"word=cmd:{word}", "--secret", f"other=cmd:{other}", "--secret", "otp=totp:env:MY_SEED"),
            *allowed(site.origin, "/login", "/code"),
        ]
        status, out, err = await asyncio.to_thread(cli, *command, home=anna.home, timeout_s=120)
        assert status == 0, out + err
        assert (tmp_path / "word.ran").exists() and not (tmp_path / "other.ran").exists()
        # The second login comes within the same half minute, and the site takes no code twice: it waits for the next.
        again = [*command, "--replaces", "shop"]
        again[again.index("--name") : again.index("--name") + 2] = []
        status, out2, err2 = await asyncio.to_thread(cli, *again, home=anna.home, timeout_s=120)
        assert status == 0, out2 + err2
        first, second = site.codes_taken
        assert first != second
    shown = (out + err + out2 + err2).encode()
    files = {str(path): path.read_bytes() for path in anna.home.rglob("*") if path.is_file()}
    kept = {"word": PASSWORD.encode(), "seed": SEED.encode()}
    assert not [name for name, data in (files | {"output": shown}).items() if found_in(data, kept)]
    assert anna.run("capsule", "ls")["capsules"][0]["name"] == "shop"
    codes = {"first": first.encode(), "second": second.encode()}
    assert not [name for name, data in (files | {"output": shown}).items() if found_in(data, codes)]
    for each in anna.run("session", "ls")["sessions"]:
        assert each["secrets"] == ["otp", "word"]


async def test_a_person_is_asked_on_the_terminal_without_an_echo(anna: Node, tmp_path: Path) -> None:
    async with AuthSite() as site:
        file = flow(tmp_path, site.origin, _PASSWORD_STEPS)
        command = ["session", "record", str(file), "--secret", "word=prompt:", *allowed(site.origin, "/login")]
        # Without a terminal nobody can answer: it is said, and nothing is begun.
        code, _, error = await asyncio.to_thread(refusal, *command, home=anna.home)
        assert code == "secret.unread" and "no terminal" in error["message"]
        assert not site.reached
        status, seen = await asyncio.to_thread(_typed, [*command, "--home", str(anna.home)], PASSWORD)
        assert status == 0, seen
        assert "Secret word" in seen and PASSWORD not in seen
        assert "GET /account" in site.reached


def _typed(command: list[str], answer: str) -> tuple[int, str]:
    """Exit code and terminal of a command, to which a person answers once it asks."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "trailmesh", *command], stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT,
        start_new_session=True, preexec_fn=_take_terminal,
    )  # fmt: skip
    os.close(theirs)
    seen = ""
    answered = False
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data.decode(errors="replace")
        if not answered and "Secret word" in seen:
            os.write(ours, answer.encode() + b"\n")
            answered = True
    os.close(ours)
    return process.wait(timeout=120), seen


def _take_terminal() -> None:
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def test_a_replay_asks_for_what_the_session_needs_and_a_literal_is_refused_unseen(
    anna: Node, tmp_path: Path
) -> None:
    word, other = printing(tmp_path, "word", PASSWORD), printing(tmp_path, "other", "never-asked-for")
    async with AuthSite() as site:
        file = flow(tmp_path, site.origin, _PASSWORD_STEPS)
        given = ["--secret", f"word=cmd:{word}", "--secret", f"other=cmd:{other}", *allowed(site.origin, "/login")]
        status, out, err = await asyncio.to_thread(
            cli, "session", "record", str(file), *given, "--json", home=anna.home
        )
        assert status == 0, out + err
        session = json.loads(out)["id"]
        (tmp_path / "word.ran").unlink()
        status, out, err = await asyncio.to_thread(cli, "session", "replay", session, *given, home=anna.home)
        assert status == 0, out + err
        assert (tmp_path / "word.ran").exists() and not (tmp_path / "other.ran").exists()
        literal = ["session", "record", str(file), "--secret", f"word={PASSWORD}"]
        code, exit_code, error = await asyncio.to_thread(refusal, *literal, home=anna.home)
        assert (code, exit_code) == ("secret.literal", 2) and PASSWORD not in json.dumps(error)
