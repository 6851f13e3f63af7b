"""The plugin for pytest: runs of pytest in a project of their own, with a real node and real sites."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import ClassVar
from xml.etree import ElementTree

import pytest

from tests.mesh_nodes import ROOT, Node

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.browser

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^# (\w+)\.py\n", re.MULTILINE)
Run = Callable[..., pytest.RunResult]


class _Site(http.server.BaseHTTPRequestHandler):
    price: ClassVar[str] = "10"

    def do_GET(self) -> None:
        body = (
            f"<title>Mugs</title><h1>Mugs</h1><p>A mug for <output aria-label=Total>{self.price}</output></p>".encode()
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing: a test reads what pytest says."""


@pytest.fixture
def site() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def run(pytester: pytest.Pytester, served: Node, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run of pytest in a process of its own, with these arguments, against the node."""
    monkeypatch.setenv("TRAILMESH_HOME", str(served.home))
    return pytester.runpytest_subprocess


def test_the_installed_package_is_a_plugin_that_imports_nothing_of_the_client_before_a_test_asks(
    pytester: pytest.Pytester,
) -> None:
    assert [each.value for each in entry_points(group="pytest11", name="trailmesh.pytest_plugin")]
    pytester.makepyfile(
        """
        import sys

        def test_no_page(request):
            assert request.config.pluginmanager.has_plugin("trailmesh.pytest_plugin")
            assert not [name for name in sys.modules if name.startswith(("trailmesh.client", "trailmesh.sync", "node."))]

        def test_a_page(trailmesh_page):
            assert False
        """
    )
    found = pytester.runpytest_subprocess("-ra", "-p", "no:cacheprovider")
    found.assert_outcomes(passed=1, skipped=1)
    found.stdout.fnmatch_lines("*runs with --trailmesh*")


def test_the_examples_of_the_page_run_on_two_workers_are_recorded_by_name_and_replayed(
    pytester: pytest.Pytester, run: Run, served: Node, shop_url: str
) -> None:
    for block in _BLOCK.findall((ROOT / "docs/pytest.md").read_text()):
        _, *parts = _FILE.split(block.replace("https://shop.example", shop_url))
        for name, source in zip(parts[::2], parts[1::2], strict=True):
            pytester.makepyfile(**{name: source})
    assert {file.name for file in pytester.path.glob("*.py")} == {"conftest.py", "test_shop.py", "test_products.py"}
    run("--trailmesh", "-n", "2").assert_outcomes(passed=2)
    titles = {"test_shop.py::test_mugs_are_found", "test_products.py::test_products_are_listed"}
    recorded = {each["title"]: each for each in served.run("session", "ls")["sessions"]}
    assert titles <= recorded.keys()
    for title in titles:
        assert recorded[title]["verdict"] == "pass"
        assert served.run("session", "verify", recorded[title]["id"])["verdict"] == "pass"
    assert recorded["test_products.py::test_products_are_listed"]["start_url"] == f"{shop_url}/products"
    assert not any(each["reason"] == "" for each in served.run("live", "ls", "--all")["sessions"])
    run("--trailmesh-replay").assert_outcomes(passed=2)
    assert served.run("session", "show", recorded["test_shop.py::test_mugs_are_found"]["id"])["reports"]


def test_a_failed_test_names_its_session_and_keeps_the_last_picture(
    pytester: pytest.Pytester, run: Run, served: Node, site: str
) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def begun(trailmesh_page):
            assert trailmesh_page.find("Total").lines == ("as", "before")

        def test_price(trailmesh_page):
            assert trailmesh_page.extract("whole page") == "free"

        def test_of_a_fixture(begun):
            pass
        """
    )
    found = run("--trailmesh", "--trailmesh-url", site, "--junitxml", "report.xml")
    found.assert_outcomes(failed=1, errors=1)
    named = re.findall(r"^recorded: (ses-\S+)$", found.stdout.str(), re.MULTILINE)
    assert len(set(named)) == 2
    for session in named:
        found.stdout.fnmatch_lines([f"  trailmesh session replay {session}"])
        assert served.run("session", "verify", session)["verdict"] == "pass"
    pictures = re.findall(r"^last picture: (.+)$", found.stdout.str(), re.MULTILINE)
    assert [(pytester.path / file).read_bytes()[:4] for file in pictures] == [b"\x89PNG"] * 2
    properties = ElementTree.parse(pytester.path / "report.xml").iter("property")
    assert {each.get("value") for each in properties if each.get("name") == "trailmesh_session"} == set(named)


def test_a_replay_says_what_differs_and_runs_no_code_of_the_test(
    pytester: pytest.Pytester, run: Run, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        import os

        def test_price(trailmesh_page):
            assert not os.environ.get("REPLAYING")
            assert trailmesh_page.find("Mugs").lines

        def test_title(trailmesh_page):
            trailmesh_page.check_that("title", "Mugs")

        def test_that_fails(trailmesh_page):
            assert trailmesh_page.check_that("title", "Mugs") and False
        """
    )
    at = ("--trailmesh-url", site)
    run("--trailmesh", *at).assert_outcomes(passed=2, failed=1)
    monkeypatch.setenv("REPLAYING", "1")
    run("--trailmesh-replay", *at, "-k", "price").assert_outcomes(passed=1)
    monkeypatch.setattr(_Site, "price", "12")
    found = run("--trailmesh-replay", *at)
    found.assert_outcomes(failed=2, passed=1)
    found.stdout.fnmatch_lines(["*step 1*10*now*12*", "nothing was recorded of this test: it has to pass once*"])
