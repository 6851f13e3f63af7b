"""Consent by effects manifest, through the command line: the owner's recording of a write, replayed here and elsewhere."""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.test_agents import agent, asks
from tests.e2e.test_replay_writes import _as_it_is, _Notes, _notes
from tests.mesh_nodes import ROOT, Node, cli, effects_of, refusal, serving, shop
from trailmesh.shop.catalogue import load_catalogue

pytestmark = pytest.mark.browser

_BUY = """
title: A mug
start: {url}/products/{slug}
steps:
  - click: {{role: button, name: Add to cart}}
"""

_ALL = """
title: All
start: {url}/
steps:
  - fill: {{role: textbox, name: Name, value: anna}}
  - fill: {{role: textbox, name: Password, value: {{secret: word}}}}
  - click: {{role: button, name: Log in}}
  - click: {{role: button, name: Remove}}
    expect: {{dialog: {{kind: confirm, text: "Delete it?", accept: yes}}}}
  - click: {{role: button, name: Tell}}
  - click: {{role: button, name: Keep}}
  - click: {{role: button, name: Place order}}
  - assert: {{text: Order placed}}
  - click: {{role: link, name: Close account}}
"""


def _digest(shown: str) -> str:
    (line,) = (line for line in shown.splitlines() if line.startswith("writes"))
    return line.split()[1]


