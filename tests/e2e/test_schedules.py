"""Scheduled searches by a node process: when they are due, by hand, through a kill, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.mesh_nodes import CONFIG, Node, browsers_of, interrupt, refusal, serving, shop, until
from tests.tables import each

pytestmark = pytest.mark.browser
HERE = json.dumps({"url": "*"})
NEVER = json.dumps({"title": "no page is called this"})


def add(node: Node, url: str, condition: str, *more: str) -> dict[str, Any]:
    made: dict[str, Any] = node.run(
        *("explore", "schedule", "add", "--goal", "look around", "--start", f"{url}/", "--until", condition),
        *("--alone", "--seconds", "60", *more),
    )
    return made


def runs(node: Node, schedule: str) -> list[dict[str, Any]]:
    """The outcomes of its due times, oldest first."""
    shown = node.run("explore", "schedule", "show", schedule)
    return list(reversed(shown["runs"]))


def test_a_schedule_runs_by_itself_in_its_own_name_and_tells_how_it_ended(tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = tmp_path / "tell.py"
    script.write_text(f"import sys; open({str(told)!r}, 'a').write(sys.stdin.read() + chr(10))\n")
    command = f"{sys.executable} {script}"
    with shop(tmp_path) as (url, _), serving(tmp_path, "anna") as (anna,):
        made = add(anna, url, NEVER, "--every", "15s", "--seconds", "4", "--notify-command", command)
        assert made["notify_command"] == sys.executable
        schedule = made["schedule"]
        first = until(lambda: [run for run in runs(anna, schedule) if run["status"] == "failed"], "a run", 90)[0]
        assert first["reason"] in ("search.not_found_goal", "search.exhausted")
        assert first["due_ms"] == made["next_due_ms"][0]
        assert first["spend"][0]["visits"] > 0
        lines = until(lambda: told.exists() and told.read_text().splitlines(), "somebody is told")
        assert json.loads(lines[0])["search"] == first["search"]
        assert url not in told.read_text()
        rows = anna.run("audit", "--who", f"schedule:{schedule}")["rows"]
        assert {row["what"] for row in rows} == {"explore.run"}
        anna.run("explore", "schedule", "rm", schedule, "--yes")
        assert anna.run("explore", "schedule", "ls") == {"schedules": []}


def test_a_run_by_hand_is_recorded_and_ctrl_c_ends_it_cleanly_without_a_serving_node(tmp_path: Path) -> None:
    with shop(tmp_path) as (url, _):
        node = Node(tmp_path / "anna", "anna").create(tmp_path, CONFIG)
        found = add(node, url, json.dumps({"url": f"{url}/*"}), "--cron", "0 6 * * *")["schedule"]
        ran = node.run("explore", "schedule", "run-now", found)
        assert (ran["manual"], ran["status"], ran["search"].startswith("sea-")) == (True, "done", True)
        never = add(node, url, NEVER, "--cron", "0 6 * * mon", "--timezone", "Europe/Berlin")["schedule"]
        process = node.spawn("explore", "schedule", "run-now", never)
        until(lambda: browsers_of(process.pid), "the run has a browser")
        status, out, _ = interrupt(process)
        assert (status, json.loads(out)["error"]["code"]) == (130, "internal.cancelled")
        (run,) = runs(node, never)
        assert (run["status"], run["reason"]) == ("interrupted", "internal.cancelled")
        searches = node.run("explore", "show")["searches"]
        assert "running" not in {search["status"] for search in searches}


def test_a_node_that_is_killed_during_a_run_writes_it_down_as_interrupted_and_does_not_go_on_with_it(
    tmp_path: Path,
) -> None:
    with shop(tmp_path) as (url, _), serving(tmp_path, "anna") as (anna,):
        schedule = add(anna, url, NEVER, "--cron", "0 0 1 1 *")["schedule"]
        process = anna.spawn("explore", "schedule", "run-now", schedule)
        until(lambda: runs(anna, schedule) and anna.run("explore", "show")["searches"], "a search")
        code, status, _ = refusal("explore", "schedule", "run-now", schedule, home=anna.home)
        assert (code, status) == ("schedule.running", 1)
        anna.kill()
        process.communicate(timeout=120)
        anna.start()
        (run,) = runs(anna, schedule)
        assert (run["status"], run["reason"]) == ("interrupted", "node.stopped")
        (search,) = anna.run("explore", "show")["searches"]
        assert (search["id"], search["status"]) == (run["search"], "stopped")


@each(
    "given",
    [
        [],
        ["--every", "6h", "--cron", "0 6 * * *"],
        ["--every", "5s"],
        ["--every", "6 hours"],
        ["--cron", "0 6 * *"],
        ["--cron", "0 6 30 2 *"],
        ["--cron", "0 6 * * *", "--timezone", "Berlin"],
        ["--every", "6h", "--jitter", "2h"],
        ["--every", "6h", "--expires", "2020-01-01"],
        ["--every", "6h", "--origin", "https://other.example"],
        ["--every", "6h", "--origin", "https://shop.example", "--peer", "bruno"],
        ["--every", "6h", "--notify-webhook", "http://hooks.example/"],
        ["--every", "6h", "--notify-webhook", "https://name:word@hooks.example/"],
        ["--every", "6h", "--notify-webhook", "file:///etc/passwd"],
        ["--every", "6h", "--notify-webhook", "https://169.254.169.254/latest/meta-data"],
        ["--every", "6h", "--notify-webhook", "http://192.168.1.5/"],
        ["--every", "6h", "--notify-command", "notify-send done"],
        ["--every", "6h", "--notify-command", "/bin/echo 'open"],
    ],
)
def test_what_cannot_be_a_schedule_is_refused(given: list[str], refused_at: Path) -> None:
    """Guard: node/schedules/verbs.py, _webhook."""
    what = ["--goal", "look around", "--start", "https://shop.example/", "--until", HERE]
    code, status, _ = refusal("explore", "schedule", "add", *what, *given, home=refused_at)
    assert (code, status) == ("input.invalid", 2)


@pytest.fixture(scope="module")
def refused_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node that does not serve."""
    directory = tmp_path_factory.mktemp("refused")
    return Node(directory / "anna", "anna").create(directory, CONFIG).home
