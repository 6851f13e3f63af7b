"""What `trailmesh session` says and writes, on a page whose only button sends a POST."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest

from tests.mesh_nodes import Node, cli, interrupt, kill_group, refusal, serving

pytestmark = pytest.mark.browser

_PRICED = "<title>Mug</title><h1>Mug</h1><p>Price: {price}</p><p>In stock</p>"
_PAGE = b"<title>Till</title><h1>Till</h1><form method=post action=/buy><button>Buy now</button></form>"


class _Till(http.server.BaseHTTPRequestHandler):
    prices: ClassVar[list[str]] = []
    """What ``/mug`` costs, visit by visit."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(_PRICED.format(price=self.prices.pop(0)).encode() if self.path == "/mug" else _PAGE)

    do_POST = do_GET

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what the command says."""


def _till() -> contextlib.AbstractContextManager[str]:
    return _serving(_Till)


@contextmanager
def _serving(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_request_that_the_guard_refused_is_told_with_its_step_and_at_the_end(served: Node, tmp_path: Path) -> None:
    file = tmp_path / "buy.yaml"
    with _till() as url:
        file.write_text(f"start: {url}/\nsteps:\n  - click: {{role: button, name: Buy now}}\n")
        record = ("session", "record", str(file), "--approve-class", "7")
        status, out, err = cli(*record, home=served.home)
        assert (status, out.splitlines()[0]) == (1, "partial: step 2: the guard refused POST /buy")
        (line,) = (line for line in err.splitlines() if "Buy now" in line)
        assert "2/2 ✓" in line
        assert line.endswith(f"! the guard refused POST /buy (allow it with --allow 'POST {url}/buy')")
        assert "\nguard refused   POST /buy\n" in out
        session = out.splitlines()[1].split()[1].rstrip(":")
        assert "step 2: the guard refused: POST /buy" in cli("session", "show", session, home=served.home)[1]
        status, out, _ = cli("session", "replay", session, "--approve-class", "7", home=served.home)
        assert status == 1
        assert out.startswith(
            "partial (the recording did not pass: step 2: the guard refused POST /buy), level text: 2 of 2"
        )
        assert "; the guard refused POST /buy" in out
        status, out, err = cli(*record, "--allow", f"POST {url}/buy", home=served.home)
        assert status == 0
        assert "refused" not in out + err


def test_what_a_page_says_now_is_shown_beside_what_matched_and_is_not_in_the_report(
    served: Node, tmp_path: Path
) -> None:
    file, report = tmp_path / "mug.yaml", tmp_path / "report.cose"
    _Till.prices[:] = ["£10.00", "£99000.00", "£99000.00"]
    with _till() as url:
        file.write_text(f"start: {url}/mug\nsteps:\n  - goto: {url}/\n")
        session = served.run("session", "record", str(file))["id"]
        status, out, err = cli("session", "replay", session, "--out", str(report), home=served.home)
        given = served.run("session", "replay", session)
    assert status == 1
    there = "text, under “Mug”, paragraph: “Price: £99000.00” instead of “Price: £10.00”"
    assert f"1/2 ✗ differs: open {url}/mug: {there}\n" in err
    told = "partial (step 1: other numbers in the text), level text: 1 of 2 steps matched; text: 1 same, 1 only numbers differ"
    assert out.splitlines()[:4] == [
        f"{told}; signed by this node",
        f"step 1, open {url}/mug, text, under “Mug”:",
        "  recorded  - paragraph: Price: £10.00",
        "  met       - paragraph: Price: £99000.00",
    ]
    assert given["differences"] == [
        {
            "step": 1,
            "what": "text",
            "recorded": "- paragraph: Price: £10.00",
            "met": "- paragraph: Price: £99000.00",
            "also": [],
            "place": "under “Mug”",
            "note": "",
        }
    ]
    assert [step["text"] for step in given["report"]["steps"]] == ["numbers", "same"]
    assert b"99000" not in report.read_bytes()
    assert told in cli("session", "verify", str(report), home=served.home)[1]
    assert served.run("session", "verify", str(report))["text"] == {"same": 1, "masked": 0, "numbers": 1, "differs": 0}
    assert cli("session", "show", session, home=served.home)[1].count(told) == 2


class _Cellar(http.server.BaseHTTPRequestHandler):
    """One record that can be edited."""

    record: ClassVar[list[str]] = ["Beer"]
    saved: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        name = self.record[0]
        self.wfile.write(
            f"<title>{name}</title><h1>{name}</h1><form method=post action=/save><label>Name <input name=name value={name}>"
            "</label><button>Save</button></form>".encode()
        )

    def do_POST(self) -> None:
        self.saved.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.do_GET()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what the command says."""


