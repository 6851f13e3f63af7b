"""What the commands that make, run, check and key a node say, over real data directories."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from node.cli import main
from node.cli.nodes.keys import _key_number, _show_change, _show_revoked
from node.cli.nodes.node import _log_in_words, _show_doctor, _show_init, _way
from node.process import client, runtime
from node.process.setup import init_home
from protocol.errors import MeshError
from tests.commands import Answers
from tests.tables import each

WORDS = " ".join(f"word{number}" for number in range(1, 25))


def trailmesh(*words: str, environment: dict[str, str] | None = None) -> Result:
    """One command."""
    return CliRunner().invoke(main, [*words], env=environment, catch_exceptions=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A new node, with its recovery key beside it."""
    made = tmp_path / "home"
    init_home(made, name="anna", listen="127.0.0.1:7443", config_file=None, recovery_out=str(tmp_path / "r.txt"))
    return made


# --- init ------------------------------------------------------------------------------------------------------------


def test_a_new_node_is_shown_with_its_words_in_rows_of_four(capsys: pytest.CaptureFixture[str]) -> None:
    made = {"node": "NODE", "name": "anna", "home": "/h", "listen": "127.0.0.1:1", "recovery_file": "/r.txt"}
    _show_init(made, WORDS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:7] == [
        "node    NODE",
        "name    anna",
        "home    /h",
        "listen  127.0.0.1:1",
        "",
        "recovery key, shown only once; also in /r.txt: move that file offline",
        "",
    ]
    assert [line.split() for line in lines[7:13]] == [
        [text for number in range(row, row + 4) for text in (f"{number}.", f"word{number}")] for row in range(1, 25, 4)
    ]
    assert lines[13:] == ["", "next: `trailmesh node doctor`, then `trailmesh node serve`"]


