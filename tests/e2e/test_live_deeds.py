"""Live sessions handle files, scripts, tabs and what a page is told of its browser. Real Chromium."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

from tests.e2e.test_live import live, ref_of, refused
from tests.mesh_nodes import CONFIG, Node, cli, serving

pytestmark = pytest.mark.browser

PAGES = {
    "/": b"<title>Files</title><a href=/report.csv>Report</a><button onclick=\"location='/report.csv'\">Export</button>",
    "/form": b"<title>Form</title><form method=post enctype=multipart/form-data action=/send><label>Photo<input type=file name=f>"
    b"</label><button>Send</button></form>",
    "/eager": b"<title>Eager</title><label>Photo<input type=file id=f></label><p id=said></p><script>"
    b"f.onchange = async () => { const text = await f.files[0].text(); said.textContent = 'read ' + text.length;"
    b" fetch('/take', {method: 'POST', body: text}).catch(() => 0);"
    b" new Image().src = '/pixel?d=' + encodeURIComponent(text); fetch('/log?d=' + btoa(text)).catch(() => 0);"
    b" fetch('/header', {headers: {'x-d': encodeURIComponent(text)}}).catch(() => 0);"
    b" history.pushState(0, '', '?d=' + encodeURIComponent(text)); fetch('/referrer').catch(() => 0); history.back();"
    b" setTimeout(() => fetch('/later/' + btoa(text)).catch(() => 0), 300); }</script>",
}
REPORT = b"name,price\nTin mug,12\n"


class _Site(http.server.BaseHTTPRequestHandler):
    """Pages by their path. Notes everything that is sent to it."""

    got: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_GET(self) -> None:
        path, _, _ = self.path.partition("?")
        self.got.append(("GET", self.path, b""))
        self.send_response(200 if path in PAGES or path == "/report.csv" else 404)
        if path == "/report.csv":
            self.send_header("Content-Disposition", 'attachment; filename="..\\\\.re:port.csv"')
            self.send_header("Content-Type", "text/csv")
        else:
            self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(REPORT if path == "/report.csv" else PAGES.get(path, b"<title>None</title>"))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.got.append(("POST", self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


PAGES["/script"] = (
    b"<title>Script</title><h1 id=h>One</h1><ul><li>a<li>b</ul><button>Two</button><input type=password value=hunter2hunter2>"
    b"<script>globalThis.own = 1; JSON.stringify = () => 'forged'; document.querySelector = () => ({textContent: 'forged'});"
    b"</script>"
)
PAGES["/login"] = b"<title>Login</title><label>Pin <input type=password></label>"
PAGES["/told"] = (
    b"<title>Told</title><style>@media (prefers-color-scheme: dark) {h1 {color: red}}</style><h1>Told</h1>"
    b'<p id=place></p><button onclick="navigator.geolocation.getCurrentPosition('
    b"at => place.textContent = 'at ' + at.coords.latitude + ' ' + at.coords.longitude, () => place.textContent = 'refused')\">"
    b"Where</button><p id=net></p><button onclick=\"fetch('/told').then(() => net.textContent = 'there',"
    b" () => net.textContent = 'cut off')\">Ask</button>"
)
PAGES["/turns"] = (
    b'<title>Turns</title><style id=sheet>button::after {content: "Keep"}</style><button></button><script>'
    b"setTimeout(() => { sheet.sheet.cssRules[0].style.content = '\\'Delete\\''; "
    b"new Image().src = '/turned' + location.search }, 2500)</script>"
)
NEVER = ("/pixel", "/log", "/header", "/referrer", "/later")
LETTER = "Dear Ann, the offer is 4,711 for all of it. Yours, Bob"


@pytest.fixture(scope="module")
def deeds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A node with a folder to upload from."""
    directory = tmp_path_factory.mktemp("deeds")
    (directory / "letters").mkdir()
    (directory / "letters" / "offer.txt").write_text(LETTER)
    config = CONFIG.replace("browser: {", f"browser: {{upload_folders: [{directory / 'letters'}], ")
    with serving(directory, "anna", config=config) as (node,):
        yield node


@pytest.fixture(scope="module")
def deeds_url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_download_is_told_with_its_place_and_recorded(deeds: Node, deeds_url: str) -> None:
    opened = live(deeds, "open", f"{deeds_url}/")
    session = opened["session"]
    acted = live(deeds, "click", session, ref_of(opened["observation"], 'link "Report"'))
    (told,) = acted["downloads"]
    assert (told["size_bytes"], told["fault"]) == (len(REPORT), "")
    kept = Path(told["path"])
    assert kept.read_bytes() == REPORT
    assert kept.parent.parent == deeds.home / "downloads" / session, "no name leads out of the folder"
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    status, out, err = cli(
        "live", "click", "--session", session, ref_of(opened["observation"], "Export"), home=deeds.home
    )
    assert status == 0, err
    line = next((line for line in out.splitlines() if "kept at" in line), out)
    assert line.endswith(f", 22 bytes, kept at {kept}")
    (recorded,) = live(deeds, "close", session)["recorded"]
    steps = deeds.run("session", "show", recorded["id"])["steps"]
    assert [len(step.get("downloads", ())) for step in steps] == [0, 1, 1]
    assert kept.exists(), "it outlives its session"


