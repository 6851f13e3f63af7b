"""Three node processes search the demo shop together; workers are lost, commands are interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.mesh_nodes import (
    CONFIG,
    Node,
    browsers_of,
    effects_of,
    interrupt,
    serving,
    shop,
    until,
)
from trailmesh.shop import ShopConfig, cheapest_blue_mug_over_four

pytestmark = pytest.mark.browser
GOAL = "find the cheapest blue mug with a rating over 4"
NEVER = json.dumps({"title": "no page is called this"})


def _until() -> str:
    mug = cheapest_blue_mug_over_four(ShopConfig())
    return json.dumps({"url": f"*/products/{mug.slug}", "element": {"role": "heading", "name": mug.name}})


def _search(url: str, condition: str, seconds: int, goal: str = GOAL) -> list[str]:
    return ["explore", "run", "--goal", goal, "--start", f"{url}/", "--until", condition, "--seconds", str(seconds)]


def _searches(node: Node) -> list[Any]:
    found: list[Any] = node.run("explore", "show")["searches"]
    return found


def _spend(node: Node, search: str) -> dict[str, int]:
    return {peer["name"]: peer["visits"] for peer in node.run("explore", "show", search)["spend"]}


# `make smoke` has the same with two nodes.
@pytest.mark.field
def test_three_nodes_find_the_mug_together_and_the_shop_notices_nothing(tmp_path: Path) -> None:
    with shop(tmp_path) as (url, effects), serving(tmp_path, "anna", "bruno", "carla") as (anna, bruno, _):
        # So long only where three other files are tested beside it: alone it takes 20 to 60 s.
        found = anna.run(*_search(url, _until(), 180))
        assert found["verified"]
        assert found["status"] == "done"
        assert {peer["name"] for peer in found["spend"] if peer["leases"]} == {"anna", "bruno", "carla"}
        bundle = tmp_path / "found.tmsession"
        anna.run("session", "export", found["session"], "--out", str(bundle))
        assert bruno.run("session", "verify", str(bundle))["signer_name"] == "anna"
        bruno.run("session", "import", str(bundle))
        replayed = bruno.run("session", "replay", found["session"])
        assert replayed["report"]["verdict"] == "pass"
        assert effects_of(effects) == []


@pytest.mark.field
def test_a_search_goes_on_without_a_worker_that_was_killed(tmp_path: Path) -> None:
    with shop(tmp_path, 60) as (url, effects), serving(tmp_path, "anna", "bruno") as (anna, bruno):
        running = anna.spawn(*_search(url, NEVER, 60))
        (search,) = until(lambda: _searches(anna), "a search")
        until(lambda: _spend(anna, search["id"]).get("bruno"), "bruno has explored")
        bruno.kill()
        until(lambda: anna.run("explore", "show", search["id"])["reassigned"], "its branch is dealt again", 40)
        before = _spend(anna, search["id"])["anna"]
        until(lambda: _spend(anna, search["id"])["anna"] > before, "anna goes on")
        out, _ = running.communicate(timeout=120)
        assert json.loads(out)["error"]["code"] == "search.not_found_goal"
        assert running.returncode == 1
        assert effects_of(effects) == []


def test_ctrl_c_stops_a_search_leaves_no_browser_and_resume_finishes_it(tmp_path: Path) -> None:
    with shop(tmp_path, 40) as (url, _):
        node = Node(tmp_path / "anna", "anna").create(tmp_path, CONFIG)
        help_page = json.dumps({"element": {"role": "heading", "name": "How can we help?"}})
        running = node.spawn(*_search(url, help_page, 60, goal="find the page about help"))
        until(lambda: browsers_of(running.pid), "its browser")
        assert running.stderr is not None
        assert "search sea-" in running.stderr.readline()
        status, out, _ = interrupt(running)
        error = json.loads(out)["error"]
        assert (status, error["code"]) == (130, "internal.cancelled")
        (search,) = _searches(node)
        assert search["status"] == "stopped"
        assert f"trailmesh explore run --resume {search['id']}" in error["message"]
        done = node.run("explore", "run", "--resume", search["id"], "--seconds", "60")
        assert (done["status"], done["verified"]) == ("done", True)


@pytest.mark.field
def test_ctrl_c_on_a_serving_node_ends_it_clean_and_its_search_goes_on_when_it_serves_again(tmp_path: Path) -> None:
    with shop(tmp_path, 40) as (url, _), serving(tmp_path, "anna") as (anna,):
        running = anna.spawn(*_search(url, NEVER, 90))
        (search,) = until(lambda: _searches(anna), "a search")
        assert anna.process is not None
        before = until(lambda: _spend(anna, search["id"])["anna"], "it has explored")
        status, _, _ = interrupt(anna.process)
        assert status == 0
        out, _ = running.communicate(timeout=120)
        assert (running.returncode, json.loads(out)["error"]["code"]) == (3, "node.stopped")
        assert not (anna.home / "control.json").exists()
        assert _searches(anna)[0]["status"] == "running"
        anna.start()
        until(lambda: _spend(anna, search["id"])["anna"] > before, "the search goes on")


def test_a_command_that_stops_a_search_is_no_defect_for_the_one_that_follows_it(tmp_path: Path) -> None:
    with shop(tmp_path) as (url, _), serving(tmp_path, "anna") as (anna,):
        running = anna.spawn(*_search(url, NEVER, 60))
        (search,) = until(lambda: _searches(anna), "a search")
        assert anna.run("explore", "stop", search["id"])["status"] == "stopped"
        out, _ = running.communicate(timeout=120)
        assert (running.returncode, json.loads(out)["status"]) == (0, "stopped")