def test_a_record_is_not_overwritten_once_the_replay_has_diverged(anna: Node, tmp_path: Path) -> None:
    file, report = tmp_path / "edit.yaml", tmp_path / "report.cose"
    _Cellar.record[:], _Cellar.saved[:] = ["Beer"], []
    with _serving(_Cellar) as url:
        file.write_text(
            f"start: {url}/\nsteps:\n  - extract: page\n  - fill: {{role: textbox, name: Name, value: Ale}}\n"
            "  - click: {role: button, name: Save}\n"
        )
        allowed = ("--approve-class", "4", "--allow", f"POST {url}/save")
        session = anna.run("session", "record", str(file), *allowed)["id"]
        assert _Cellar.saved == ["name=Ale"]
        _Cellar.record[:], _Cellar.saved[:] = ["Cider"], []
        status, out, err = cli("session", "replay", session, *allowed, "--out", str(report), home=anna.home)
        assert (status, _Cellar.saved) == (1, [])
        assert "2/4 ✗ differs" in err
        assert "3/4 ✗ replay.diverged" in err
        assert "4/4" not in err
        said = (
            "step 3 not performed: step 1 did not match (another title), and this step writes (class 3); "
            "`--on-mismatch go` performs it, `--on-mismatch ask` asks before each such step"
        )
        assert out.splitlines()[1] == said
        told = "partial (step 1: other controls or headings), level text: 0 of 4 steps matched, stopped at step 3"
        assert out.startswith(told)
        verified = anna.run("session", "verify", str(report))
        assert (verified["matched"], verified["steps"], verified["stopped_at"]) == (0, 4, 3)
        assert told in cli("session", "verify", str(report), home=anna.home)[1]
        assert told in cli("session", "show", session, home=anna.home)[1]
        status, out, err = cli("session", "replay", session, *allowed, "--on-mismatch", "go", home=anna.home)
        assert (status, _Cellar.saved) == (1, ["name=Ale"])
        assert "not performed" not in out
        notes = [row["note"] for row in anna.run("audit")["rows"]]
        noted = [note["on_mismatch"] for note in notes if "on_mismatch" in note]
        assert sorted(noted) == ["go", "stop"]


def test_a_bundle_called_by_the_id_of_its_session_is_a_file_and_is_not_written_over(
    served: Node, tmp_path: Path
) -> None:
    file = tmp_path / "till.yaml"
    with _till() as url:
        file.write_text(f"steps:\n  - goto: {url}/\n")
        session = served.run("session", "record", str(file))["id"]
    here, bundle = tmp_path / "here", f"{session}.tmsession"
    here.mkdir()

    def run(*arguments: str) -> tuple[int, dict[str, Any]]:
        status, out, _ = cli(*arguments, "--json", home=served.home, cwd=here)
        return status, json.loads(out)

    assert run("session", "export", session)[0] == 0
    assert run("session", "verify", bundle)[1]["what"] == "bundle"
    assert run("session", "verify", session)[1]["what"] == "session"
    assert run("session", "import", bundle)[1]["id"] == session
    assert run("log", "prove", bundle)[0] == 0
    assert "is a file" in run("session", "replay", bundle)[1]["error"]["message"]
    for verb in (("session", "verify"), ("log", "prove")):
        status, answer = run(*verb, f"{session[:-1]}.tmsession")
        assert (status, answer["error"]["code"]) == (2, "input.no_file")
    (here / bundle).write_text("mine")
    status, answer = run("session", "export", session)
    assert (status, answer["error"]["code"]) == (2, "input.invalid")
    assert (here / bundle).read_text() == "mine"
    assert run("session", "export", session, "--force")[0] == 0
    assert run("session", "verify", bundle)[0] == 0