def test_a_file_is_given_to_a_field_without_a_question_and_what_would_carry_it_away_is_held(
    deeds: Node, deeds_url: str, tmp_path: Path
) -> None:
    """Guard: adapters/browser/egress/closely.py, Closely.says."""
    opened = live(deeds, "open", f"{deeds_url}/form", "--hold", "1")
    session = opened["session"]
    given = live(deeds, "upload", session, ref_of(opened["observation"], "Photo"), "offer.txt")
    assert (given["question"], given["held"], given["blocked"]) == ("", [], [])
    sent = live(deeds, "click", session, ref_of(opened["observation"], "Send"))
    (held,) = sent["held"]
    assert (held["method"], held["risk"] >= 4) == ("POST", True)
    eager = live(deeds, "navigate", session, f"{deeds_url}/eager")
    given = live(deeds, "upload", session, ref_of(eager["observation"], "Photo"), "offer.txt")
    assert any(f"read {len(LETTER)}" in line for line in given["observation"]["lines"]), "the page has the file"
    tried = [*given["blocked"], *(f"{each['method']} {each['address']}" for each in given["held"])]
    for each in ("POST", "/pixel", "/log"):
        assert any(each in line for line in tried), (each, tried)
    live(deeds, "wait", session, "--time", "2")
    mine = tmp_path / "mine.txt"
    mine.write_text(LETTER + " and Carol")
    handed = live(deeds, "upload", session, ref_of(eager["observation"], "Photo"), str(mine))
    assert any(f"read {len(LETTER) + 10}" in line for line in handed["observation"]["lines"]), (
        "a command hands over what its caller can read"
    )
    live(deeds, "close", session)
    assert not [each for each in _Site.got if each[0] == "POST" or each[1].startswith(NEVER)]


def test_a_control_that_says_something_else_by_a_way_that_no_watch_sees_is_not_clicked(
    deeds: Node, deeds_url: str
) -> None:
    """Guard: node/live/sessions/live_session.py, LiveSession._placed."""
    session, number, lines = live(deeds, "open", f"{deeds_url}/form")["session"], 0, [""]
    while not any("Keep" in line for line in lines):  # a slow machine may look too late; the test has a time limit
        number += 1
        seen = live(deeds, "navigate", session, f"{deeds_url}/turns?{number}")["observation"]
        lines = seen["lines"]
    while ("GET", f"/turned?{number}", b"") not in _Site.got:
        time.sleep(0.02)
    assert refused(deeds, "click", session, ref_of(seen, "Keep"))[0] == "live.stale_ref"
    live(deeds, "close", session)


def test_a_script_reads_the_page_apart_from_its_scripts_and_what_it_sends_is_held(deeds: Node, deeds_url: str) -> None:
    """Guard: adapters/browser/acting/scripting.py, Scripting._value."""
    opened = live(deeds, "open", f"{deeds_url}/script", "--hold", "1")
    session = opened["session"]
    values = {
        "document.querySelector('h1').textContent": '"One"',
        "() => [...document.querySelectorAll('li')].map(each => each.textContent)": '["a","b"]',
        "const n = 2; return n + 1": "3",
        "new Promise(done => setTimeout(() => done({late: 1n}), 50))": '{"late":"1"}',
        "typeof own": '"undefined"',
        "document.querySelectorAll('li')": '["<li>a</li>","<li>b</li>"]',
        "h.textContent = 'Three'; return": "",
    }
    for script, value in values.items():
        acted = live(deeds, "evaluate", session, script)
        assert acted["extracted"] == value, script
    assert any("Three" in line for line in acted["observation"]["lines"]), "the difference shows what it changed"
    button = ref_of(live(deeds, "table", session), "Two")
    assert live(deeds, "evaluate", session, "e => e.tagName", "--element", button)["extracted"] == '"BUTTON"'
    assert live(deeds, "evaluate", session, "element.textContent", "--element", button)["extracted"] == '"Two"'
    steps = f"[{{evaluate: {{ref: {button}, script: element.id}}}}, {{emulate: {{color_scheme: dark}}}}]"
    assert live(deeds, "act", session, steps)["did"][1] == "emulate color scheme dark"
    cut = live(deeds, "evaluate", session, "'x'.repeat(10**6)")["extracted"]
    assert (len(cut) < 20_000, cut.endswith("… (cut: 1000002 characters)")) == (True, True)
    throws = "throw document.querySelector('[type=password]').value"
    for script, why in (
        (throws, "‹password›"),
        ("nothing.here", "ReferenceError"),
        ("}{", "SyntaxError"),
        ("for (;;);", "did not end"),
    ):
        status, out, _ = cli(
            "live", "evaluate", "--session", session, script, "--timeout", "1", "--json", home=deeds.home
        )
        error = json.loads(out)["error"]
        assert (bool(status), error["code"], why in error["message"]) == (True, "action.script_failed", True), error
    sends = "fetch('/take', {method: 'POST', body: 'x'}).catch(() => 0); fetch('/x/Zx81kqQ2').catch(() => 0); 1"
    sent = live(deeds, "evaluate", session, sends.replace("; 1", "; return 1"))
    tried = [*sent["blocked"], *(f"{each['method']} {each['address']}" for each in sent["held"])]
    assert any("/take" in each for each in tried) and any("/x/" in each for each in tried), sent
    # It may lead to another document, whose difference is told.
    assert live(deeds, "evaluate", session, "location = '/form'")["observation"]["title"] == "Form"
    (recorded,) = live(deeds, "close", session)["recorded"]
    assert not [each for each in _Site.got if each[1].startswith(("/take", "/x/"))]
    steps = deeds.run("session", "show", recorded["id"])["steps"]
    assert next(iter(values)) in [each["action"].get("script") for each in steps]


