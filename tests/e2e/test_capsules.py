"""A login that is captured on one node, given to a second one and revoked: real processes, sockets and stores."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tarfile
from pathlib import Path

from tests.canaries import found_in
from tests.capsules import CANARY, SHOP
from tests.mesh_nodes import Node, cli, refusal
from trailmesh.demo.mesh import pair


def _state(path: Path) -> Path:
    cookie = {"name": "sid", "value": CANARY, "domain": "shop.example", "path": "/", "expires": -1, "secure": True}
    stored = {"origin": SHOP, "localStorage": [{"name": "token", "value": f"{CANARY}-local"}]}
    path.write_text(json.dumps({"cookies": [cookie], "origins": [stored]}))
    return path


def _leaks(directory: Path, *texts: str) -> list[str]:
    every = {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert {"store.db", "shop.capsule"} <= {Path(name).name for name in every}
    assert any(name.endswith(".key") for name in every)
    every |= {f"output {number}": text.encode() for number, text in enumerate(texts)}
    return [name for name, data in every.items() if found_in(data, {"cookie": CANARY.encode()})]


def test_a_login_leaves_nothing_in_clear_on_either_node(tmp_path: Path) -> None:
    anna, bruno = (Node(tmp_path / name, name).create(tmp_path) for name in ("anna", "bruno"))
    file, out = _state(tmp_path / "state.json"), tmp_path / "shop.capsule"
    shown: list[str] = []
    try:
        anna.start()
        bruno.start()
        pair(anna, bruno, grant=f"capsule:import={SHOP}", grant_back=f"capsule:offer={SHOP}")
        given = ("--from", str(file), "--name", "shop", "--cross-installation", "--cross-device", "--unproven")
        kept = anna.run("capsule", "capture", *given)
        file.unlink()
        shown += [cli("capsule", *words, home=anna.home)[1] for words in (("ls",), ("show", "shop", "--names"))]
        assert "sid" in shown[1] and SHOP in shown[1]
        exported = anna.run("capsule", "export", "shop", "--to", "bruno", "--out", str(out))
        assert exported["to"] == "bruno" and out.stat().st_mode & 0o077 == 0
        taken = bruno.run("capsule", "import", str(out))
        assert (taken["id"], taken["tenant_name"]) == (kept["id"], "anna")
        shown.append(cli("capsule", "show", "shop", "--names", home=bruno.home)[1])
        assert "sid" in shown[2]
        # While both nodes have it, and their write-ahead logs are on the disk.
        assert _leaks(tmp_path, *shown, json.dumps([kept, exported, taken])) == []
        anna.run("node", "rotate")
        anna.run("node", "backup", str(tmp_path / "backup.tar"))
        with tarfile.open(tmp_path / "backup.tar") as archive:
            assert not [name for name in archive.getnames() if "sealing" in name]
        anna.start()
        # The sealing key lies under the new witness key now.
        assert anna.run("capsule", "show", "shop", "--names")["holds"][0]["name"] == "sid"
        assert anna.run("capsule", "revoke", "shop", "--yes")["told"] == ["bruno"]
        assert bruno.run("capsule", "ls")["capsules"] == []
        assert refusal("capsule", "import", str(out), home=bruno.home)[0] == "capsule.revoked"
    finally:
        anna.stop()
        bruno.stop()
    assert _leaks(tmp_path, *shown) == []


def test_cookies_that_were_offered_are_requested_and_their_attestation_outlives_a_rotation(tmp_path: Path) -> None:
    anna, bruno = (Node(tmp_path / name, name).create(tmp_path) for name in ("anna", "bruno"))
    file = _state(tmp_path / "state.json")
    request = ("capsule", "request", "anna", SHOP)
    try:
        anna.start()
        bruno.start()
        pair(anna, bruno, grant=f"capsule:import={SHOP}", grant_back=f"capsule:offer={SHOP}")
        given = ("--from", str(file), "--name", "shop", "--cross-installation", "--cross-device", "--unproven")
        kept = anna.run("capsule", "capture", *given)
        file.unlink()
        assert refusal(*request, home=bruno.home)[0] == "peer.scope"
        bruno.run("node", "grant", "anna", f"attest:consume={SHOP}")
        assert refusal(*request, home=bruno.home)[0] == "capsule.not_offered"
        assert anna.run("capsule", "offer", "shop", "--to", "bruno")["offered"] == ["bruno"]
        got = bruno.run(*request)
        assert (got["id"], got["attested_by"], got["origins"][0]["local"]) == (kept["id"], "anna", 0)
        assert cli("capsule", "show", "shop", home=bruno.home)[0] == 0
        anna.run("node", "rotate")
        anna.start()
        # The attestation of this generation was signed under the key before: it is told again, and accepted.
        again = bruno.run(*request)
        assert (again["generation"], again["weak"]) == (1, got["weak"])
        with contextlib.closing(sqlite3.connect(bruno.home / "store.db")) as db:
            told = db.execute("SELECT count(*) FROM artefacts WHERE subject = ?", (f"{kept['id']}.cookies",))
            assert told.fetchone() == (1,)
        rows = anna.run("audit", "--what", "capsule/cookies")["rows"]
        assert [row["code"] for row in rows if row["outcome"] != "begun"].count("") == 2
        assert anna.run("capsule", "revoke", "shop", "--yes")["told"] == ["bruno"]
        assert refusal(*request, home=bruno.home)[0] == "capsule.not_offered"
    finally:
        anna.stop()
        bruno.stop()
    every = {str(path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert [name for name, data in every.items() if found_in(data, {"cookie": CANARY.encode()})] == []