def test_a_recording_that_was_killed_is_listed_as_interrupted_with_its_steps(tmp_path: Path) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    file = tmp_path / "actions.yaml"
    with _till() as url:
        file.write_text(f"start: {url}/\nsteps:\n  - wait: {{text: never shown, timeout_ms: 30000}}\n")
        running = node.spawn("session", "record", str(file))
        assert running.stderr is not None
        assert "1/2" in running.stderr.readline()
        kill_group(running)
    (listed,) = node.run("session", "ls")["sessions"]
    shown = node.run("session", "show", listed["id"])
    assert (
        (listed["verdict"], listed["steps"]) == ("interrupted", 1) == (shown["session"]["verdict"], len(shown["steps"]))
    )
    assert node.run("session", "purge", listed["id"], "--yes")["steps"] == 1


def test_a_recording_that_runs_is_listed_as_open_with_the_steps_so_far(tmp_path: Path) -> None:
    file = tmp_path / "actions.yaml"
    with _till() as url, serving(tmp_path, "anna") as (node,):
        file.write_text(f"start: {url}/\nsteps:\n  - wait: {{text: never shown, timeout_ms: 30000}}\n")
        running = node.spawn("session", "record", str(file))
        assert running.stderr is not None
        assert "1/2" in running.stderr.readline()
        (listed,) = node.run("session", "ls")["sessions"]
        assert (listed["verdict"], listed["steps"]) == ("open", 1)
        assert refusal("session", "purge", listed["id"], "--yes", home=node.home)[:2] == ("input.invalid", 2)
        interrupt(running)


def test_a_replay_whose_site_is_down_is_signed_and_says_nothing_about_the_recording(
    served: Node, tmp_path: Path
) -> None:
    report = tmp_path / "report"
    file = tmp_path / "look.yaml"
    with _till() as url:
        file.write_text(f"start: {url}/\nsteps:\n  - extract: {{as: title, role: heading, name: Till}}\n")
        session = served.run("session", "record", str(file))["id"]
    status, out, _ = cli("session", "replay", session, "--out", str(report), home=served.home)
    said = "; the site could not be reached [browser.navigation]: this says nothing about the recording"
    assert (status, out.splitlines()[0].endswith(said)) == (3, True)
    assert served.run("session", "verify", str(report))["unreached"] == "browser.navigation"
    assert said in cli("session", "show", session, home=served.home)[1]
    with _serving(_Till) as other:
        pass  # nobody listens at its address any more
    status, out, _ = cli("session", "replay", session, "--base-url", other, home=served.home)
    met = next(line for line in out.splitlines() if line.startswith("  met "))
    assert (status, met.startswith(f"  met       open {other}/: ")) == (3, True)


