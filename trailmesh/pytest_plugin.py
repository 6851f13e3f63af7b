"""The plugin for pytest: a test that asks for ``trailmesh_page`` has a recorded live session of its own (docs/pytest.md).

pytest imports this module in every run of an environment with this package, so it imports the client with the first test that
asks for a page.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

import pytest

if TYPE_CHECKING:
    from trailmesh.records.session import Difference, ReplayedSession
    from trailmesh.sync import Node, Page

_TITLE_CHARS_MAX: Final = 200
_BUSY_S: Final = 120
"""How long a test waits for a place: a caller may have eight live sessions at a time."""
_BUSY_PAUSE_S: Final = 0.5
_DIFFERENCES_SHOWN: Final = 10
_NAME_CHARS_MAX: Final = 150
_PAGE: Final = pytest.StashKey["Page"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and their twins in the configuration of pytest."""
    group = parser.getgroup("trailmesh", "browser tests that are recorded and signed (trailmesh)")
    group.addoption("--trailmesh", action="store_true", help="run the tests that ask for trailmesh_page")
    group.addoption(
        "--trailmesh-record",
        dest="trailmesh_mode",
        action="store_const",
        const="record",
        help="run and record them (the default with --trailmesh)",
    )
    group.addoption(
        "--trailmesh-replay",
        dest="trailmesh_mode",
        action="store_const",
        const="replay",
        help="replay what was recorded when each of them passed last, in place of its code",
    )
    group.addoption("--trailmesh-url", default="", metavar="URL", help="start address of each trailmesh_page")
    parser.addini("trailmesh_url", "start address of each trailmesh_page", default="")
    parser.addini(
        "trailmesh_origins", "sites that tests may visit besides that of the start address", type="linelist", default=[]
    )
    parser.addini("trailmesh_results", "folder for the last pictures of failed tests", default="trailmesh-results")