def test_a_node_is_made_as_its_options_say(tmp_path: Path) -> None:
    made, kept = tmp_path / "h", tmp_path / "kept.txt"
    options = ["--home", str(made), "--name", "anna", "--listen", "127.0.0.1:7443", "--recovery-out", str(kept)]
    done = trailmesh("node", "init", *options, "--json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["name"], told["listen"], told["home"]) == (0, "anna", "127.0.0.1:7443", str(made))
    assert "recovery_words" not in told and told["recovery_file"] == str(kept) and kept.exists()
    done = trailmesh("node", "init", *options)
    assert (done.exit_code, done.stdout) == (2, "") and "[node.already_initialised]" in done.stderr


@pytest.mark.parametrize("way", ["option", "environment"])
def test_a_key_is_sealed_with_a_passphrase_file_however_it_is_named(tmp_path: Path, way: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("short")  # refused: so it was read
    words = ["node", "init", "--home", str(tmp_path / "h")]
    environment = {"TRAILMESH_PASSPHRASE_FILE": str(secret)} if way == "environment" else {}
    if way == "option":
        words += ["--passphrase-file", str(secret)]
    done = trailmesh(*words, environment=environment)
    assert done.exit_code == 2 and "a new passphrase must have" in done.stderr
    assert not (tmp_path / "h" / "witness.key").exists() and not list(tmp_path.glob("*recovery*"))


def test_a_keyring_leaves_the_passphrase_file_of_the_environment_alone_but_not_one_that_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[bool, bool]] = []

    def made(home: Path, *, passphrase: Any, keyring: bool, **more: Any) -> dict[str, Any]:
        seen.append((passphrase is not None, keyring))
        raise MeshError("key.locked")

    monkeypatch.setattr("node.process.setup.init_home", made)
    (tmp_path / "s").touch()
    environment = {"TRAILMESH_PASSPHRASE_FILE": str(tmp_path / "s")}
    for words in (["--keyring"], ["--keyring", "--passphrase-file", str(tmp_path / "s")], []):
        trailmesh("node", "init", "--home", str(tmp_path / "h"), *words, environment=environment)
    assert seen == [(False, True), (True, True), (True, False)]


# --- serve -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_a_node_that_is_ready_says_where_and_one_that_is_stopped_has_ended_well(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    info = {"node": "NODE", "name": "anna", "short": "NODEABC", "address": "https://127.0.0.1:7443", "home": str(home)}
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    monkeypatch.setattr(gc, "collect", lambda: frozen.append(False))

    async def serve(at: Path, ready: Any, passphrase: Any, *, idle_s: int, sandbox: bool) -> None:
        assert (at, idle_s, sandbox) == (home, 0, True)
        ready(info)
        raise KeyboardInterrupt

    monkeypatch.setattr(runtime, "serve", serve)
    done = trailmesh("node", "serve", "--home", str(home), *words)
    assert (done.exit_code, done.stderr, frozen) == (0, "stopped\n", [False, True])
    if words:
        assert json.loads(done.stdout) == info
    else:
        assert done.stdout == "node anna NODEABC serves peers at https://127.0.0.1:7443\n"


# --- doctor, metrics, peers ------------------------------------------------------------------------------------------


def check(status: str, remedy: str) -> dict[str, str]:
    return {"name": "store", "status": status, "finding": "found", "remedy": remedy}


def test_a_remedy_is_shown_for_what_is_not_well(capsys: pytest.CaptureFixture[str]) -> None:
    _show_doctor({"checks": [check(status, remedy) for status in ("ok", "warn", "fault") for remedy in ("", "do")]})
    marks = {"ok": "✓", "warn": "!", "fault": "✗"}
    lines = [f"{mark} store          found" for mark in marks.values()]
    shown = [lines[0], lines[0], lines[1], lines[1], "    → do", lines[2], lines[2], "    → do"]
    assert capsys.readouterr().out.splitlines() == shown


@pytest.mark.parametrize(("healthy", "code"), [(True, 0), (False, 1)])
def test_the_doctor_ends_with_its_verdict(
    home: Path, monkeypatch: pytest.MonkeyPatch, healthy: bool, code: int
) -> None:
    asked: list[Any] = []

    async def examine(at: Path, passphrase: Any, *, browser: bool) -> Any:
        asked.append((at, browser))
        return {"healthy": healthy, "checks": [check("ok", "")]}

    monkeypatch.setattr(client, "examine", examine)
    for words, browser in (([], True), (["--no-browser"], False)):
        asked.clear()
        done = trailmesh("node", "doctor", "--home", str(home), *words)
        assert (done.exit_code, done.stdout) == (code, "✓ store          found\n")
        assert asked == [(home, browser)]


def test_metrics_are_printed_as_they_are_or_as_values() -> None:
    node = Answers(node_metrics=[{"text": "up 1\n", "metrics": []}, {"text": "up 1\n", "metrics": []}])
    done = node.run("node", "metrics")
    assert (done.out, done.asked) == (["up 1"], [("node.metrics", {})])
    assert json.loads("\n".join(node.run("node", "metrics", "--json").out)) == {"metrics": []}


SEEN = {"number": 2, "size": 5, "current_ms": 1_000, "renewed_ms": 0, "restored": False, "trouble": ""}
SHOWN = "log 2, size 5, last shown 1970-01-01 00:00:01 UTC"


@each(
    ("log", "words"),
    [
        (SEEN | {"number": None}, "not seen yet"),
        (SEEN | {"number": None, "trouble": "silent"}, "silent"),
        (SEEN, SHOWN),
        (SEEN | {"number": 0}, SHOWN.replace("log 2", "log 0")),
        (SEEN | {"renewed_ms": 2_000}, f"{SHOWN}; opened on 1970-01-01 00:00:02 UTC"),
        (SEEN | {"renewed_ms": 2_000, "restored": True}, f"{SHOWN}; opened on 1970-01-01 00:00:02 UTC, with entries lost"),
        (SEEN | {"restored": True, "trouble": "it is silent"}, f"{SHOWN}; it is silent"),
    ],
)  # fmt: skip
def test_the_log_of_a_peer_in_words(log: dict[str, Any], words: str) -> None:
    assert _log_in_words(log) == words


HELD = {"state": "open", "error": "peer.unreachable", "next_try_ms": 1_000}
WAY: dict[str, Any] = {"held": None, "holds": False, "error": ""}


@each(
    ("reach", "words"),
    [
        (WAY, "when needed"),
        (WAY | {"held": HELD}, "kept open by us"),
        (WAY | {"held": HELD | {"state": "connecting"}}, "connecting"),
        (WAY | {"held": HELD | {"state": "waiting"}, "holds": True}, "lost (peer.unreachable), next try 1970-01-01 00:00:01"),
        (WAY | {"holds": True}, "kept open by the peer"),
        (WAY | {"held": HELD, "holds": True, "error": "x"}, "kept open by us, kept open by the peer, failed last (x)"),
    ],
)  # fmt: skip
def test_the_connection_to_a_peer_in_words(reach: dict[str, Any], words: str) -> None:
    assert _way(reach) == words


# --- keys ------------------------------------------------------------------------------------------------------------


def test_a_node_is_known_by_its_id_its_words_and_its_key(home: Path) -> None:
    done = trailmesh("node", "id", "--home", str(home))
    told = json.loads(trailmesh("node", "id", "--home", str(home), "--json").stdout)
    assert done.stdout.splitlines() == [
        f"node     {told['node']}",
        f"short    {told['short']}",
        f"words    {told['fingerprint']}",
        f"key      {told['public_key']}, number 1 of this node, kept as {told['key_form']}",
        "key log  1 event, active",
    ]


def test_a_revocation_is_asked_for_twice_and_no_key_of_the_log(home: Path) -> None:
    done = trailmesh("node", "revoke-self", "--home", str(home))
    assert (done.exit_code, done.stdout) == (2, "") and "repeat the command with --yes" in done.stderr
    both = ["--key-file", "a", "--words-file", "b"]
    done = trailmesh("node", "revoke-self", "--yes", "--home", str(home), *both)
    assert done.exit_code == 2 and "either --key-file or --words-file" in done.stderr
    done = trailmesh("node", "revoke-self", "--yes", "--home", str(home))
    told = json.loads(trailmesh("node", "id", "--home", str(home), "--json").stdout)
    assert done.exit_code == 0 and done.stdout.startswith(f"node {told['short']} is revoked since ")
    shown = trailmesh("node", "id", "--home", str(home)).stdout.splitlines()
    assert "number 1 of this node" in shown[3] and shown[4].startswith("key log  2 events, revoked since ")


@pytest.mark.parametrize("words", [[], ["--key-file", "a", "--words-file", "b"]], ids=["none", "both"])
def test_a_recovery_needs_the_recovery_key_in_one_form(home: Path, words: list[str]) -> None:
    done = trailmesh("node", "recover", "--home", str(home), *words)
    assert (done.exit_code, done.stdout) == (2, "") and "either --key-file or --words-file" in done.stderr


def test_a_node_whose_key_is_lost_is_recovered_with_its_recovery_key(home: Path) -> None:
    key = home / "witness.key"
    lost = key.read_bytes()
    key.unlink()
    recover = ["node", "recover", "--home", str(home), "--key-file", str(home.parent / "r.txt")]
    done = trailmesh(*recover, "--recovery-out", str(home.parent / "new.txt"))
    assert done.exit_code == 0, done.stderr
    short = json.loads(trailmesh("node", "id", "--home", str(home), "--json").stdout)["short"]
    assert done.stdout.splitlines() == [
        f"node {short} has a new witness key, event 1 of its key log",
        f"new recovery key: {home.parent / 'new.txt'}: store it offline and destroy the old one",
    ]
    assert key.read_bytes() != lost and key.stat().st_mode & 0o777 == 0o600


def test_a_recovery_of_no_node_makes_none(tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    done = trailmesh("node", "recover", "--home", str(tmp_path / "h"), "--key-file", str(tmp_path / "r.txt"))
    assert "[node.not_initialised]" in done.stderr and not (tmp_path / "h").exists()


def test_a_changed_key_is_told_with_the_peers_that_know(capsys: pytest.CaptureFixture[str]) -> None:
    changed: dict[str, Any] = {"short": "NODEABC", "events": 3, "told": [], "not_told": []}
    for result in (changed, changed | {"recovery_file": ""}):
        _show_change(result)
        assert capsys.readouterr().out == "node NODEABC has a new witness key, event 2 of its key log\n"
    _show_change(changed | {"recovery_file": "/r", "told": ["bob", "carol"], "not_told": ["dave"]})
    assert capsys.readouterr().out.splitlines()[1:] == [
        "new recovery key: /r: store it offline and destroy the old one",
        "peers that know: bob, carol",
        "not reached yet: dave",
    ]
    _show_revoked(changed | {"revoked_s": 1, "told": ["bob"]})
    assert capsys.readouterr().out.splitlines() == [
        "node NODEABC is revoked since 1970-01-01 00:00:01 UTC",
        "peers that know: bob",
    ]
    assert [_key_number({"events": 3, "revoked_s": at}) for at in (None, 0, 1)] == [3, 2, 2]
