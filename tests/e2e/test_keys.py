"""Keys that change under running nodes: real processes, real sockets, the real command."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mesh_nodes import Node, cli, refusal, serving
from trailmesh.demo.mesh import CommandFailed, pair


@pytest.fixture
def two(tmp_path: Path) -> Iterator[list[Node]]:
    with serving(tmp_path, "anna", "bruno") as nodes:
        yield nodes


def sees(node: Node, peer: str) -> tuple[str, str]:
    """What the doctor of ``node`` finds when it calls ``peer``."""
    checks: list[dict[str, Any]] = node.run("node", "doctor", "--no-browser")["checks"]
    return next((check["status"], check["finding"]) for check in checks if check["name"] == f"peer {peer}")


def recovery_file(node: Node) -> str:
    (found,) = node.home.parent.glob(f"{node.home.name}-recovery-*.txt")
    return str(found)


def test_a_running_peer_follows_a_rotation_without_pairing_again(two: list[Node]) -> None:
    anna, bruno = two
    before = anna.run("node", "id")
    turned = anna.run("node", "rotate")
    after = anna.run("node", "id")
    assert (turned["told"], turned["not_told"]) == (["bruno"], [])
    assert (after["node"], after["events"]) == (before["node"], 2)
    assert after["public_key"] != before["public_key"]
    assert (sees(bruno, "anna")[0], sees(anna, "bruno")[0]) == ("ok", "ok")
    anna.run("node", "rotate")
    assert (sees(bruno, "anna")[0], sees(anna, "bruno")[0]) == ("ok", "ok")


def test_a_rotated_node_is_itself_after_a_restart(two: list[Node]) -> None:
    anna, bruno = two
    anna.run("node", "rotate")
    anna.stop()
    anna.run("node", "rotate")
    anna.start()
    assert (sees(bruno, "anna")[0], sees(anna, "bruno")[0]) == ("ok", "ok")
    assert anna.run("node", "id")["events"] == 3


def test_a_peer_that_was_down_during_a_rotation_follows_when_it_calls(two: list[Node]) -> None:
    anna, bruno = two
    bruno.stop()
    assert anna.run("node", "rotate")["not_told"] == ["bruno"]
    bruno.start()
    assert sees(bruno, "anna")[0] == "ok"
    assert sees(anna, "bruno")[0] == "ok"


def test_two_nodes_that_both_rotated_while_apart_meet_again(two: list[Node]) -> None:
    """Neither knows a key that the other one still uses; nobody else is there to tell them."""
    anna, bruno = two
    for node in two:
        node.stop()
    for node in two:
        assert node.run("node", "rotate")["told"] == []
    for node in two:
        node.start()
    assert (sees(bruno, "anna")[0], sees(anna, "bruno")[0]) == ("ok", "ok")


def test_nodes_pair_after_both_have_rotated(tmp_path: Path) -> None:
    nodes = [Node(tmp_path / name, name) for name in ("anna", "bruno")]
    try:
        for node in nodes:
            node.create(tmp_path)
            node.run("node", "rotate")
            node.start()
            node.run("node", "rotate")
        anna, bruno = nodes
        pair(anna, bruno, grant="explore", grant_back="explore")
        assert (sees(bruno, "anna")[0], sees(anna, "bruno")[0]) == ("ok", "ok")
        assert bruno.run("node", "peers")["peers"][0]["node"] == anna.run("node", "id")["node"]
    finally:
        for node in nodes:
            node.stop()


def test_an_owner_takes_a_stolen_node_back(two: list[Node]) -> None:
    """The thief has the whole data directory, rotates, and is believed, until the recovery key has spoken.

    Guard: protocol/keys/keylog.py, KeyLog._weigh.
    """
    anna, bruno = two
    anna.stop()
    thief = Node(anna.home.parent / "thief", "anna")
    shutil.copytree(anna.home, thief.home)
    thief.start()
    try:
        assert thief.run("node", "rotate")["told"] == ["bruno"]
        assert sees(bruno, "anna")[0] == "ok"
    finally:
        thief.stop()
    assert anna.run("node", "recover", "--key-file", recovery_file(anna))["events"] == 2
    anna.start()
    assert sees(bruno, "anna")[0] == "ok"
    assert sees(anna, "bruno")[0] == "ok"
    status, finding = sees(thief, "bruno")
    assert (status, "peer.refused_us" in finding) == ("fault", True)


def test_an_owner_who_lost_the_witness_key_takes_the_node_back(two: list[Node]) -> None:
    anna, bruno = two
    before = anna.run("node", "id")
    anna.stop()
    (anna.home / "witness.key").unlink()
    assert refusal("node", "serve", home=anna.home)[0] == "node.incomplete"
    checks = {check["name"]: check for check in anna.run("node", "doctor", "--no-browser")["checks"]}
    assert checks["witness key"]["remedy"].startswith(f"trailmesh node recover --key-file {recovery_file(anna)}")
    code, _, told = refusal("node", "init", home=anna.home)
    assert (code, "node recover" in told["message"]) == ("node.already_initialised", True), "its key log stays"
    code, _, _ = refusal("node", "recover", "--key-file", recovery_file(bruno), home=anna.home)
    assert (code, (anna.home / "witness.key").exists()) == ("recovery.invalid", False)
    assert anna.run("node", "recover", "--key-file", recovery_file(anna))["events"] == 2
    assert (anna.home / "witness.key").stat().st_mode & 0o777 == 0o600
    anna.start()
    assert anna.run("node", "id")["node"] == before["node"]
    assert (sees(bruno, "anna")[0], sees(anna, "bruno")[0]) == ("ok", "ok")
    assert "node.recover" in str(anna.run("audit"))


def test_a_peer_refuses_a_node_that_revoked_itself(two: list[Node]) -> None:
    anna, bruno = two
    code, _, _ = refusal("node", "revoke-self", home=anna.home)
    assert code == "input.invalid"
    ended = anna.run("node", "revoke-self", "--yes")
    assert ended["revoked_s"] > 0
    assert "keylog.revoked" in sees(bruno, "anna")[1]
    said = "this node revoked itself on "
    assert anna.run("node", "status")["revoked_s"] == ended["revoked_s"]
    assert said in cli("node", "status", home=anna.home)[1]
    actions = anna.home.parent / "actions.yaml"
    actions.write_text("title: x\nstart: http://127.0.0.1:1/\nsteps: []\n")
    code, _, told = refusal("session", "record", str(actions), home=anna.home)
    assert (code, said in told["message"]) == ("keylog.revoked", True)
    checks = {check["name"]: check for check in anna.run("node", "doctor", "--no-browser")["checks"]}
    assert checks["witness key"]["status"] == "fault"
    assert checks["witness key"]["finding"].startswith(said)
    assert checks["witness key"]["remedy"].startswith(f"trailmesh node recover --key-file {recovery_file(anna)}")
    assert "invite" not in "".join(check["remedy"] for check in checks.values())
    out = str(anna.home.parent / "trail.jsonl")
    assert anna.run("audit", "export", "--out", out)["signed"] == "", "its owner keeps his trail"
    anna.stop()
    with pytest.raises(CommandFailed) as error:
        anna.start()
    assert error.value.code == "keylog.revoked" or "keylog.revoked" in str(error.value)


# --- init ------------------------------------------------------------------------------------------------------------


def test_the_recovery_key_is_shown_once_and_kept_outside(tmp_path: Path) -> None:
    """Words to people only, the file to its owner only, and neither in the data directory."""
    home, out = tmp_path / "home", tmp_path / "stick" / "recovery.txt"
    out.parent.mkdir()
    status, shown, _ = cli("node", "init", "--recovery-out", str(out), home=home)
    words = [part for part in shown.split() if part.isalpha()]
    assert status == 0
    assert out.stat().st_mode & 0o777 == 0o600
    seed = next(line for line in out.read_text().splitlines() if line.startswith("seed ")).removeprefix("seed ")
    kept = b"".join(path.read_bytes() for path in home.iterdir() if path.is_file())
    assert seed.encode() not in kept and bytes.fromhex(seed) not in kept and seed not in shown
    written = tmp_path / "words.txt"
    written.write_text(shown.partition("move that file offline")[2].partition("next:")[0])
    status, shown, _ = cli("node", "recover", "--words-file", str(written), home=home)
    assert (status, "event 1" in shown, seed in shown) == (0, True, False)
    assert len(words) > 24


def test_json_holds_no_word_of_the_recovery_key(tmp_path: Path) -> None:
    made = Node(tmp_path / "home", "anna").run("node", "init")
    assert set(made) == {"node", "short", "name", "home", "listen", "key_form", "recovery_file"}
    assert Path(made["recovery_file"]).parent == tmp_path


def test_the_recovery_key_is_not_written_into_the_home_nor_over_a_file(tmp_path: Path) -> None:
    """Guards: both checks of ``check_recovery_file``.

    Guard: node/signing/recovery_file.py, check_recovery_file.
    """
    home, taken = tmp_path / "home", tmp_path / "taken"
    taken.write_text("mine")
    for place in (home / "recovery.txt", taken):
        assert refusal("node", "init", "--recovery-out", str(place), home=home)[0] == "input.invalid"
    assert (taken.read_text(), (home / "witness.key").exists()) == ("mine", False)


def test_the_recovery_key_of_another_node_is_refused(tmp_path: Path) -> None:
    nodes = [Node(tmp_path / name, name) for name in ("anna", "bruno")]
    for node in nodes:
        node.run("node", "init")
    other = recovery_file(nodes[1])
    assert refusal("node", "recover", "--key-file", other, home=nodes[0].home)[0] == "recovery.invalid"
    assert nodes[0].run("node", "id")["events"] == 1


# --- a sealed key ----------------------------------------------------------------------------------------------------


def test_a_sealed_key_opens_with_its_passphrase_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, right, wrong = tmp_path / "home", tmp_path / "right", tmp_path / "wrong"
    right.write_text("correct horse battery\n")
    wrong.write_text("wrong horse battery\n")
    node = Node(home, "anna")
    assert node.run("node", "init", "--passphrase-file", str(right))["key_form"] == "passphrase"
    assert node.run("node", "id")["key_form"] == "passphrase"
    assert refusal("node", "serve", home=home)[0] == "key.locked"
    assert refusal("node", "serve", "--passphrase-file", str(wrong), home=home)[0] == "key.passphrase"
    monkeypatch.setenv("TRAILMESH_PASSPHRASE_FILE", str(right))
    node.start()
    try:
        assert node.run("node", "rotate")["events"] == 2
    finally:
        node.stop()
    assert node.run("node", "rotate")["events"] == 3


def test_a_short_passphrase_is_refused(tmp_path: Path) -> None:
    """Guard: ``_strong``."""
    short = tmp_path / "short"
    short.write_text("1234567\n")
    assert refusal("node", "init", "--passphrase-file", str(short), home=tmp_path / "home")[0] == "input.invalid"