def test_a_script_is_not_told_what_a_password_field_holds(deeds: Node, deeds_url: str) -> None:
    """Guard: adapters/browser/page/page.py, ChromiumPage._performed."""
    session = live(deeds, "open", f"{deeds_url}/script")["session"]
    value = "document.querySelector('[type=password]').value"
    assert live(deeds, "evaluate", session, value)["extracted"] == '"‹password›"'
    status, out, err = cli("live", "evaluate", "--session", session, f"throw {value}", home=deeds.home)
    assert (bool(status), "‹password›" in err, "hunter2" in out + err) == (True, True, False), err
    (recorded,) = live(deeds, "close", session)["recorded"]
    assert "hunter2" not in json.dumps(deeds.run("session", "show", recorded["id"]))


def test_a_recorded_script_is_run_again_by_a_replay(deeds: Node, deeds_url: str) -> None:
    opened = live(deeds, "open", f"{deeds_url}/script")
    live(deeds, "evaluate", opened["session"], "h.textContent = 'Three'; return Math.random()")
    live(deeds, "assert", opened["session"], "text", "Three")
    (recorded,) = live(deeds, "close", opened["session"])["recorded"]
    assert deeds.run("session", "replay", recorded["id"])["report"]["verdict"] == "pass"


def test_a_page_is_told_of_another_browser_and_a_replay_tells_it_the_same(deeds: Node, deeds_url: str) -> None:
    opened = live(deeds, "open", f"{deeds_url}/told")
    session = opened["session"]
    asks = "['color-scheme: dark', 'reduced-motion: reduce'].map(each => matchMedia(`(prefers-${each})`).matches)"
    facts = f"[innerWidth, innerHeight, ...{asks}]"
    assert live(deeds, "evaluate", session, facts)["extracted"] == "[1280,800,false,true]"
    told = "--width 390 --height 700 --color-scheme dark --reduced-motion no"
    acted = live(deeds, "emulate", session, *told.split(" "))
    assert acted["did"] == ["emulate width 390, height 700, color scheme dark, reduced motion no"]
    assert live(deeds, "evaluate", session, facts)["extracted"] == "[390,700,true,false]"
    where, ask = (ref_of(opened["observation"], name) for name in ("Where", "Ask"))
    says = {
        ("click", where): "refused",
        ("emulate", "--location", "52.52,-13.405"): "",
        ("click", where, ""): "at 52.52 -13.405",
        ("click", ask): "there",
        ("emulate", "--offline", "yes"): "",
        ("click", ask, ""): "cut off",
        ("emulate", "--offline", "no"): "",
        ("click", ask, "", ""): "there",
    }
    for (verb, *words), text in says.items():
        live(deeds, verb, session, *filter(None, words))
        if text:
            live(deeds, "assert", session, "text", text)
    assert refused(deeds, "emulate", session)[0] == "input.invalid"
    assert refused(deeds, "emulate", session, "--location", "99,0")[0] == "input.invalid"
    (recorded,) = live(deeds, "close", session)["recorded"]
    assert recorded["verdict"] == "partial", "a request failed while it was cut off"
    assert deeds.run("session", "replay", recorded["id"])["differences"] == []