def pytest_configure(config: pytest.Config) -> None:
    """Describe the marker."""
    config.addinivalue_line(
        "markers",
        "trailmesh(path, **parameters): open trailmesh_page at this path, with these parameters of node.open (docs/python.md)",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Without ``--trailmesh`` such a test is skipped before any of its fixtures begins."""
    mode = item.config.getoption("trailmesh_mode") or item.config.getoption("trailmesh")
    if _asks(item) and not mode:
        pytest.skip("drives a browser: runs with --trailmesh")


def _asks(item: pytest.Item) -> bool:
    return "trailmesh_page" in getattr(item, "fixturenames", ())


def _replays(config: pytest.Config) -> bool:
    return bool(config.getoption("trailmesh_mode") == "replay")


# --- fixtures --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def trailmesh_url(pytestconfig: pytest.Config) -> str:
    """The start address. A project whose server chooses its port has a fixture of this name that returns it."""
    url = str(pytestconfig.getoption("trailmesh_url") or pytestconfig.getini("trailmesh_url"))
    if not url:
        pytest.fail(
            "trailmesh_page has no start address: --trailmesh-url, trailmesh_url in the configuration, or a fixture "
            "trailmesh_url of the project gives it",
            pytrace=False,
        )
    return url


@pytest.fixture(scope="session")
def trailmesh_node(pytestconfig: pytest.Config, trailmesh_url: str) -> Iterator[Node]:
    """The running node, started in the background if none serves. Tests are an agent that may visit their sites alone."""
    import trailmesh

    origins = (
        []
        if os.environ.get("TRAILMESH_TOKEN_FILE")
        else [_origin(trailmesh_url), *pytestconfig.getini("trailmesh_origins")]
    )
    with trailmesh.sync.connect(start=True, origins=origins) as node:
        yield node


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


@pytest.fixture
def trailmesh_page(request: pytest.FixtureRequest, trailmesh_node: Node, trailmesh_url: str) -> Iterator[Page]:
    """A page in a live session of this test alone, which is closed and signed at its end."""
    item: pytest.Item = request.node
    marker = item.get_closest_marker("trailmesh")
    path, given = (marker.args[0] if marker and marker.args else ""), dict(marker.kwargs if marker else {})
    page = trailmesh_node.open(urljoin(trailmesh_url, path), **{"title": _title(item), **given})
    if _replays(item.config):
        yield page  # it opens if another fixture uses it
        page.close()
        return
    _open(page)
    item.stash[_PAGE] = page
    try:
        item.user_properties += [("trailmesh_session", each) for each in _recorded(page)]
        yield page
    finally:
        page.close()
    if item.stash.get(_PASSED, False):
        _remember(item, page.recorded[0].id)


def _title(item: pytest.Item) -> str:
    return item.nodeid if len(item.nodeid) <= _TITLE_CHARS_MAX else f"…{item.nodeid[1 - _TITLE_CHARS_MAX :]}"


def _open(page: Page) -> None:
    from trailmesh import MeshError

    until = time.monotonic() + _BUSY_S
    while True:
        try:
            page.open()
            return
        except MeshError as error:  # with many workers at once, others have the places
            if error.code not in ("live.busy", "node.busy") or time.monotonic() > until:
                raise
            time.sleep(error.retry_after_s or _BUSY_PAUSE_S)


def _recorded(page: Page) -> list[str]:
    """The sessions that are recorded of the pages of ``page``, which are signed when it is closed."""
    return [each.id for each in page.recorded or page._verbs.live.show(page.session).recorded]


# --- what is told of a failed test -----------------------------------------------------------------------------------

_PASSED: Final = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to the report of a failed test which session was recorded, and the last picture of its page."""
    report = yield
    if call.when == "call":
        item.stash[_PASSED] = report.passed
    page = item.stash.get(_PAGE, None)
    if report.failed and page is not None and call.when != "teardown":
        report.sections.append(("trailmesh", "\n".join(_told(item, page))))
    return report


def _told(item: pytest.Item, page: Page) -> Iterator[str]:
    """Lines about a live session that is still open. What cannot be had any more is said and hides no failure of the test."""
    from trailmesh import MeshError

    try:
        for session in _recorded(page):
            yield f"recorded: {session}"
            yield f"  trailmesh session show {session}"
            yield f"  trailmesh session replay {session}"
        yield f"last picture: {_keep_picture(item, page)}"
    except (MeshError, OSError) as error:
        yield str(error)


def _keep_picture(item: pytest.Item, page: Page) -> Path:
    folder: Path = item.config.rootpath / item.config.getini("trailmesh_results")
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{re.sub(r'[^0-9A-Za-z]+', '-', item.nodeid)[-_NAME_CHARS_MAX:].strip('-')}.png"
    file.write_bytes(page.screenshot())
    return file


# --- replays ---------------------------------------------------------------------------------------------------------


def _key(item: pytest.Item) -> str:
    return f"trailmesh/{re.sub(r'[^0-9A-Za-z]+', '-', item.nodeid)[-_NAME_CHARS_MAX:]}"


def _remember(item: pytest.Item, session: str) -> None:
    """Note what a test that passed has recorded, in the cache of this project: another one can have a test of the same name."""
    if cache := getattr(item.config, "cache", None):
        cache.set(_key(item), {"test": item.nodeid, "session": session})


def _remembered(item: pytest.Item) -> str:
    cache = getattr(item.config, "cache", None)
    found: dict[str, str] = (cache and cache.get(_key(item), None)) or {}
    if found.get("test") != item.nodeid:
        pytest.fail("nothing was recorded of this test: it has to pass once with --trailmesh", pytrace=False)
    return found["session"]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """With ``--trailmesh-replay``, replay the recording of a test in place of its code."""
    if not (_asks(pyfuncitem) and _replays(pyfuncitem.config)):
        return None
    given: dict[str, Any] = pyfuncitem.funcargs
    session = _remembered(pyfuncitem)
    replayed = given["trailmesh_node"].replay(session, base_url=_origin(given["trailmesh_url"]))
    told = "\n".join(_differing(session, replayed))
    if replayed.report.verdict != "pass":
        pytest.fail(told, pytrace=False)
    pyfuncitem.add_report_section("call", "trailmesh", told)  # also with what differs beyond the level
    return True


def _differing(session: str, replayed: ReplayedSession) -> Iterator[str]:
    report = replayed.report
    yield f"the replay of {session} matched {report.matched} of {replayed.replayable} steps: {report.verdict} ({report.id})"
    for reason in (replayed.unreached, replayed.lacking, replayed.stopped):
        if reason:
            yield f"  {reason}"
    for each in replayed.differences[:_DIFFERENCES_SHOWN]:
        yield f"  {_difference(each)}"
    if (more := len(replayed.differences) - _DIFFERENCES_SHOWN) > 0:
        yield f"  … and {more} more: trailmesh session show {session}"


def _difference(found: Difference) -> str:
    texts: dict[str, Any] = {"recorded": found.recorded, "now": found.met, "at": found.place, "note": found.note}
    return f"step {found.step}, {found.what}: " + ", ".join(f"{name} {text}" for name, text in texts.items() if text)
