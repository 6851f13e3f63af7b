"""``trailmesh log`` on real nodes: show, prove, verify offline, audit, and a data directory restored from a copy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol.log import log_proof
from protocol.log.log_proof import Equivocation, KeyOf
from tests.logs import NODE, PUBLIC, tree
from tests.mesh_nodes import Node, cli, refusal, serving, shop

ACTIONS = """
title: Mugs
start: {url}/
steps:
  - click: {{role: link, name: Mugs}}
"""


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[list[Node]]:
    with serving(tmp_path, "anna", "bruno") as nodes:
        yield nodes


def offline(*arguments: str) -> Any:
    """The result of a command that needs no node."""
    status, out, err = cli(*arguments, "--json")
    assert status == 0, err
    return json.loads(out)


def test_peers_cosign_each_other_and_each_audits_both(pair: list[Node]) -> None:
    anna, bruno = pair
    audited = anna.run("log", "audit", "--peer", "bruno")
    assert audited["sound"]
    assert audited["log"] == bruno.run("log", "show")["log"]
    shown = anna.run("log", "show")
    assert [c["name"] for c in shown["cosignatures"]] == ["bruno"]
    assert anna.run("log", "show", "--peer", "bruno")["root"] == bruno.run("log", "show")["root"]
    own = anna.run("log", "audit")
    assert (own["sound"], own["not_logged"], own["not_kept"]) == (True, [], {})
    assert own["logs"][0]["root"] == shown["root"]
    assert all(peer["standing"] == "" for peer in anna.run("node", "peers")["peers"])
    status = anna.run("node", "status")
    assert (status["log"], status["log_rollback"], status["peers_frozen"]) == (shown["log"], False, 0)


def audit_of(node: Node, peer: str) -> Any:
    """What an audit finds that is not sound: its exit code is 1."""
    status, out, err = cli("log", "audit", "--peer", peer, "--json", home=node.home)
    assert status == 1, out + err
    return json.loads(out)


def test_no_assurance_is_given_about_a_peer_that_is_away(pair: list[Node]) -> None:
    anna, bruno = pair
    anna.run("log", "audit", "--peer", "bruno")
    bruno.stop()
    told = audit_of(anna, "bruno")
    assert (told["sound"], told["standing"], told["code"]) == (False, "unreachable", "peer.unreachable")
    assert told["size"] > 0
    assert anna.run("node", "peers")["peers"][0]["log"]["shown"] == "current"


@pytest.mark.browser
def test_a_session_is_proved_offline_by_its_signer_and_by_whoever_holds_it(pair: list[Node], tmp_path: Path) -> None:
    anna, bruno = pair
    with shop(tmp_path) as (url, _):
        (tmp_path / "mugs.yaml").write_text(ACTIONS.format(url=url))
        session = anna.run("session", "record", str(tmp_path / "mugs.yaml"))["id"]
    bundle, proof = str(tmp_path / "mugs.tmsession"), str(tmp_path / "mugs.tmproof")
    anna.run("session", "export", session, "--out", bundle)
    anna.run("log", "audit", "--peer", "bruno")
    assert anna.run("log", "prove", session, "--out", proof)["out"] == proof
    bruno.run("session", "import", bundle)
    for node, target in ((anna, bundle), (bruno, session), (bruno, bundle)):
        again = str(tmp_path / "again.tmproof")
        node.run("log", "prove", target, "--out", again)
        found = offline("log", "verify", again, "--bundle", bundle)
        assert (found["shows"], found["bundle"]) == ("inclusion", session)
        assert found["node"] == anna.run("node", "status")["node"]
        assert [c["node"] for c in found["cosignatures"]] == [bruno.run("node", "status")["node"]]
    spoiled = Path(proof).read_text().replace('"index": ', '"index": 1')
    Path(proof).write_text(spoiled)
    assert refusal("log", "verify", proof)[:2] == ("log.invalid", 4)
    unknown = refusal("log", "prove", "00" * 32, "--out", proof, home=anna.home)
    assert unknown[:2] == ("log.not_logged", 1)


def test_an_equivocation_is_verified_without_a_node(tmp_path: Path) -> None:
    proof = Equivocation(
        signer=KeyOf(node=NODE, public_key=PUBLIC),
        first=tree(6).note().decode(),
        second=tree(6, fork_at=2).note().decode(),
    )
    file = tmp_path / "proof.json"
    file.write_bytes(log_proof.encode(proof))
    assert offline("log", "verify", str(file))["shows"] == "equivocation"
    status, text, _ = cli("log", "verify", str(file))
    assert status == 0
    assert "two histories" in text
    assert refusal("log", "verify", str(file), "--bundle", str(file))[0] == "input.invalid"


def test_a_node_restored_from_a_copy_signs_nothing_until_its_log_is_renewed(pair: list[Node], tmp_path: Path) -> None:
    anna, bruno = pair
    anna.stop()
    shutil.copytree(anna.home, tmp_path / "copy")
    anna.start()
    before = anna.run("log", "show")["size"]
    first = anna.run("log", "renew")
    assert (first["log"][-2:], first["size"], before) == ("/1", 1, 2)  # the opening, and the head of the audit trail
    anna.run("log", "audit", "--peer", "bruno")
    anna.stop()
    shutil.rmtree(anna.home)
    shutil.copytree(tmp_path / "copy", anna.home)
    anna.start()
    assert anna.run("log", "show")["rollback"]
    told = audit_of(bruno, "anna")
    assert (told["sound"], told["standing"], told["code"]) == (False, "silent", "log.rollback")
    assert bruno.run("node", "status")["peers_silent"] == 1
    assert anna.run("node", "status")["log_rollback"]
    findings = {
        check["name"]: check
        for check in json.loads(cli("node", "doctor", "--no-browser", "--json", home=anna.home)[1])["checks"]
    }
    assert findings["witness log"]["status"] == "fault"
    key = bruno.run("node", "status")["public_key"]
    assert refusal("node", "knock", bruno.address, "--key", key, home=anna.home)[0] == "log.rollback"
    renewed = anna.run("log", "renew")
    assert (renewed["log"][-2:], renewed["rollback"]) == ("/2", False)
    assert [c["name"] for c in renewed["cosignatures"]] == ["bruno"]
    audited = bruno.run("log", "audit", "--peer", "anna")
    assert (audited["sound"], audited["log"], audited["restored"]) == (True, renewed["log"], True)
    told = [c for c in bruno.run("node", "doctor", "--no-browser")["checks"] if c["name"] == "log of anna"]
    assert [(c["status"], "entries were lost" in c["finding"]) for c in told] == [("warn", True)]
    assert bruno.run("log", "show", "--peer", "anna")["frozen"] == ""