def typed(answer: str, *arguments: str) -> tuple[int, str]:
    """Exit code of a command at a terminal, and what it says there: each question of it is answered."""
    ours, theirs = os.openpty()
    said = ""
    with subprocess.Popen(
        [sys.executable, "-m", "trailmesh", *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT
    ) as process:
        os.close(theirs)
        with contextlib.suppress(OSError):  # its end closes the terminal
            while read := os.read(ours, 4096).decode(errors="replace"):
                said += read
                if read.rstrip().endswith("[y/N]"):
                    os.write(ours, f"{answer}\n".encode())
    os.close(ours)
    return process.returncode, said


def test_a_replay_sends_once_what_its_owner_recorded_and_nobody_else_consents(tmp_path: Path) -> None:
    file, bundle = tmp_path / "buy.yaml", tmp_path / "buy.tmsession"
    with shop(tmp_path) as (url, log), serving(tmp_path, "anna", "bruno") as (anna, bruno):
        file.write_text(_BUY.format(url=url, slug=load_catalogue()[0].slug))
        session = anna.run("session", "record", str(file), "--allow", f"POST {url}/cart/add", "--approve-class", "4")[
            "id"
        ]
        shown = cli("session", "show", session, home=anna.home)[1]
        assert f"step 2 sends POST {url}/cart/add with quantity, slug, class 4" in shown
        assert len(effects_of(log)) == 1

        def replays(node: Node, writes: str) -> int:
            """How many effects a replay has."""
            before = len(effects_of(log))
            report = node.run("session", "replay", session, "--writes", writes)["report"]
            assert report["verdict"] == "pass"
            return len(effects_of(log)) - before

        assert replays(anna, "as-recorded") == 1
        assert replays(anna, _digest(shown)) == 1
        # A class alone names nothing.
        assert anna.run("session", "replay", session, "--approve-class", "7")["report"]["verdict"] == "partial"
        other = refusal("session", "replay", session, "--writes", f"sha256:{'0' * 64}", home=anna.home)
        assert other[:2] == ("replay.manifest", 2)

        inside = agent(anna, tmp_path, "inside", "--scope", "replay", "--scope", "read", "--origin", url)
        for writes in ("as-recorded", _digest(shown)):
            _, refused = asks(inside, "session", "replay", session, "--writes", writes, home=anna.home)
            assert refused["error"]["code"] == "caller.refused"

        anna.run("session", "export", session, "--out", str(bundle))
        bruno.run("session", "import", str(bundle))
        code, _, error = refusal("session", "replay", session, "--writes", "as-recorded", home=bruno.home)
        assert code == "replay.manifest"
        assert error["detail"]["digest"] == _digest(shown)
        assert replays(bruno, _digest(shown)) == 1
        assert len(effects_of(log)) == 4


def test_a_plan_says_all_that_a_file_or_a_replay_needs_and_sends_nothing(anna: Node, tmp_path: Path) -> None:
    file, bundle = tmp_path / "buy.yaml", tmp_path / "buy.tmsession"
    with shop(tmp_path) as (url, log):
        file.write_text(_BUY.format(url=url, slug=load_catalogue()[0].slug))
        status, out, _ = cli("session", "record", str(file), "--plan", home=anna.home)
        assert (status, effects_of(log)) == (0, [])
        lines = out.splitlines()
        assert f"sends    step 2: POST {url}/cart/add with quantity, slug, class 4" in lines
        options = f"--allow 'POST {url}/cart/add' --approve-class 4"
        assert lines[-1] == f"options  {options}"
        # The options are what it needs: with them it passes.
        session = anna.run("session", "record", str(file), *shlex.split(options))["id"]
        assert len(effects_of(log)) == 1

        status, out, _ = cli("session", "replay", session, "--plan", home=anna.home)
        assert (status, out.splitlines()[0]) == (
            0,
            f"sends    step 2: POST {url}/cart/add with quantity, slug, class 4",
        )
        needed = out.splitlines()[-1].removeprefix("options  ").split()
        anna.run("session", "export", session, "--out", str(bundle))
        key = anna.run("session", "trust-key")["key"]
        config = ("--trust", key, "--config", str(tmp_path / "anna.yaml"))
        assert cli("session", "replay", str(bundle), "--plan", *config)[1] == out
        assert len(effects_of(log)) == 1
        # A pull request brings a bundle, and the digest stands with whoever reviewed it.
        assert cli("session", "replay", str(bundle), *needed, *config)[0] == 0
        assert len(effects_of(log)) == 2
        code, status, _ = refusal("session", "replay", str(bundle), "--writes", "as-recorded", *config)
        assert (code, status) == ("replay.manifest", 2)
        report = tmp_path / "report"
        run = ("session", "run", str(bundle), *needed, *config, "--report", str(report))
        assert cli(*run)[0] == 0
        assert len(effects_of(log)) == 3


def test_a_plan_goes_on_after_what_cannot_be_done_and_names_all_that_it_meets(anna: Node, tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    page = """
      document.body.innerHTML = `<form method=post action=/login><label>Name <input name=user></label>
        <label>Password <input type=password name=password required></label><button>Log in</button></form>
        <button onclick="if (confirm('Delete it?')) fetch('/notes/7', {method: 'DELETE'})">Remove</button>
        <button onclick="navigator.sendBeacon('/seen', 'x')">Tell</button>
        <button onclick="fetch('/keep', {method: 'POST', body: new URLSearchParams({op: 'keep'})}).then(() => keep.innerHTML =
          '<button>Place order</button>')">Keep</button><p id=keep></p><a href="/account/close?id=7">Close account</a>`;
      fetch('/telemetry', {method: 'POST', body: 'a'});"""
    with _notes() as url, _as_it_is(more=page):
        _Notes.got.clear()
        file.write_text(_ALL.format(url=url))
        status, out, _ = cli("session", "record", str(file), "--plan", home=anna.home)
        assert (status, _Notes.got) == (0, [])
        lines = out.splitlines()
        assert [line for line in lines if line.startswith("sends")] == [
            f"sends    step 4: POST {url}/login with password, user, class 6",
            f"sends    step 5: DELETE {url}/notes/{{n}}, class 7",
            f"sends    step 6: POST {url}/seen, class 4",
            f"sends    step 7: POST {url}/keep with op=keep, class 4",
            f"sends    step 10: GET {url}/account/close?id, class 7",
        ]
        missed = [line.partition(": no")[0] for line in lines if line.startswith("missed")]
        assert missed == ["missed   step 8: click button “Place order”, class 5 by its words"]
        entries = ("POST {}/login", "DELETE {}/notes/7", "POST {}/seen", "POST {}/keep", "GET {}/account/close")
        allowed = " ".join(f"--allow '{each.format(url)}'" for each in entries)
        assert lines[-1] == f"options  --secret word@ORIGIN=SOURCE {allowed} --approve-class 7"


def test_at_a_terminal_a_recording_asks_once_for_each_form_and_sends_what_waited(tmp_path: Path) -> None:
    anna = Node(tmp_path / "anna", "anna").create(tmp_path)
    file = tmp_path / "buy.yaml"
    with shop(tmp_path) as (url, log):
        page = f"{url}/products/{load_catalogue()[0].slug}"
        add = "  - click: {role: button, name: Add to cart}\n"
        file.write_text(f"start: {page}\nsteps:\n{add}  - goto: {page}\n{add}")
        asks = f"step 2, click button “Add to cart”, sends POST {url}/cart/add with quantity, slug, class 4"
        for answer, status, effects in (("n", 1, 0), ("y", 0, 2)):
            ended, said = typed(answer, "session", "record", str(file), "--home", str(anna.home))
            assert said.count("allow in this recording? [y/N]") == said.count(asks) == 1
            assert (ended, len(effects_of(log))) == (status, effects), said
        # Who is asked here is not asked again as the owner.
        assert anna.run("approve", "ls")["questions"] == []
