"""`trailmesh session run`: one report about many files, of a node that serves and of a job that has none."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest

from tests.mesh_nodes import Node, cli

pytestmark = pytest.mark.browser


class _Orders(http.server.BaseHTTPRequestHandler):
    served: ClassVar[list[str]] = ["10:31:05"]
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        (name,) = parse_qs(urlsplit(self.path).query).get("c", ["nobody"])
        self.asked.append(name)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(
            f"<title>Orders</title><h1>Orders of {name}</h1><form><label>Customer <input name=c></label>"
            f"<button>Find</button></form>"
            f"<output aria-label=Total>10</output><button id=save hidden>Save</button><p>Served at {self.served[0]}".encode()
        )

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what the command says."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Orders) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


FIND = """inputs: {{customer: Ada}}
start: {site}/
steps:
  - fill: {{role: textbox, name: Customer, value: "${{customer}}"}}
  - click: {{role: button, name: Find}}
  - {last}
"""
SEEN = "extract: {as: total, role: status, name: Total}"


def written(folder: Path, site: str, **steps: str) -> list[str]:
    """An action file of each name, whose last step is the one given."""
    for name, last in steps.items():
        (folder / f"{name}.yaml").write_text(FIND.format(site=site, last=last))
    return [str(folder / f"{name}.yaml") for name in steps]


def cases_of(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Of each file the names of its cases and how they ended."""
    root = ElementTree.fromstring((folder / "junit.xml").read_text())
    kinds = ("failure", "error", "skipped")
    return {
        suite.attrib["name"]: [
            (case.attrib["name"], next((child.tag for child in case if child.tag in kinds), ""))
            for case in suite.iter("testcase")
        ]
        for suite in root.iter("testsuite")
    }


def test_a_run_on_a_node_that_serves_has_a_case_a_step_of_each_file_and_shows_where_one_failed(
    served: Node, tmp_path: Path, site: str
) -> None:
    files = written(tmp_path, site, good=SEEN, bad="click: css=#save")
    (tmp_path / "odd.yaml").write_text("steps: 7")
    odd, out = str(tmp_path / "odd.yaml"), tmp_path / "out"
    session = served.run("session", "record", files[0])["id"]
    command = ("session", "run", *files, odd, session, "--jobs", "2", "--report", str(out))
    _Orders.asked.clear()
    status, printed, _ = cli(*command, "--input", "customer=Bob", "--json", home=served.home)
    assert status == 1, printed
    ran = {one["file"]: one for one in json.loads(printed)["files"]}
    assert [ran[each]["outcome"] for each in (*files, odd, session)] == ["pass", "differs", "refused", "pass"]
    assert _Orders.asked.count("Bob") == 3 and "Ada" not in _Orders.asked
    cases = cases_of(out)
    good = [f"1. open {site}/", "2. fill textbox “Customer” with “${customer}”"]
    assert [name for name, _ in cases[files[0]]][:2] == good
    assert [how for _, how in cases[files[0]]] == ["", "", "", ""]
    assert [how for _, how in cases[files[1]]] == ["", "", "", "failure"]
    assert cases[odd] == [(odd, "error")]
    assert len(cases[session]) == 4
    page = (out / ran[files[1]]["html"]).read_text()
    assert "&lt;button id=&#34;save&#34; hidden&gt;Save&lt;/button&gt;</mark> ← 1" in page
    summary = (out / "summary.md").read_text()
    assert "**2 of 4 passed**" in summary and summary.index("bad") < summary.index("good")
    assert {path.stat().st_mode & 0o777 for path in out.iterdir()} == {0o600}


def test_a_job_without_a_node_replays_bundles_strictly_and_with_other_inputs(tmp_path: Path, site: str) -> None:
    """Taken out: ``inputs`` or ``strict`` of what ``_Runner`` passes on."""
    node = Node(tmp_path / "anna", "anna").create(tmp_path)
    (file,) = written(tmp_path, site, find=SEEN)
    session, bundle, key = node.run("session", "record", file)["id"], str(tmp_path / "find.tmsession"), tmp_path / "key"
    node.run("session", "export", session, "--out", bundle)
    key.write_text(cli("session", "trust-key", home=node.home)[1])
    (tmp_path / "trailmesh.yaml").write_text("browser: {sandbox: false}\n")
    apart = ("--trust", str(key), "--config", str(tmp_path / "trailmesh.yaml"), "--report", str(tmp_path / "out"))
    command = ("session", "run", bundle, *apart, "--json")
    _Orders.served[:] = ["11:47:09"]
    bob = ("--input", "customer=Bob")
    for given, outcome, kinds in (
        ((*bob, "--level", "text"), "pass", {""}),
        ((*bob, "--strict", "text"), "differs", {"failure"}),
        (("--input", "nobody=x"), "refused", {"error"}),
    ):
        status, printed, err = cli(*command, *given, cwd=tmp_path)
        (ran,) = json.loads(printed)["files"]
        assert (status, ran["outcome"]) == ({"pass": 0, "differs": 1, "refused": 2}[outcome], outcome), printed + err
        assert {how for _, how in cases_of(tmp_path / "out")[bundle]} == kinds
    assert "no input “nobody”; it has customer" in ran["said"]
