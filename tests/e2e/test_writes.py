"""Consent by effects manifest, through the command line: the owner's recording of a write, replayed here and elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.test_agents import agent, asks
from tests.mesh_nodes import Node, cli, effects_of, refusal, serving, shop
from trailmesh.shop.catalogue import load_catalogue

pytestmark = pytest.mark.browser

_BUY = """
title: A mug
start: {url}/products/{slug}
steps:
  - click: {{role: button, name: Add to cart}}
"""


def _digest(shown: str) -> str:
    (line,) = (line for line in shown.splitlines() if line.startswith("writes"))
    return line.split()[1]


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
