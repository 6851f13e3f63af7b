"""The workflows in examples/ci, in a directory and an environment that know of no node."""

from __future__ import annotations

import contextlib
import http.server
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest
import yaml

from tests.forked import Forked
from tests.mesh_nodes import ROOT, Node, cli, interrupt, until

pytestmark = pytest.mark.browser

EXAMPLES = ROOT / "examples/ci"


class _Shop(http.server.BaseHTTPRequestHandler):
    price: ClassVar[list[str]] = ["10"]
    slow: ClassVar[list[threading.Event]] = []
    """Answers wait for these."""
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        for held in self.slow:
            held.wait(60)
        with contextlib.suppress(ConnectionError):  # a cancelled job does not wait for its answer
            self._answer()

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        body = f"<title>Mugs</title><h1>Mugs</h1><output aria-label=Total>{self.price[0]}</output>"
        self.wfile.write(body.encode())

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what the command says."""


@pytest.fixture(scope="module")
def shop() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Shop) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, shop: str) -> Path:
    """A repository as docs/ci.md says: a session and a key. The node that made them is elsewhere."""
    made = tmp_path_factory.mktemp("recorder")
    node = Node(made / "anna", "anna").create(made)
    (made / "mugs.yaml").write_text(f"start: {shop}/\nsteps:\n  - extract: {{as: total, role: status, name: Total}}\n")
    session = node.run("session", "record", str(made / "mugs.yaml"))["id"]
    node.run("session", "show", session, "--html", str(made / "recorded.html"))
    assert (made / "recorded.html").read_text().count("data:image/webp;base64,") == 2
    here = tmp_path_factory.mktemp("repository")
    (here / "flows").mkdir()
    node.run("session", "export", session, "--out", str(here / "flows/checkout.tmsession"))
    (here / "flows/trailmesh.key").write_text(cli("session", "trust-key", home=node.home)[1])
    (here / "trailmesh.yaml").write_text((EXAMPLES / "trailmesh.yaml").read_text())
    return here


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A place for temporary files; at the end nothing is left in it, nor a data directory in the user's own."""
    for name in ("temporary", "user"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "user"))
    monkeypatch.delenv("TRAILMESH_HOME", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    assert [path.name for path in (tmp_path / "temporary").glob("trailmesh-*")] == []
    assert list((tmp_path / "user").iterdir()) == []


def replay_of(example: str, base_url: str) -> list[str]:
    """The one line of the workflow that replays, as words after ``trailmesh``."""
    parsed: Any = yaml.safe_load((EXAMPLES / example).read_text())
    job = parsed.get("replay") or parsed["jobs"]["replay"]
    lines = job.get("script") or [step["run"] for step in job["steps"] if "run" in step]
    (line,) = (line for line in lines if line.startswith("trailmesh "))
    words = [base_url if word == "$STAGING_URL" else word for word in shlex.split(line)[1:]]
    # The tests run as root, the runners of one of the two do not.
    return words if "--config" in words else [*words, "--config", "trailmesh.yaml"]


def test_an_example_replays_in_one_line_and_tells_a_difference(repository: Path, shop: str, clean: Path) -> None:
    """One of the two is run where all is as it was, the other one where something differs: they say the same."""
    words, others = (replay_of(example, shop) for example in ("github-actions.yml", "gitlab-ci.yml"))
    written = words.index("--markdown")
    assert sorted(words[:written] + words[written + 2 :]) == sorted(others)
    _Shop.price[:] = ["10"]
    status, out, err = cli(*words, cwd=repository)
    assert (status, out.startswith("pass, level text: 2 of 2 steps matched")) == (0, True), out + err
    _Shop.price[:] = ["Sold out"]
    status, out, err = cli(*others, "--html", "replay.html", cwd=repository)
    assert (status, out.startswith("partial (step 1: a new status on the page), level text: 0 of 2 steps matched")) == (
        1,
        True,
    ), out + err
    assert "2/2 ✗ differs: extract “total” from status “Total”" in err
    assert "  met       Sold out" in out
    page = (repository / "replay.html").read_text()
    assert page.count("data:image/") == 6  # of both steps recorded, met, and what differs
    assert "<del>10</del>" in page and "<ins>Sold out</ins>" in page
    cases = {case.attrib["name"]: case for case in ElementTree.parse(repository / "replay.xml").iter("testcase")}
    assert [bool(list(case)) for case in cases.values()] == [
        True,
        True,
    ]  # the address that shows it, and what is read of it
    (failure,) = cases["2. extract “total” from status “Total”"]
    assert (failure.tag, "met       Sold out" in (failure.text or "")) == ("failure", True)


def test_a_job_with_the_key_of_somebody_else_opens_no_page(repository: Path, shop: str, clean: Path) -> None:
    other = Node(clean / "other", "other").create(clean)
    (clean / "other.key").write_text(cli("session", "trust-key", home=other.home)[1])
    words = ["session", "replay", "flows/checkout.tmsession", "--trust", str(clean / "other.key")]
    status, out, err = cli(*words, "--json", cwd=repository)
    assert (status, '"trust.not_signed"' in out) == (4, True), out + err
    status, out, err = cli(
        "session", "verify", words[2], "--trust", words[-1], "--trust", "flows/trailmesh.key", cwd=repository
    )
    assert (status, "verifies: signed by trusted key" in out) == (0, True), out + err


def test_a_job_that_is_cancelled_leaves_no_directory(repository: Path, shop: str, clean: Path) -> None:
    held = threading.Event()
    _Shop.asked.clear()
    _Shop.slow.append(held)
    try:
        words = replay_of("gitlab-ci.yml", shop)
        running = Forked(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=repository, start_new_session=True)
        until(lambda: _Shop.asked, "the request of the replay")
        assert len(list((clean / "temporary").glob("trailmesh-*/home/*"))) > 1
        assert interrupt(running)[0] == 130
    finally:
        held.set()
        _Shop.slow.clear()