class _Door(_Till):
    """A password, then a way in."""

    greeting: ClassVar[list[str]] = ["Welcome"]

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        form = "<form method=post action=/in><input type=password name=p aria-label=Password><button>Sign in</button></form>"
        self.wfile.write(f"<title>Door</title><h1>{self.greeting[0]}</h1>{form}".encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<title>Inside</title><h1>Inside</h1>")


def test_a_replay_that_was_not_permitted_what_it_needs_ends_unlike_one_of_a_changed_site(
    served: Node, tmp_path: Path
) -> None:
    file, word = tmp_path / "door.yaml", tmp_path / "word"
    word.write_text("open sesame\n")
    _Door.greeting[:] = ["Welcome"]
    with _serving(_Door) as url:
        file.write_text(
            f"start: {url}/\nsteps:\n  - fill: {{role: textbox, name: Password, value: {{secret: word}}}}\n"
            "  - click: {role: button, name: Sign in}\n  - extract: {as: place, role: heading, name: Inside}\n"
        )
        secret, approve, allow = (
            ("--secret", f"word=@{word}"),
            ("--approve-class", "6"),
            ("--allow", f"POST {url}/in"),
        )
        session = served.run("session", "record", str(file), *secret, *approve, *allow)["id"]

        def replay(*options: str) -> tuple[int, str]:
            status, out, _ = cli("session", "replay", session, *options, home=served.home)
            return status, out

        assert replay(*secret, *approve, *allow)[0] == 0
        status, out = replay(*secret, *allow)
        assert (status, "1 of 4 steps matched, stopped at step 2" in out) == (2, True)
        assert "step 2: risk class 6 is not approved; the owner can add `--approve-class 6`" in out
        status, out = replay(*secret, *approve)
        assert (status, "2 of 4 steps matched" in out) == (2, True)
        assert "step 3: the guard refused POST /in" in out
        assert "the owner can add `--allow 'POST URL'`" in out
        status, out = replay("--secret", f"word@https://else.example=@{word}", *approve, *allow)
        assert (status, "step 2: the secret “word” is for https://else.example" in out) == (2, True)
        assert "--secret NAME@https://shop.example=SOURCE" in out
        given = cli("session", "replay", session, *secret, *allow, "--json", home=served.home)
        assert given[0] == 2
        answer = json.loads(given[1])
        assert (answer["replayable"], answer["stopped_at"], answer["report"]["verdict"]) == (4, 2, "partial")
        _Door.greeting[:] = ["Good morning"]
        for options in ((*approve, *allow), approve, allow):
            status, out = replay(*secret, *options)
            assert (status, "the call lacked" in out) == (1, False)


def test_what_was_extracted_is_printed_and_each_replay_has_its_time_and_id(served: Node, tmp_path: Path) -> None:
    file = tmp_path / "till.yaml"
    with _till() as url:
        file.write_text(f"start: {url}/\nsteps:\n  - extract: {{as: heading, role: heading, name: Till}}\n")
        status, out, _ = cli("session", "record", str(file), home=served.home)
        session = out.split()[1].rstrip(":")
        assert (status, out.splitlines()[-1]) == (0, "  heading: Till")
        reports = [served.run("session", "replay", session)["report"] for _ in range(2)]
    shown = cli("session", "show", session, home=served.home)[1]
    assert "step 2: read: Till" in shown
    for report in reports:
        (line,) = (line for line in shown.splitlines() if line.startswith(report["id"][:11] + "  20"))
        assert line.endswith(" UTC, replayed by this node, pass, level text: 2 of 2 steps matched; text: 2 same")


def test_many_files_are_one_run_with_one_report_and_what_is_only_trouble_is_tried_again(
    served: Node, tmp_path: Path
) -> None:
    """A green recording, one that is red, and one whose site is not there at first: its hook starts it."""
    out, log = tmp_path / "out", tmp_path / "hooks.log"
    with _till() as url, contextlib.ExitStack() as stack:
        port = stack.enter_context(contextlib.closing(socket.socket()))
        port.bind(("127.0.0.1", 0))  # bound and not listened at: nobody answers there
        away = f"http://127.0.0.1:{port.getsockname()[1]}/"
        for name, start, text in (("good", url, "Till"), ("red", url, "Pill"), ("away", away, "Till")):
            said = f"start: {start}\nsteps:\n  - assert: {{text: {text}, timeout_ms: 100}}\n"
            (tmp_path / f"{name}.yaml").write_text(said)
        files = [str(tmp_path / f"{name}.yaml") for name in ("good", "red", "away")]
        session = served.run("session", "record", files[0])["id"]
        files.append(session)
        hooks = ("--before", f"echo before >> {log}", "--after", f"echo after >> {log}")
        run = ("session", "run", *files, "--jobs", "2", "--retries", "1", "--report", str(out), *hooks)
        status, told, err = cli(*run, "--json", home=served.home, timeout_s=100)
    ran = json.loads(told)["files"]
    assert (status, [one["outcome"] for one in ran]) == (1, ["pass", "differs", "trouble", "pass"])
    assert [one["attempts"] for one in ran] == [1, 1, 2, 1]
    assert sorted(log.read_text().split()) == ["after"] * 5 + ["before"] * 5
    assert sorted(line.split()[0] for line in err.splitlines()) == ["1/4", "2/4", "3/4", "4/4"]
    (root,) = [ElementTree.parse(out / "junit.xml").getroot()]
    assert (root.attrib["failures"], root.attrib["errors"]) == ("1", "1")
    index = (out / "index.html").read_text()
    pages = re.findall(r'href="([^"]+)"', index)
    assert [name[:3] for name in pages] == ["001", "002", "003", "004"]
    assert all((out / name).stat().st_mode & 0o777 == 0o600 for name in (*pages, "index.html", "junit.xml"))
    assert "2 of 4 passed" in index and "tried 2 times" in index and "<script" not in index


class _Staging(http.server.BaseHTTPRequestHandler):
    """A site behind HTTP basic authentication."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == f"Basic {base64.b64encode(b'ann:pass word').decode()}"
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if not known:
            self.send_header("WWW-Authenticate", 'Basic realm="staging"')
        self.end_headers()
        refused = b"" if self.path == "/empty" else b"<title>No</title><h1>No</h1>"
        self.wfile.write(b"<title>Staging</title><h1>Staging</h1>" if known else refused)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what the command says."""


def test_a_session_behind_basic_authentication_keeps_the_name_of_the_secret_and_a_replay_needs_it(
    anna: Node, tmp_path: Path
) -> None:
    """Taken out: ``step.basic`` in ``replay``."""
    file, word, bundle = tmp_path / "staging.yaml", tmp_path / "word", tmp_path / "staging.tmsession"
    word.write_text("ann:pass word\n")
    with _serving(_Staging) as url:
        file.write_text(f"start: {url}/\nsteps:\n  - assert: {{title: Staging}}\n")
        secret = ("--secret", f"staging:basic@{url}=file:{word}")
        # Where the answer is empty, the browser shows no page, and the recording stops.
        empty = tmp_path / "empty.yaml"
        empty.write_text(f"start: {url}/empty\nsteps:\n  - assert: {{title: Staging}}\n")
        for refused in (file, empty):
            status, _, err = cli("session", "record", str(refused), home=anna.home)
            assert status != 0 and f"--secret NAME:basic@{url}=SOURCE" in err
        recorded = anna.run("session", "record", str(file), *secret)
        assert (recorded["verdict"], recorded["secrets"]) == ("pass", ["staging"])
        assert refusal("session", "replay", recorded["id"], home=anna.home)[:2] == ("action.secret_missing", 2)
        assert anna.run("session", "replay", recorded["id"], *secret)["report"]["verdict"] == "pass"
    anna.run("session", "export", recorded["id"], "--out", str(bundle))
    for kept in (bundle, *(path for path in anna.home.rglob("*") if path.is_file())):
        for said in (b"pass word", base64.b64encode(b"ann:pass word")):
            assert said not in kept.read_bytes()


def test_a_recording_that_failed_shows_its_page_and_what_stands_in_place_of_the_missing_element(
    served: Node, tmp_path: Path
) -> None:
    """Taken out: ``_failed`` in ``Reading._show``."""
    file, html = tmp_path / "edit.yaml", tmp_path / "edit.html"
    with _serving(_Editor) as url:
        file.write_text(f"start: {url}/\nsteps:\n  - fill: {{role: textbox, name: Content, value: a}}\n")
        status, _, err = cli("session", "record", str(file), home=served.home)
        code, _, error = refusal("session", "record", str(file), home=served.home)
    assert (status, code) == (1, "action.target_missing")
    assert (
        error["detail"]["near"]
        == error["detail"]["candidates"]
        == ["{role: textbox, nth: 0}", "{role: textbox, nth: 1}"]
    )
    assert "{role: textbox, nth: 0}" in err
    session = error["detail"]["session"]
    shown = served.run("session", "show", session, "--html", str(html))["failed"]
    assert (shown["step"], shown["title"], shown["more"]) == (2, "Edit", 0)
    assert [line.strip() for line in shown["lines"]] == ["- textbox", "- textbox", '- button "Save"']
    out = cli("session", "show", session, home=served.home)[1]
    assert "failed page:" in out and "  title  Edit" in out and '    - button "Save"' in out
    assert "The page at which it ended" in html.read_text()


class _Editor(_Till):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<title>Edit</title><textarea></textarea><input><button>Save</button>")
