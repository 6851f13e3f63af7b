"""The feed of real nodes, as a follower sees it that was there before: whole, in order, over restarts, and without a secret."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from protocol.feed import ABOUT, FeedKind, check_ids
from tests.canaries import found_in
from tests.mesh_nodes import CONFIG, Node, kill_group, refusal, shop, until
from trailmesh.demo.mesh import pair
from trailmesh.shop import ShopConfig

pytestmark = pytest.mark.browser
_GO_ON = re.compile(r"--since (\d+)\n$")


class Follower:
    """``trailmesh events --follow --json`` in a process of its own."""

    def __init__(self, node: Node, directory: Path, *options: str) -> None:
        self._out, self._err = directory / "followed.jsonl", directory / "followed.err"
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = node.spawn("events", "--follow", *options, stdout=out, stderr=err)

    @property
    def seen(self) -> list[dict[str, Any]]:
        """The changes whose line is whole."""
        return [json.loads(line) for line in self._out.read_text().splitlines(keepends=True) if line.endswith("\n")]

    @property
    def said(self) -> str:
        """What it has said to its person."""
        return self._err.read_text()

    def has(self, kind: FeedKind) -> bool:
        """Whether it has seen a change of this kind."""
        return any(change["kind"] == kind for change in self.seen)

    def interrupt(self) -> int:
        """Ctrl-C; its exit code."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            kill_group(self.process)
            raise


def changes(node: Node, since: int = 0) -> list[dict[str, Any]]:
    """The feed as it is read afterwards."""
    return list(node.run("events", "--since", str(since), "--limit", "1000")["changes"])


def explore(url: str) -> list[str]:
    """A search that can succeed."""
    goal = ["--goal", "open the help page", "--start", f"{url}/", "--until", json.dumps({"url": "*/help"})]
    return ["explore", "run", *goal, "--seconds", "90"]


def check_form(change: dict[str, Any], nodes: set[str]) -> None:
    """A change holds ids of the declared forms and nothing else that a page or a person could have written."""
    assert set(change) == {"number", "at_ms", "kind", "ids", "who"}
    assert tuple(change["ids"]) == check_ids(FeedKind(change["kind"]), change["ids"])
    assert change["who"] in {"owner", "node", *nodes}
    for form, text in zip(ABOUT[FeedKind(change["kind"])].ids, change["ids"], strict=True):
        assert form != "node" or text in nodes


def test_a_follower_sees_the_whole_feed_over_a_restart_and_no_word_of_page_or_person(tmp_path: Path) -> None:
    config = ShopConfig()
    anna, bruno = (Node(tmp_path / name, name).create(tmp_path, CONFIG) for name in ("anna", "bruno"))
    word = tmp_path / "word.txt"
    word.write_text(config.password)
    follower = Follower(anna, tmp_path)
    try:
        with shop(tmp_path) as (url, _):
            until(lambda: "waiting" in follower.said, "the follower has begun")
            for node in (anna, bruno):
                node.start()
            pair(anna, bruno, grant="explore", grant_back="explore")
            actions = tmp_path / "actions.yaml"
            actions.write_text(
                f"title: Sign in as a canary\nstart: {url}/login?token=canary-in-an-address\nsteps:\n"
                f"  - fill: {{role: textbox, name: E-mail address, nth: 0, value: {config.user_email}}}\n"
                "  - fill: {role: textbox, name: Password, value: {secret: word}}\n"
            )
            given = ["--secret", f"word=@{word}", "--approve-class", "6"]
            session = anna.run("session", "record", str(actions), *given)["id"]
            anna.run("session", "replay", session, *given)
            found = anna.run(*explore(url))
            assert found["verified"]
            anna.run("session", "export", session, "--out", str(tmp_path / "one.tmsession"))
            anna.run("session", "purge", session, "--yes")
            anna.run("session", "import", str(tmp_path / "one.tmsession"))
            anna.run("node", "distrust", "bruno", "--reason", "canary in a reason")
            anna.stop()
            until(lambda: follower.has(FeedKind.NODE_STOPPED), "the node has said that it stops")
            until(lambda: follower.said.count("waiting") == 2, "the follower waits for the node")
            anna.start()
            anna.run("node", "rotate")
            until(lambda: follower.has(FeedKind.KEY_ROTATED), "the follower goes on")
            feed = changes(anna)
            until(lambda: len(follower.seen) >= len(feed), "the follower has it all")
            nodes = {node.run("node", "status")["node"] for node in (anna, bruno)}
        assert follower.interrupt() == 0
        told = _GO_ON.search(follower.said)
        assert told
        assert int(told[1]) == feed[-1]["number"]
        assert follower.seen == feed
        assert [change["number"] for change in feed] == list(range(1, len(feed) + 1))
        kinds = [change["kind"] for change in feed]
        assert set(kinds) >= {
            *(
                FeedKind.NODE_SERVING,
                FeedKind.NODE_STOPPED,
                FeedKind.PEER_PAIRED,
                FeedKind.PEER_DISTRUSTED,
                FeedKind.KEY_ROTATED,
            ),
            *(
                FeedKind.SESSION_RECORDED,
                FeedKind.SESSION_REPLAYED,
                FeedKind.SESSION_REMOVED,
                FeedKind.SESSION_IMPORTED,
            ),
            *(
                FeedKind.SEARCH_STARTED,
                FeedKind.SEARCH_ENDED,
                FeedKind.LEASE_GRANTED,
                FeedKind.LEASE_ENDED,
                FeedKind.CLAIM_VERIFIED,
            ),
        }
        assert kinds.count(FeedKind.NODE_SERVING) == 2
        for change in feed:
            check_form(change, nodes)
        written = json.dumps(feed)
        assert found_in(written.encode(), {"it": config.password.encode()}) == []
        for text in (config.user_email, "canary", "127.0.0.1", "http", "anna", "bruno", "help", "login"):
            assert text not in written
        assert found_in(b"x" + config.password.encode() + b"x", {"it": config.password.encode()}), "it would be found"
        assert refusal("events", "--since", str(len(feed) + 5), home=anna.home)[:2] == ("feed.gap", 1)
    finally:
        kill_group(follower.process)
        for node in (anna, bruno):
            node.stop()


@pytest.mark.field
def test_a_kill_loses_no_change_that_was_shown_and_its_follower_goes_on_without_a_gap(tmp_path: Path) -> None:
    anna = Node(tmp_path / "anna", "anna").create(tmp_path, CONFIG)
    follower = Follower(anna, tmp_path, "--since", "0")
    try:
        with shop(tmp_path, 40) as (url, _):
            for kills in range(1, 4):
                anna.start()
                client = anna.spawn(*explore(url))
                wanted = len(follower.seen) + 1 + kills
                until(lambda wanted=wanted: len(follower.seen) >= wanted, "changes were shown")  # type: ignore[misc]
                anna.kill()
                kill_group(client)
            shown = follower.seen
            anna.start()
            until(lambda: len(follower.seen) > len(shown), "the follower goes on")
            feed = changes(anna)
            until(lambda: len(follower.seen) >= len(feed), "the follower has it all")
        seen = follower.seen
        assert feed[: len(shown)] == shown
        assert seen[: len(feed)] == feed
        assert [change["number"] for change in seen] == list(range(1, len(seen) + 1))
        assert [change["kind"] for change in feed].count(FeedKind.NODE_SERVING) == 4
        assert FeedKind.NODE_STOPPED not in {change["kind"] for change in feed}
    finally:
        kill_group(follower.process)
        anna.stop()
