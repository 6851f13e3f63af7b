"""Bad input through the command line: a clear message, a stable code, the right exit code, one form of error,
nothing lost.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.mesh_nodes import CONFIG, ROOT, Node, browsers_of, cli, kill_group, refusal, serving, shop, until
from tests.tables import each

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A node that does not serve."""
    directory = tmp_path_factory.mktemp("cli")
    return Node(directory / "anna", "anna").create(directory, CONFIG).home


def _explore(start: str, condition: str = "{title: x}", *more: str) -> list[str]:
    return ["explore", "run", "--goal", "g", "--start", start, "--until", condition, "--seconds", "5", *more]


@contextmanager
def _deaf_server() -> Iterator[str]:
    """A server that accepts and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        held: list[socket.socket] = []

        def accept() -> None:
            try:
                while True:
                    held.append(server.accept()[0])
            except OSError:
                pass  # closed: the end of the test

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in held:
                connection.close()


def _dead_address() -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"


# --- words -----------------------------------------------------------------------------------------------------------


@each(
    ("arguments", "code", "status"),
    [
        (["node", "join", "--peer", "tmi1.not-an-invite"], "invite.invalid", 2),
        (["node", "join", "--peer", ""], "invite.invalid", 2),
        (["node", "join", "--peer", "https://127.0.0.1:7443"], "pairing.unconfirmed", 2),
        (["node", "join", "--peer", "tmi1.x", "--fingerprint", "x"], "input.invalid", 2),
        (["node", "pair"], "pairing.unconfirmed", 2),
        (["node", "pair", "--fingerprint", "x"], "node.not_serving", 2),
        (["node", "grant", "nobody", "everything"], "input.invalid", 2),
        (["node", "grant", "nobody", "audit"], "input.not_found", 2),
        (["node", "ungrant", "nobody", "status"], "input.invalid", 2),
        (["node", "invite"], "node.not_serving", 2),
        (["node", "knock", "https://127.0.0.1:1", "--key", "zz"], "input.invalid", 2),
        (["session", "show", "ses-P2FRIBWZAO6JCN73NHTWI"], "input.not_found", 2),
        (["session", "show", "ses-P2FRIBWZAO6JCN73NHTWX"], "id.invalid", 2),
        (["session", "show", "nonsense"], "id.invalid", 2),
        (["session", "export", "ses-P2FRIBWZAO6JCN73NHTWX"], "id.invalid", 2),
        (["session", "verify", "/no/such/file"], "input.no_file", 2),
        (["session", "import", "/no/such/file"], "input.no_file", 2),
        (["session", "record", "/no/such/file"], "input.no_file", 2),
        (["explore", "show", "sea-P2FRIBWZAO6JCN73NHTWX"], "id.invalid", 2),
        (["explore", "run", "--resume", "sea-nonsense"], "id.invalid", 2),
        (["explore", "run", "--goal", "g"], "input.invalid", 2),
        (_explore("http://127.0.0.1:1/", "{}"), "condition.invalid", 2),
        (_explore("http://127.0.0.1:1/", ""), "condition.invalid", 2),
        (_explore("http://127.0.0.1:1/", "{titel: x}"), "condition.invalid", 2),
        (_explore("http://127.0.0.1:1/", "{title: "), "condition.invalid", 2),
        (_explore("http://127.0.0.1:1/", "@/no/such/file"), "condition.invalid", 2),
        (_explore("http://127.0.0.1:1/", "{all: &a [*a]}"), "condition.invalid", 2),
        (_explore("http://127.0.0.1:1/", "{title: x}", "--peer", "nobody"), "node.not_serving", 2),
    ],
)
def test_wrong_words_are_refused_with_their_code(home: Path, arguments: list[str], code: str, status: int) -> None:
    assert refusal(*arguments, home=home)[:2] == (code, status)


def test_without_json_an_error_is_one_line_and_its_remedy_on_standard_error(home: Path) -> None:
    status, out, err = cli("session", "show", "nonsense", home=home)
    assert (status, out) == (2, "")
    assert err.startswith("error [id.invalid]")
    assert "→ Copy the whole id again" in err


def test_a_home_without_a_node_says_how_to_make_one(tmp_path: Path) -> None:
    code, status, error = refusal("node", "status", home=tmp_path)
    assert (code, status) == ("node.not_initialised", 2)
    assert "node init" in error["remedy"]
    assert list(tmp_path.iterdir()) == []


def test_a_node_is_not_made_twice(home: Path) -> None:
    key = (home / "witness.key").read_bytes()
    assert refusal("node", "init", home=home)[:2] == ("node.already_initialised", 2)
    assert (home / "witness.key").read_bytes() == key


@pytest.mark.parametrize(
    "text", ["colour: red", "explore: {workers: many}", "name: [", "[" * 3_000, "name: 2026-99-99", "- a"]
)
def test_a_wrong_configuration_names_the_place(tmp_path: Path, text: str) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    (node.home / "config.yaml").write_text(text)
    code, status, error = refusal("node", "status", home=node.home)
    assert (code, status) == ("config.invalid", 2)
    assert "config.yaml" in error["message"]


def test_python_dash_m_node_is_the_node_group(home: Path) -> None:
    for arguments in (["join", "--peer", "tmi1.x", "--json"], ["join", "--help"], ["status", "--json"]):
        where = [] if "--help" in arguments else ["--home", str(home)]
        command = [sys.executable, "-m", "node", *arguments, *where]
        short = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        long = cli("node", *arguments, *where)
        assert short.returncode == long[0]
        same = short.stdout.replace("python -m node", "trailmesh node")
        # A node that was never served counts refusals from each command on.
        assert re.sub(r"\d{13}", "", same) == re.sub(r"\d{13}", "", long[1])


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title: t\nstart: http://127.0.0.1:1/\nsteps:\n  - clikc: {role: link}\n", 4),
        ("title: t\nsteps: [goto: 'x'\n", 3),
        ("a: &a [x, x]\nb: &b [*a, *a]\nsteps: [*b, *b]\n", 1),
        ("steps:\n  - goto: http://127.0.0.1:1/\n  - click: {role: link, role: button}\n", 3),
        ("[" * 5_000, 1),
    ],
    ids=["typo", "cut", "bomb", "twice", "deep"],
)
def test_a_malformed_action_file_is_refused_with_its_line(home: Path, tmp_path: Path, text: str, line: int) -> None:
    file = tmp_path / "actions.yaml"
    file.write_text(text)
    code, status, error = refusal("session", "record", str(file), home=home)
    assert (code, status) == ("input.invalid", 2)
    assert error["detail"]["line"] == line
    assert f"line {line}" in error["message"]


def test_a_broken_bundle_is_refused_and_nothing_of_it_is_kept(home: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.tmsession"
    for content in (b"", b"PK", b"PK\x03\x04" + bytes(500)):
        broken.write_bytes(content)
        for verb in ("verify", "import"):
            code, status, _ = refusal("session", verb, str(broken), home=home)
            assert code in ("bundle.invalid", "envelope.invalid")
            assert status == 4
    assert json.loads(cli("session", "ls", "--json", home=home)[1])["sessions"] == []


# --- the browser -----------------------------------------------------------------------------------------------------


def test_a_page_that_never_answers_ends_within_the_configured_time_and_the_session_is_kept(
    tmp_path: Path,
) -> None:
    config = CONFIG.replace("navigation_timeout_ms: 4000", "navigation_timeout_ms: 1000")
    home = Node(tmp_path / "anna", "anna").create(tmp_path, config).home
    file = tmp_path / "actions.yaml"
    with _deaf_server() as url:
        file.write_text(f"steps:\n  - goto: {url}\n")
        code, status, error = refusal("session", "record", str(file), home=home)
        assert (code, status) == ("browser.slow", 1)
        shown = json.loads(cli("session", "show", error["detail"]["session"], "--json", home=home)[1])
        assert shown["steps"][0]["duration_ms"] in range(1_000, 14_000)
        assert shown["session"]["verdict"] == "fail"
        assert refusal(*_explore(url), home=home)[:2] == ("search.start_failed", 3)


def test_a_start_page_that_is_down_is_said_at_once_and_no_search_is_kept(home: Path) -> None:
    before = cli("explore", "show", "--json", home=home)[1]
    assert refusal(*_explore(f"http://{_dead_address()}/"), home=home)[:2] == ("search.start_failed", 3)
    assert refusal(*_explore("file:///etc/passwd"), home=home)[:2] == ("browser.scheme", 2)
    assert cli("explore", "show", "--json", home=home)[1] == before


def test_a_browser_that_is_not_there_is_said_at_once(tmp_path: Path) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path, "browser: {executable: /no/such/chromium}\n")
    file = tmp_path / "actions.yaml"
    file.write_text("steps:\n  - goto: http://127.0.0.1:1/\n")
    assert refusal("session", "record", str(file), home=node.home)[:2] == ("browser.missing", 3)
    assert refusal(*_explore("http://127.0.0.1:1/"), home=node.home)[:2] == ("browser.missing", 3)
    status, out, _ = cli("node", "doctor", "--json", home=node.home)
    assert status == 1
    (fault,) = [check for check in json.loads(out)["checks"] if check["status"] == "fault"]
    assert fault["name"] == "browser"
    assert fault["remedy"]


def test_a_browser_that_is_killed_in_the_middle_of_a_recording_leaves_what_was_done(tmp_path: Path) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    file = tmp_path / "actions.yaml"
    with shop(tmp_path) as (url, _):
        steps = "\n".join("  - click: {role: link, name: Mugs}" for _ in range(40))
        file.write_text(f"start: {url}/\nsteps:\n{steps}\n")
        running = node.spawn("session", "record", str(file))
        assert running.stderr is not None
        assert "1/41" in running.stderr.readline()
        for pid in browsers_of(running.pid):
            subprocess.run(["kill", "-9", str(pid)], check=False, stderr=subprocess.DEVNULL)
        out, _ = running.communicate(timeout=120)
        error = json.loads(out)["error"]
        assert (error["code"], running.returncode) == ("browser.crashed", 3)
        kept = json.loads(cli("session", "show", error["detail"]["session"], "--json", home=node.home)[1])
        assert kept["steps"][0]["ok"]
        assert kept["signed_by"]


# --- a node that serves ----------------------------------------------------------------------------------------------


def test_invites_are_used_once_expire_and_need_their_peer_and_scopes_have_names(tmp_path: Path) -> None:
    with serving(tmp_path, "anna") as (anna,):
        bruno = Node(tmp_path / "bruno", "bruno").create(tmp_path)
        assert refusal("node", "invite", "--grant", "everything", home=anna.home)[:2] == ("input.invalid", 2)
        invite = anna.run("node", "invite", "--grant", "explore")["invite"]
        assert refusal("node", "join", "--peer", invite, "--grant", "all", home=bruno.home)[:2] == ("input.invalid", 2)
        assert refusal("node", "join", "--peer", invite, home=anna.home)[:2] == ("invite.refused", 4)
        bruno.run("node", "join", "--peer", invite)
        code, status, _ = refusal("node", "join", "--peer", invite, home=bruno.home)
        assert (code, status) in (("invite.refused", 4), ("peer.unreachable", 3))  # its listener may be gone by now
        unused = anna.run("node", "invite")["invite"]
        anna.stop()
        assert refusal("node", "join", "--peer", unused, home=bruno.home)[:2] == ("peer.unreachable", 3)
        status, out, _ = cli("node", "doctor", "--no-browser", "--json", home=bruno.home)
        checks = {check["name"]: check["status"] for check in json.loads(out)["checks"]}
        assert (status, checks["peer anna"]) == (0, "warn")
        assert len(bruno.run("node", "peers")["peers"]) == 1


def test_a_second_process_on_one_home_is_told_who_owns_it(tmp_path: Path) -> None:
    with serving(tmp_path, "anna") as (anna,):
        assert anna.process is not None
        code, status, error = refusal("node", "serve", home=anna.home)
        assert (code, status, error["detail"]["pid"]) == ("node.locked", 3, anna.process.pid)
        assert anna.run("node", "status")["serving"]


def test_exporting_to_where_nobody_can_write_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    file = tmp_path / "actions.yaml"
    with shop(tmp_path) as (url, _):
        file.write_text(f"steps:\n  - goto: {url}/\n")
        session = node.run("session", "record", str(file))["id"]
        report = tmp_path / "no" / "report.cose"
        export = ("session", "export", session, "--out", str(tmp_path / "no" / "x.tmsession"))
        assert refusal(*export, home=node.home)[:2] == ("input.invalid", 2)
        assert refusal("session", "export", session, "--out", str(tmp_path), home=node.home)[:2] == ("input.invalid", 2)
        (tmp_path / "no").write_text("a file, no directory")
        assert refusal("session", "replay", session, "--out", str(report), home=node.home)[0] == "input.invalid"
    left = {path.name for path in tmp_path.iterdir() if not path.name.startswith("anna-recovery-")}
    assert left == {"actions.yaml", "anna", "anna.yaml", "no"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_to_stop_a_serving_node_is_no_error(tmp_path: Path, number: signal.Signals) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    running = node.spawn("node", "serve")
    until(lambda: (node.home / "control.json").exists(), "it serves")
    running.send_signal(number)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 0
    assert json.loads(out)["name"] == "anna"
    assert err.splitlines()[-1] == "stopped"
    assert "error" not in out + err


def test_ctrl_c_in_the_middle_of_a_recording_keeps_an_interrupted_session(tmp_path: Path) -> None:
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    file = tmp_path / "actions.yaml"
    with shop(tmp_path) as (url, _):
        file.write_text(f"start: {url}/\nsteps:\n  - wait: {{text: never shown, timeout_ms: 30000}}\n")
        running = node.spawn("session", "record", str(file))
        assert running.stderr is not None
        assert "1/2" in running.stderr.readline()
        below = browsers_of(running.pid)
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGINT)  # people press it twice
        out, _ = running.communicate(timeout=120)
        assert (running.returncode, json.loads(out)["error"]["code"]) == (130, "internal.cancelled")
        until(lambda: not set(below) & set(browsers_of(1)), "the end of its browser", 10)
        (session,) = node.run("session", "ls")["sessions"]
        assert session["verdict"] == "interrupted"
        export = ("session", "export", session["id"], "--out", str(tmp_path / "x"))
        assert refusal(*export, home=node.home)[:2] == ("session.not_committed", 2)
        kill_group(running)


def test_the_help_of_every_group_ends_well() -> None:
    for group in ([], ["node"], ["session"], ["explore"]):
        done = subprocess.run(
            [sys.executable, "-m", "node.cli", *group, "--help"], capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert done.returncode == 0
        assert "Usage: trailmesh" in done.stdout
