"""Tasks from the command line and their bounds, with a real node, browser and shop."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import trailmesh
from tests.mesh_nodes import Node, alive, browsers_of, cli, until

pytestmark = pytest.mark.browser


def contexts(node: Node) -> float:
    """The browser contexts that are open."""
    with trailmesh.sync.connect(node.home, as_owner=True) as client:
        lines = client.verbs.node.metrics().text.splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("trailmesh_browser_contexts ")))


def searching(url: str) -> dict[str, object]:
    """A search that goes on as long as it may."""
    return {"goal": "what is not there", "start": f"{url}/", "until": {"title": "nowhere"}, "seconds": 100}


def test_a_command_with_task_does_the_same_and_what_follows_it_can_leave_without_ending_it(
    served: Node, shop_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "mugs.yaml"
    file.write_text(f"title: mugs\nstart: {shop_url}/\nsteps:\n  - click: {{role: link, name: Show mugs}}\n")
    ways = [cli("session", "record", str(file), *more, home=served.home) for more in ((), ("--task",))]
    (status, out, err), (task_status, task_out, task_err) = ways
    assert (status, len(out.splitlines())) == (task_status, len(task_out.splitlines())) == (0, len(out.splitlines()))
    began, *progress = task_err.splitlines()
    assert began.startswith("task tas-")
    assert began.endswith(": Ctrl-C leaves it running")
    assert progress == err.splitlines(), "the same progress"

    until_there = (
        "--goal",
        "x",
        "--start",
        f"{shop_url}/",
        "--until",
        "{title: nowhere}",
        "--alone",
        "--seconds",
        "100",
    )
    following = served.spawn("explore", "run", *until_there, "--task")
    assert following.stderr is not None
    task = following.stderr.readline().split()[1].rstrip(":")
    assert following.stderr.readline().startswith("search sea-")
    following.send_signal(signal.SIGINT)
    out, _ = following.communicate(timeout=60)
    assert f"left; the task goes on: `trailmesh task follow {task}`" in out
    assert following.returncode == 130
    assert served.run("task", "show", task)["state"] == "running"

    again = served.spawn("task", "follow", task)
    assert again.stderr is not None
    assert again.stderr.readline().startswith("search sea-"), "in the words of its own command"
    served.run("task", "cancel", task)
    out, _ = again.communicate(timeout=60)
    assert "the task was cancelled" in out
    assert again.returncode == 130
    assert contexts(served) == 0


def test_each_bound_of_a_task_ends_it_with_its_browser_and_an_agent_has_no_more_tasks_than_it_may(
    served: Node, shop_url: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    scopes = [word for scope in ("read", "record", "explore") for word in ("--scope", scope)]
    token.write_text(served.run("agent", "add", "busy", *scopes, "--origin", shop_url)["token"])
    steps = "\n".join(["  - click: {role: link, name: Show mugs}", "  - back: {}"] * 3)
    record = {"actions": f"title: mugs\nstart: {shop_url}/\nsteps:\n{steps}\n"}
    with trailmesh.sync.connect(served.home, token_file=token) as node:
        tries = {
            "seconds": node.verbs.task.start("explore.run", searching(shop_url), seconds=3),
            "pictures": node.verbs.task.start("session.record", record, pictures=2),
            "navigations": node.verbs.task.start("explore.run", searching(shop_url), navigations=4),
        }
        for budget, started in tries.items():
            events = list(node.follow_task(started.task))
            ended = node.verbs.task.show(started.task)
            assert ended.error is not None
            assert (ended.state, ended.error.code, ended.error.detail["budget"]) == ("failed", "task.budget", budget)
            assert any(f'"what":"{budget}"' in event.said for event in events), "it said so before"
        assert contexts(served) == 0

        made = [node.verbs.task.start("explore.run", searching(shop_url)).task for _ in range(8)]
        with pytest.raises(trailmesh.MeshError) as caught:
            node.verbs.task.start("explore.run", searching(shop_url))
        assert (caught.value.code, caught.value.retryable, caught.value.detail["retry_after_s"]) == (
            "node.busy",
            True,
            5,
        )
        states = [node.verbs.task.show(task).state for task in made]
        assert (states.count("running"), states.count("queued")) == (4, 4)
        for task in reversed(made):
            assert node.verbs.task.cancel(task).state == "cancelled"
    assert contexts(served) == 0
    served.run("agent", "rm", "busy")


def test_a_node_that_is_killed_leaves_no_browser_and_its_tasks_are_interrupted_and_not_begun_again(
    anna: Node, shop_url: str
) -> None:
    with trailmesh.sync.connect(anna.home, as_owner=True) as node:
        tasks = [node.verbs.task.start("explore.run", searching(shop_url)).task for _ in range(5)]
        next(event for event in node.follow_task(tasks[0]) if event.kind == "progress")
        assert anna.process is not None
        pid = anna.process.pid
        until(lambda: browsers_of(pid), "a browser")
        browsers = browsers_of(pid)
        anna.process.kill()
        anna.process.wait()
        until(lambda: not alive(browsers), "the end of its browsers")
        anna.start()
        shown = [node.verbs.task.show(task) for task in tasks]
        assert {(each.state, each.error and each.error.code) for each in shown} == {("interrupted", "node.stopped")}
        assert node.verbs.task.list(open=True).tasks == ()
        assert {each.status for each in node.verbs.explore.list().searches} == {"stopped"}, "they do not go on either"
        assert contexts(anna) == 0
