"""Work moves to the node where the login is: real processes, sockets and Chromium; the login never leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.login_flows import flow_of
from tests.mesh_nodes import Node, refusal, shop, until
from trailmesh.demo.mesh import pair

pytestmark = pytest.mark.browser


def _account(path: Path, url: str, *more: str) -> str:
    """An action file that reads the account of whoever is logged in."""
    steps = "".join(f"  - {step}\n" for step in ('assert: {text: "Your account"}', *more))
    path.write_text(f"title: Account\nstart: {url}/account\nsteps:\n{steps}")
    return str(path)


def test_a_peer_gets_the_verdict_and_only_with_a_grant_the_session(tmp_path: Path) -> None:
    anna, bruno = (Node(tmp_path / name, name).create(tmp_path) for name in ("anna", "bruno"))
    with shop(tmp_path) as (url, _):
        try:
            anna.start()
            bruno.start()
            pair(anna, bruno, grant="status", grant_back="status")
            anna.run("capsule", "login", f"{url}/account", "--name", "shop", *flow_of(tmp_path, url))
            actions = _account(tmp_path / "account.yaml", url)
            work = ("capsule", "work", "anna", "--record", actions)
            assert refusal(*work, home=bruno.home)[0] == "peer.scope"
            anna.run("node", "grant", "bruno", f"login:use={url}")
            done = bruno.run(*work)
            assert (done["verdict"], done["good"], done["steps"], done["code"]) == ("pass", 2, 2, "")
            assert bruno.run("session", "ls")["sessions"] == []
            assert anna.run("session", "show", done["session"])["session"]["caller"] == anna_peer(anna)
            # The verdict alone: what stands on the page is anna's.
            assert refusal(*work, "--fetch", home=bruno.home)[0] == "peer.scope"
            anna.run("node", "grant", "bruno", f"login:read={url}")
            replayed = bruno.run("capsule", "work", "anna", "--replay", done["session"], "--fetch")
            assert (replayed["verdict"], replayed["fetched"]) == ("pass", True)
            shown = bruno.run("session", "show", done["session"])
            assert shown["signed_by"] == replayed["node"] and shown["session"]["capsule"].startswith("cap-")
            # What the site asks before it writes is for the owner of the login to answer.
            write = _account(tmp_path / "write.yaml", url, "click: {role: button, name: Sign out}")
            stopped = bruno.run("capsule", "work", "anna", "--record", write)
            assert stopped["code"] == "risk.refused" and stopped["verdict"] != "pass"
        finally:
            anna.stop()
            bruno.stop()


def _visits(node: Node, search: str) -> dict[str, int]:
    return {peer["name"]: peer["visits"] for peer in node.run("explore", "show", search)["spend"]}


def anna_peer(node: Node) -> str:
    return str(node.run("node", "peers")["peers"][0]["node"])


def test_two_nodes_search_behind_a_login_each_with_its_own(tmp_path: Path) -> None:
    anna, bruno = (Node(tmp_path / name, name).create(tmp_path) for name in ("anna", "bruno"))
    with shop(tmp_path) as (url, effects):
        try:
            anna.start()
            bruno.start()
            pair(anna, bruno, grant=f"explore,login:read={url}", grant_back="explore")
            for node in (anna, bruno):
                node.run("capsule", "login", f"{url}/account", "--name", "shop", *flow_of(tmp_path, url))
            before = effects.read_bytes()
            what = ("--goal", "read my orders", "--start", f"{url}/account", "--capsule", "shop", "--peer", "bruno")
            search = ("explore", "run", *what, "--until", '{text: "no page says this"}', "--seconds", "100")
            code, _, error = refusal(*search, home=anna.home)
            assert code == "peer.scope" and "login:use" in error["message"]
            bruno.run("node", "grant", "anna", f"login:use={url},login:read={url}")
            running = anna.spawn(*search)
            (listed,) = until(lambda: anna.run("explore", "show")["searches"], "a search")
            until(lambda: _visits(anna, listed["id"]).get("bruno"), "bruno has visited a page", 90)
            assert anna.run("explore", "stop", listed["id"])["status"] == "stopped"
            out, _ = running.communicate(timeout=120)
            assert (running.returncode, json.loads(out)["status"]) == (0, "stopped")
            uses = [node.run("capsule", "show", "shop")["uses"] for node in (anna, bruno)]
            assert uses[0] == 1 and uses[1] >= 1
            assert effects.read_bytes() == before
        finally:
            anna.stop()
            bruno.stop()