def test_a_phone_is_told_with_touch_and_a_width_of_its_own_and_recorded_so(deeds: Node, deeds_url: str) -> None:
    phone = ("--profile", "mobile=true", "--profile", "width_px=390", "--profile", "height_px=800")
    opened = live(deeds, "open", f"{deeds_url}/told", *phone)
    session = opened["session"]
    told = "[innerWidth, navigator.maxTouchPoints > 0, 'ontouchstart' in window]"
    # A page that names no width for phones is laid out for a desk, and shown small.
    assert live(deeds, "evaluate", session, told)["extracted"] == "[980,true,true]"
    live(deeds, "click", session, ref_of(opened["observation"], "Ask"))
    live(deeds, "assert", session, "text", "there")
    (recorded,) = live(deeds, "close", session)["recorded"]
    assert deeds.run("session", "show", recorded["id"])["session"]["profile"]["mobile"] is True
    assert deeds.run("session", "replay", recorded["id"])["report"]["verdict"] == "pass"


def test_a_secret_that_was_typed_takes_scripts_away(deeds: Node, deeds_url: str, tmp_path: Path) -> None:
    """Guard: node/live/acting/driver.py, Driver.act."""
    (tmp_path / "pin").write_text("correct-horse-battery")
    opened = live(deeds, "open", f"{deeds_url}/login", "--secret", f"pin@{deeds_url}=@{tmp_path / 'pin'}")
    session = opened["session"]
    assert live(deeds, "evaluate", session, "1")["extracted"] == "1"
    live(deeds, "type", session, ref_of(opened["observation"], "Pin"), "--secret", "pin", "--approve-class", "6")
    turned = "[...document.querySelector('input').value].map(each => each.charCodeAt() + 1)"
    assert refused(deeds, "evaluate", session, turned)[0] == "action.script_refused"
    live(deeds, "tab", session, "new", f"{deeds_url}/script")
    assert refused(deeds, "evaluate", session, "localStorage")[0] == "action.script_refused", (
        "all pages share the login"
    )
    live(deeds, "close", session)


PROXIED = "http://93.184.215.14"
"""A public address: what is asked of it goes through a proxy of the test, which answers in its place."""


@contextmanager
def answering_proxy(heads: list[str]) -> Iterator[int]:
    """A proxy that answers in the place of every site. heads: what it was asked."""

    class Answers(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for _ in range(2):
                lines = iter(lambda: self.rfile.readline().decode().rstrip(), "")
                heads.append("\n".join(lines))
                body = b"" if heads[-1].startswith("CONNECT") else b"<title>Proxied</title><h1>Through</h1>"
                length = f"Content-Type: text/html\r\nContent-Length: {len(body)}\r\n" if body else ""
                self.wfile.write(f"HTTP/1.1 200 OK\r\n{length}\r\n".encode() + body)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answers) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def test_a_session_or_a_site_goes_through_a_proxy_and_the_wall_still_judges(tmp_path: Path, deeds_url: str) -> None:
    (tmp_path / "password").write_text("correct-horse-battery")
    named: list[str] = []
    chosen: list[str] = []
    with answering_proxy(named) as one, answering_proxy(chosen) as other:
        proxies = (
            f"{{name: site, address: 'http://127.0.0.1:{one}', sites: ['{PROXIED}']}}, {{name: all, address: "
            f"'http://127.0.0.1:{other}', user: anna, password_file: {tmp_path / 'password'}}}"
        )
        config = CONFIG.replace("browser: {", f"browser: {{proxies: [{proxies}], ")
        with serving(tmp_path, "anna", config=config) as (node,):
            opened = live(node, "open", f"{PROXIED}/")
            assert opened["observation"]["title"] == "Proxied"
            assert named[0].startswith("CONNECT 93.184.215.14:80")
            live(node, "close", opened["session"])
            named.clear()
            opened = live(node, "open", f"{PROXIED}/", "--proxy", "all")
            assert (opened["observation"]["title"], named) == ("Proxied", [])
            assert "Proxy-Authorization: Basic YW5uYTpjb3JyZWN0LWhvcnNlLWJhdHRlcnk=" in chosen[0]
            # What this node may reach itself is no business of a proxy, and what nobody may reach is refused before.
            for url, answer in ((deeds_url, '"there"'), ("http://169.254.169.254", '"refused"')):
                script = f"fetch('{url}/', {{mode: 'no-cors'}}).then(() => 'there', () => 'refused')"
                assert live(node, "evaluate", opened["session"], script)["extracted"] == answer
            live(node, "close", opened["session"])
            assert refused(node, "open", f"{PROXIED}/", "--proxy", "none")[0] == "input.not_found"
            told = cli("node", "logs", "--json", home=node.home)[1]
        assert "correct-horse" not in told
    assert not any("127.0.0.1" in head or "169.254" in head for head in (*named, *chosen))
