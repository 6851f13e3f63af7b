"""A capsule whose login is HTTP basic authentication: captured on one node, used there and on a second one, in real Chromium."""

from __future__ import annotations

import base64
import contextlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.canaries import found_in
from tests.mesh_nodes import Node, cli, refusal
from trailmesh.demo.mesh import pair

PASSWORD = "k7-tell-nobody"
BOTH = f"ann:{PASSWORD}"
SENT = base64.b64encode(BOTH.encode()).decode()
SPELLED = {"password": PASSWORD.encode(), "header": SENT.encode()}


class _Site(http.server.ThreadingHTTPServer):
    """A site behind basic authentication that says back what it was sent, and whose pages embed ``embeds``."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.embeds, self.refuses, self.took, self.sent = "", "", SENT, set[str]()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Pages(http.server.BaseHTTPRequestHandler):
    server: _Site
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        given = self.headers.get("Authorization", "").removeprefix("Basic ")
        self.server.sent.add(given)
        known = given == self.server.took
        said = f"<p>you sent {given}, which is {BOTH}</p>{self.server.embeds}"
        body = (f"<title>Staging</title><h1>Welcome</h1>{said}" if known else self.server.refuses).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if not known:
            self.send_header("WWW-Authenticate", 'Basic realm="staging"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what the command says."""


@contextlib.contextmanager
def _site() -> Iterator[_Site]:
    with _Site() as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


def _leaks(directory: Path, *texts: str) -> list[str]:
    every = {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    assert {"store.db", "site.capsule", "site.tmsession", "report.html"} <= {Path(name).name for name in every}
    every |= {f"output {number}": text.encode() for number, text in enumerate(texts)}
    return [name for name, data in every.items() if found_in(data, SPELLED)]


def test_a_capsule_answers_basic_authentication_of_its_origin_on_both_nodes_and_says_nothing_of_it(
    tmp_path: Path,
) -> None:
    """Taken out: ``answers`` in ``Mounting.mount``."""
    anna, bruno = (Node(tmp_path / name, name).create(tmp_path) for name in ("anna", "bruno"))
    word, file, capsule = tmp_path / "word", tmp_path / "open.yaml", tmp_path / "site.capsule"
    bundle, report = tmp_path / "site.tmsession", tmp_path / "report.html"
    shown: list[str] = []
    word.write_text(BOTH)
    with _site() as site, _site() as other:
        origin, wrong = site.origin, tmp_path / "wrong"
        site.embeds = f"<iframe src={other.origin}/frame></iframe>"
        file.write_text(f"start: {origin}/\nsteps:\n  - assert: {{text: Welcome}}\n")
        secret = ("--secret", f"staging:basic@{origin}=file:{word}")

        def granted(scope: str) -> str:
            return ",".join(f"capsule:{scope}={each}" for each in (origin, other.origin))

        given = ("--name", "site", "--page", f"{origin}/", "--cross-installation", "--cross-device")
        try:
            anna.start()
            bruno.start()
            pair(anna, bruno, grant=granted("import"), grant_back=granted("offer"))
            wrong.write_text("ann:another")
            refused = refusal(
                "capsule", "capture", *given, "--secret", f"a:basic@{origin}=file:{wrong}", home=anna.home
            )
            assert refused[0] == "capsule.unproven" and "basic authentication" in refused[2]["message"]
            kept = anna.run("capsule", "capture", *given, "--origin", origin, "--origin", other.origin, *secret)
            word.unlink()
            assert kept["proven"] == "proven"
            assert {each["origin"]: each["basic"] for each in kept["origins"]} == {origin: 1, other.origin: 0}
            checked = anna.run("capsule", "check", "site")
            assert checked["verdict"] == "portable" and "basic" in {each["kind"] for each in checked["notes"]}
            recorded = anna.run("session", "record", str(file), "--capsule", "site")
            assert recorded["verdict"] == "pass" and all(name.startswith("capsule.") for name in recorded["secrets"]), (
                recorded
            )
            steps = anna.run("session", "show", recorded["id"])["steps"]
            assert steps[0]["basic"] == ["(capsule)"]
            anna.run("session", "export", recorded["id"], "--out", str(bundle))
            replayed = anna.run("session", "replay", recorded["id"], "--capsule", "site", "--html", str(report))
            assert replayed["report"]["verdict"] == "pass"
            status, out, err = cli("session", "replay", recorded["id"], home=anna.home)
            assert status and f"--secret NAME:basic@{origin}=SOURCE" in out + err
            helps = f"--secret NAME:basic@{origin}=SOURCE"
            assert helps in refusal("live", "open", f"{origin}/", home=anna.home)[2]["message"]
            site.refuses = "<title>No</title><h1>No</h1>"
            (note,) = anna.run("live", "open", f"{origin}/")["notes"]
            assert helps in note and helps in cli("session", "replay", recorded["id"], home=anna.home)[2]
            site.refuses = ""
            shown += [out, err, *cli("capsule", "show", "site", "--names", home=anna.home)[1:]]
            assert anna.run("capsule", "rotate", "site")["generation"] == 2
            anna.run("capsule", "export", "site", "--to", "bruno", "--out", str(capsule))
            bruno.run("capsule", "import", str(capsule))
            assert bruno.run("session", "record", str(file), "--capsule", "site")["verdict"] == "pass"
            site.took = "another"
            assert (
                refusal("session", "record", str(file), "--capsule", "site", home=anna.home)[0] == "capsule.logged_out"
            )
        finally:
            anna.stop()
            bruno.stop()
        assert other.sent == {""} and SENT in site.sent
    assert _leaks(tmp_path, *shown) == []
