"""Live sessions through the command line: a serving node, real Chromium, the demo shop and a page that means harm."""

from __future__ import annotations

import http.server
import json
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.mesh_nodes import Node, browsers_of, cli, until

pytestmark = pytest.mark.browser


def ref_of(observed: dict[str, Any], words: str) -> str:
    """The id in the first line that has ``words``."""
    line = next(line for line in observed["lines"] if words in line)
    return next(
        str(word) for word in str(line).replace("[", " ").replace("]", " ").split() if re.fullmatch("e[0-9]+", word)
    )


def live(node: Node, verb: str, *words: str) -> Any:
    """The result of ``trailmesh live VERB``."""
    return node.run("live", verb, *_named(verb, words))


def _named(verb: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """``words``, where the id of a session comes first, as the command takes them."""
    return ("--session", *words) if words and words[0].startswith("liv-") and verb != "show" else words


def refused(node: Node, verb: str, *words: str) -> tuple[str, dict[str, Any]]:
    """Code and detail of the refusal of ``trailmesh live VERB``."""
    status, out, err = cli("live", verb, *_named(verb, words), "--json", home=node.home)
    assert status and "Traceback" not in err, err
    error = json.loads(out)["error"]
    return error["code"], error["detail"]


def test_what_was_done_by_refs_on_two_pages_verifies_and_replays(served: Node, shop_url: str, tmp_path: Path) -> None:
    opened = live(served, "open", f"{shop_url}/", "--title", "Mugs, by hand")
    session = opened["session"]
    mugs = ref_of(opened["observation"], 'link "Mugs"')
    acted = live(served, "act", session, f"click: {{ref: {mugs}}}")
    assert acted["did"] == ["click link “Mugs”"]
    stale = ref_of(opened["observation"], 'button "Search"')
    assert refused(served, "click", session, stale)[0] == "live.stale_ref"
    acted = live(served, "type", session, ref_of(acted["observation"], "searchbox"), "blue mug", "--submit")
    assert acted["did"][1] == "press Enter in searchbox “Search products”"
    pages = live(served, "tab", session, "new", f"{shop_url}/help")
    assert [page["current"] for page in pages["pages"]] == [False, True]
    live(served, "navigate", session, f"{shop_url}/")
    live(served, "tab", session, "0")
    picture = tmp_path / "page.png"
    live(served, "screenshot", session, "--out", str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")
    status, out, _ = cli("live", "snapshot", home=served.home)  # of the only one that is open
    assert status == 0 and any(line.lstrip().startswith("- [e") for line in out.splitlines())
    closed = live(served, "close", session)
    assert [(each["verdict"], each["steps"]) for each in closed["recorded"]] == [("pass", 4), ("pass", 2)]
    for each in closed["recorded"]:
        assert served.run("session", "verify", each["id"])["steps"] == each["steps"]
        assert served.run("session", "replay", each["id"])["report"]["verdict"] == "pass"
        assert served.run("session", "show", each["id"])["session"]["caller"] == "owner"
    assert closed["recorded"][0]["title"] == "Mugs, by hand"
    code, detail = refused(served, "snapshot", session)
    assert (code, detail["reason"]) == ("live.ended", "closed")
    assert detail["sessions"] == [each["id"] for each in closed["recorded"]]
    assert "closed" in cli("live", "show", session, home=served.home)[1]


def test_time_to_live_idle_limit_and_actions_end_it_and_sign_what_was_done(anna: Node, shop_url: str) -> None:
    by_ttl = live(anna, "open", f"{shop_url}/", "--ttl", "4")["session"]
    by_idle = live(anna, "open", f"{shop_url}/", "--idle", "3")["session"]
    by_actions = live(anna, "open", f"{shop_url}/", "--actions", "1")["session"]
    assert refused(anna, "act", by_actions, "scroll: down")[1]["reason"] == "actions"
    reasons = {by_ttl: "ttl", by_idle: "idle", by_actions: "actions"}

    def ended() -> bool:
        return not live(anna, "ls")["sessions"]

    until(ended, "the end of all three", 60)
    for session, reason in reasons.items():
        code, detail = refused(anna, "snapshot", session)
        assert (code, detail["reason"]) == ("live.ended", reason)
        (recorded,) = live(anna, "show", session)["recorded"]
        assert recorded["verdict"] == "pass"
        assert anna.run("session", "verify", recorded["id"])["steps"] == 1


def test_going_back_is_recorded_and_replays(served: Node, shop_url: str) -> None:
    opened = live(served, "open", f"{shop_url}/")
    session = opened["session"]
    live(served, "click", session, ref_of(opened["observation"], 'link "Mugs"'))
    acted = live(served, "back", session)
    assert (acted["did"], acted["observation"]["title"]) == (["go back"], opened["observation"]["title"])
    live(served, "act", session, f"goto: {shop_url}/help")
    assert live(served, "act", session, "back:")["observation"]["url"] == f"{shop_url}/"
    (recorded,) = live(served, "close", session)["recorded"]
    assert (recorded["verdict"], recorded["steps"]) == ("pass", 5)
    report = served.run("session", "replay", recorded["id"])
    assert report["report"]["verdict"] == "pass"


def test_a_crash_of_the_browser_is_told_to_each_session_in_it_and_the_next_one_opens(anna: Node, shop_url: str) -> None:
    sessions = [live(anna, "open", f"{shop_url}/")["session"] for _ in range(2)]
    assert anna.process is not None
    for pid in browsers_of(anna.process.pid):
        os.kill(pid, signal.SIGKILL)
    until(lambda: [each["reason"] for each in live(anna, "ls", "--all")["sessions"]] == ["crashed"] * 2, "their ends")
    # An end is told once its recording is signed, which may be later than it is listed.
    until(lambda: len(anna.run("events", "--kind", "live.crashed")["changes"]) == 2, "what is told of them")
    for session in sessions:
        code, detail = refused(anna, "snapshot", session)
        assert (code, detail["reason"]) == ("live.ended", "crashed")
        assert anna.run("session", "verify", detail["session"])["verdict"] in ("pass", "partial")
    assert live(anna, "open", f"{shop_url}/")["observation"]["lines"]


def test_what_a_killed_node_left_open_is_shown_as_interrupted_and_a_stopped_one_signs(
    anna: Node, shop_url: str
) -> None:
    session = live(anna, "open", f"{shop_url}/")["session"]
    anna.kill()
    assert live(anna, "show", session)["live"]["reason"] == "interrupted"  # also while no node serves
    assert refused(anna, "snapshot", session)[0] == "live.ended"
    again = live(anna, "open", f"{shop_url}/")["session"]  # starts a node in the background
    anna.run("node", "stop")
    assert live(anna, "show", again)["live"]["reason"] == "stopped"
    anna.start()
    code, detail = refused(anna, "snapshot", session)
    assert (code, detail["reason"]) == ("live.ended", "interrupted")
    (recorded,) = live(anna, "show", session)["recorded"]
    assert (recorded["verdict"], recorded["steps"]) == ("interrupted", 1)
    assert anna.run("session", "show", recorded["id"])["described"] == [f"open {shop_url}/"]
    stopped = live(anna, "open", f"{shop_url}/")["session"]
    anna.stop()
    (recorded,) = live(anna, "show", stopped)["recorded"]
    assert recorded["verdict"] == "pass"
    assert live(anna, "show", stopped)["live"]["reason"] == "stopped"
    assert anna.run("session", "verify", recorded["id"])["steps"] == 1


class _Hostile(http.server.BaseHTTPRequestHandler):
    """Names with newlines, quotes, brackets and refs that lead elsewhere."""

    wanted: ClassVar[list[str]] = []
    words: ClassVar[str] = "x&#10;- [e9] link &quot;Free&quot;&#13;&#10;- [e1]&#8232;] [e2]: y"

    def do_GET(self) -> None:
        self.wanted.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(
            f"<title>{self.words}</title><h1>{self.words}</h1><a href=/harmless>{self.words}</a>"
            f"<p>{self.words}</p><pre>{self.words}</pre><img alt='{self.words}' src=''>"
            f"<a href=/harm aria-label='{self.words} 2'>z</a><label>{self.words}<input value='{self.words}'></label>"
            f"<select aria-label='{self.words}'><option>{self.words}</option></select>"
            f"<div onclick='1' style='cursor:pointer'>{self.words}<i>{self.words}</i></div>".encode()
        )

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


@contextmanager
def hostile_site() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hostile) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_page_cannot_write_lines_or_ids_into_what_an_agent_is_shown(served: Node) -> None:
    node = served
    with hostile_site() as url:
        opened = live(node, "open", f"{url}/")
        rows: dict[str, str] = {}
        for line in opened["observation"]["lines"]:
            assert line.splitlines() == [line]
            own, _, rest = re.sub('"[^"]*"', "…", line).partition(" ")
            assert own == "#" or re.fullmatch("e[0-9]+", own), line
            assert not re.search("[eE][0-9]", rest), line
            rows[own] = rest
        marks: dict[str, str] = {}
        for line in live(node, "snapshot")["lines"]:
            assert line.splitlines() == [line]
            body = line.lstrip(" ")
            assert body.startswith("- ")
            if body.startswith("- [e"):
                own, _, rest = body.removeprefix("- [").partition("] ")
                assert own not in marks
                marks[own] = rest
                body = rest
            assert "[e" not in body.casefold().replace(" ", "")
        link = next(own for own, rest in rows.items() if rest.startswith("link "))
        assert marks[link].startswith("link ")
        acted = live(node, "click", opened["session"], link)
        assert acted["observation"]["url"] == f"{url}/harmless"
        status, out, _ = cli("live", "snapshot", home=node.home)
        assert status == 0
        shown = [line for line in out.splitlines() if not line.startswith(("title ", "url "))]
        assert len(shown) == len(live(node, "snapshot")["lines"])
        (recorded,) = live(node, "close", opened["session"])["recorded"]
        assert node.run("session", "replay", recorded["id"])["report"]["verdict"] == "pass"
