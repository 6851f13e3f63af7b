"""A program that uses a shell: a node that is made for it, an agent that is made for it, and what neither of them may do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.mesh_nodes import Node, cli, refusal, until


@pytest.mark.browser
def test_a_node_is_made_started_and_stopped_by_one_word_each(tmp_path: Path, shop_url: str) -> None:
    home = tmp_path / "made" / "home"
    assert refusal("node", "stop", home=home)[0] == "node.not_serving"
    status, out, _ = cli("node", "start", "--no-sandbox", home=home)  # tests run as root too
    assert (status, out.startswith(f"made a node in {home} and started it in the background")) == (0, True)
    try:
        status, out, _ = cli("node", "start", "--json", home=home)
        assert json.loads(out) == {"home": str(home), "started": False}
        refused = refusal("live", "open", "https://shop.example/", "--approve-class", "5", home=home)
        assert (refused[0], refused[2]["detail"]) == ("owner.unenrolled", {"field": "approve_class"})
        assert refusal("live", "open", "https://x.example/", "--allow", "POST https://x.example/", home=home)[0] == (
            "owner.unenrolled"
        )
        status, out, err = cli("live", "open", f"{shop_url}/", "--as-agent", home=home)
        assert (status, "e1 link" in out) == (0, True), err
        lines = json.loads(cli("node", "logs", "--json", home=home)[1])["lines"]
        assert any("serves peers at" in line for line in lines)
    finally:
        status, out, _ = cli("node", "stop", home=home)
    assert (status, out) == (0, f"stopped the node of {home}\n")
    assert not (home / "control.json").exists()
    assert refusal("node", "stop", home=home)[0] == "node.not_serving"


def test_a_node_in_the_background_ends_when_nobody_needs_it(tmp_path: Path) -> None:
    node = Node(tmp_path / "home", "anna")
    node.create(tmp_path)
    with node.begin("node", "serve", "--idle-exit", "1") as process:
        assert process.wait(timeout=120) == 0
    assert not (node.home / "control.json").exists()


@pytest.mark.browser
def test_a_program_acts_as_an_agent_of_its_own_and_a_person_as_the_owner(served: Node, shop_url: str) -> None:
    url = f"{shop_url}/"
    refused = refusal("live", "open", url, "--as-agent", "--approve-class", "5", home=served.home)
    assert (refused[0], refused[2]["detail"]["caller"]) == ("caller.refused", "agent:shell")
    token_file = served.home / "shell-agent.token"
    kept = token_file.read_text()
    token_file.unlink()
    assert "already exists" in refusal("live", "ls", "--as-agent", home=served.home)[2]["message"], (
        "it is not ours to remove"
    )
    token_file.write_text(kept)
    opened = served.run("live", "open", url, "--as-agent")
    own = served.run("live", "open", url)
    assert served.run("live", "show", opened["session"])["live"]["caller"] == "agent:shell"
    assert served.run("live", "show", own["session"])["live"]["caller"] == "owner"
    assert served.run("live", "table", "--as-agent")["session"] == opened["session"]
    assert refusal("live", "table", "--session", own["session"], "--as-agent", home=served.home)[0] == "live.not_found"
    second = served.run("live", "open", url, "--as-agent")
    ambiguous = refusal("live", "table", "--as-agent", home=served.home)
    assert (ambiguous[0], set(ambiguous[2]["detail"]["open"])) == (
        "live.ambiguous",
        {opened["session"], second["session"]},
    )
    for each in (opened, second):
        served.run("live", "close", "--session", each["session"], "--as-agent")
    served.run("live", "close", "--session", own["session"])
    # A token that was withdrawn is replaced with the next call.
    served.run("agent", "rm", "shell")
    assert served.run("live", "ls", "--as-agent")["sessions"] == []
    until(lambda: "shell" in [each["name"] for each in served.run("agent", "ls")["agents"]], "the new agent")
