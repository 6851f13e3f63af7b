"""``node backup`` and ``node restore`` on real nodes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.mesh_nodes import Node, cli, refusal, serving


def restored(file: Path, home: Path, *options: str) -> tuple[int, dict[str, object], str]:
    """Exit code, result and text of ``node restore``."""
    status, out, err = cli("node", "restore", str(file), *options, "--json", home=home)
    assert "Traceback" not in out + err
    return status, json.loads(out), err


def test_a_node_is_restored_from_a_backup_that_was_made_while_it_served(tmp_path: Path) -> None:
    file = tmp_path / "anna.tmbackup"
    with serving(tmp_path, "anna", "bruno") as (anna, bruno):
        made = anna.run("node", "backup", str(file))
        assert (file.stat().st_mode & 0o777, made["bytes"]) == (0o600, file.stat().st_size)
        assert not [path for path in anna.home.iterdir() if path.name.startswith(".backup")]
        refused = refusal("node", "restore", str(file), home=anna.home)
        assert refused[0] == "node.already_initialised"
        inside = refusal("node", "backup", str(anna.home / "copy.tmbackup"), home=anna.home)
        assert inside[0] == "input.invalid"
        before = anna.run("node", "status")
        anna.stop()
        shutil.rmtree(anna.home)
        status, told, _ = restored(file, anna.home)
        assert (status, told["node"], told["log_rollback"]) == (0, before["node"], False)
        assert (told["peers"], told["peers_answered"]) == (1, 1)
        anna.start()
        after = anna.run("node", "status")
        assert (after["node"], after["peers"], after["log"]) == (before["node"], 1, before["log"])
        assert bruno.run("log", "audit", "--peer", "anna")["sound"]
        rows = [row["what"] for row in anna.run("audit")["rows"]]
        assert {"node.backup", "node.restore"} <= set(rows)


def test_restoring_an_old_backup_says_that_a_new_log_is_needed_and_nothing_is_signed_before(tmp_path: Path) -> None:
    file = tmp_path / "anna.tmbackup"
    with serving(tmp_path, "anna", "bruno") as (anna, bruno):
        anna.run("node", "backup", str(file))
        anna.run("log", "renew")
        anna.run("log", "audit", "--peer", "bruno")
        anna.stop()
        shutil.rmtree(anna.home)
        status, told, _ = restored(file, anna.home)
        assert (status, told["log_rollback"]) == (1, True)
        anna.start()
        key = bruno.run("node", "status")["public_key"]
        assert refusal("node", "knock", bruno.address, "--key", key, home=anna.home)[0] == "log.rollback"
        renewed = anna.run("log", "renew")
        assert (renewed["log"][-2:], renewed["rollback"]) == ("/2", False)
        assert bruno.run("log", "audit", "--peer", "anna")["restored"]


def test_a_restore_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    anna = Node(tmp_path / "anna", "anna").create(tmp_path)
    file = tmp_path / "anna.tmbackup"
    anna.run("node", "backup", str(file))
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    before = sorted(path.name for path in tmp_path.iterdir())
    assert refusal("node", "restore", str(file), home=tmp_path / "new")[0] == "backup.invalid"
    assert refusal("node", "restore", str(tmp_path / "none"), home=tmp_path / "new")[0] == "input.no_file"
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "letter.txt").write_text("mine")
    file.write_bytes(data)
    assert refusal("node", "restore", str(file), home=tmp_path / "used")[0] == "input.invalid"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*before, "used"])
    assert restored(file, tmp_path / "new", "--offline")[0] == 0
