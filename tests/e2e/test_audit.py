"""The audit trail and the metrics of real nodes: pairing, an approved browser run, a crash, and the door for Prometheus."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from node.process.setup import free_port
from tests.mesh_nodes import CONFIG, Node, cli, refusal, serving, shop
from trailmesh.shop import ShopConfig


def rows(node: Node, *options: str) -> list[dict[str, Any]]:
    return list(node.run("audit", *options)["rows"])


def test_both_sides_of_a_pairing_and_what_followed_are_on_the_trail(tmp_path: Path) -> None:
    with serving(tmp_path, "anna", "bruno") as (anna, bruno):
        ids = {node.name: node.run("node", "status")["node"] for node in (anna, bruno)}
        (invited,) = rows(anna, "--what", "peer")
        (joined,) = rows(bruno, "--what", "peer")
        begun, _ = rows(anna, "--what", "node.invite")
        join, end = rows(bruno, "--what", "node.join")
        assert (invited["who"], invited["subject"], invited["of"]) == (ids["bruno"], ids["bruno"], begun["number"])
        assert (joined["who"], joined["subject"], joined["of"]) == ("owner", ids["anna"], join["number"])
        assert (end["outcome"], end["subject"]) == ("done", ids["anna"])
        assert invited["note"]["granted"] == "branch:accept,branch:assign,deltas:read,deltas:write"
        assert rows(anna, "--who", "bruno") == [invited]
        bruno.run("node", "rotate")
        (rotated,) = rows(anna, "--what", "peer.keys")
        assert (rotated["who"], rotated["note"]["became"]) == (ids["bruno"], "another key")
        out = tmp_path / "trail.jsonl"
        bruno.run("audit", "export", "--out", str(out))
        assert anna.run("audit", "verify", str(out))["node"] == ids["bruno"]  # a peer can check it
        lines = out.read_text().splitlines(keepends=True)
        out.write_text("".join([lines[0].replace("owner", "nobody"), *lines[1:]]))
        status, said, _ = cli("audit", "verify", str(out), home=anna.home)
        assert status == 1
        assert "no: row 2" in said
        assert "peer.paired" in cli("audit", home=anna.home)[1]
        assert refusal("audit", "--since", "yesterday", home=anna.home)[0] == "input.invalid"


@pytest.mark.browser
def test_each_approval_is_on_the_trail_and_no_secret_is(anna: Node, tmp_path: Path) -> None:
    """Guard: node/verbs/rows.py, allowed."""
    config = ShopConfig()
    actions = tmp_path / "actions.yaml"
    secret_file = tmp_path / "secret.txt"
    secret_file.write_text(config.password)
    with shop(tmp_path) as (url, _):
        actions.write_text(
            f"title: Sign in\nstart: {url}/login\nsteps:\n"
            f"  - fill: {{role: textbox, name: E-mail address, nth: 0, value: {config.user_email}}}\n"
            "  - fill: {role: textbox, name: Password, value: {secret: word}}\n"
        )
        given = ["session", "record", str(actions), "--secret", f"word=@{secret_file}"]
        assert refusal(*given, home=anna.home)[0] == "risk.refused"
        session = anna.run(*given, "--approve-class", "6", "--allow", f"POST {url}/login?token=x")["id"]
    refused = rows(anna, "--what", "action")[0]
    assert (refused["outcome"], refused["code"], refused["approved_by"], refused["risk"]) == (
        "refused",
        "risk.refused",
        "",
        6,
    )
    begun, ended = rows(anna, "--what", "session.record")[2:]
    approved = [row for row in rows(anna, "--what", "action") if row["of"] == begun["number"]]
    assert [(row["outcome"], row["risk"], row["approved_by"]) for row in approved] == [("approved", 6, "owner")]
    assert (ended["of"], ended["subject"], ended["outcome"]) == (begun["number"], session, "done")
    assert (begun["risk"], begun["approved_by"], begun["note"]["secrets"]) == (6, "owner", "word")
    assert begun["note"]["allow"] == f"POST {url}/login"
    trail = json.dumps(rows(anna))
    assert config.password not in trail
    assert config.user_email not in trail
    assert anna.run("audit", "verify")["sound"]


def test_a_node_that_was_killed_has_a_sound_trail_that_says_so(tmp_path: Path) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    node.start()
    node.run("node", "invite")
    node.kill()
    verified = node.run("audit", "verify")
    assert (verified["sound"], verified["unfinished"]) == (True, [{"row": 1, "what": "node.serve"}])
    assert rows(node)[0]["what"] == "node.serve"
    node.start()
    node.stop()
    verified = node.run("audit", "verify")
    assert verified["anchors"] >= 1  # the head was signed when the node ended
    assert (verified["sound"], verified["unfinished"]) == (True, [{"row": 1, "what": "node.serve"}])


def test_prometheus_is_answered_on_loopback_when_the_configuration_says_so(tmp_path: Path) -> None:
    port = free_port("127.0.0.1")
    bruno = Node(tmp_path / "bruno", "bruno").create(tmp_path, f"{CONFIG}metrics: {{port: {port}}}\n")
    anna = Node(tmp_path / "anna", "anna").create(tmp_path)
    try:
        bruno.start()
        key = bruno.run("node", "status")["public_key"]
        anna.run("node", "knock", bruno.address, "--key", key)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        assert "trailmesh_serving 1.0" in text
        counted = bruno.run("node", "status")["refusals"]
        assert counted["by_code"].keys() == {"peer.unknown"}
        said = re.findall(
            r'^trailmesh_refusals_total\{at="\w+",channel="peer",code="peer.unknown"\} ([0-9.]+)$', text, re.MULTILINE
        )
        assert sum(map(float, said)) == counted["total"] > 0
        assert text.splitlines()[0] == cli("node", "metrics", home=bruno.home)[1].splitlines()[0]
    finally:
        bruno.stop()


def test_metrics_are_not_given_to_the_network_by_mistake(tmp_path: Path) -> None:
    config = f"{CONFIG}metrics: {{port: 9464, host: 0.0.0.0}}\n"
    node = Node(tmp_path / "anna", "anna").create(tmp_path, config)
    assert refusal("node", "serve", home=node.home)[0] == "config.invalid"
