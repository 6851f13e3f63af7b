"""``trailmesh mcp``: what it fixes before a client is heard, and how it ends."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from node.base.terminal import LineFormatter
from node.cli import main
from node.cli.base import shell_agent
from node.cli.base.common import acting_as
from node.cli.nodes.mcp import _OPENING, _log_to_standard_error, _require_sites, _starting
from node.process import background, client
from node.verbs.live import live as verbs
from protocol.errors import MeshError
from protocol.trust.agent_token import make_token


class Bridge:
    """In the place of the module that serves a client."""

    def __init__(self, ends: BaseException | None = None) -> None:
        self.ends = ends
        self.opening: dict[str, Any] = {}
        self.answer: Any = None
        self.started: list[Path] = []
        self.profile = ""

    async def serve(self, ask: Any, opening: dict[str, Any], profile: str) -> None:
        """Ask the node once, then end."""
        self.opening, self.profile = opening, profile
        self.answer = await ask("node.whoami", {}, None, "k")
        if self.ends is not None:
            raise self.ends


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    root, node = logging.getLogger(), logging.getLogger("node")
    before = root.handlers[:], root.level, node.level
    yield
    root.handlers[:] = before[0]
    root.setLevel(before[1])
    node.setLevel(before[2])


def run(monkeypatch: pytest.MonkeyPatch, bridge: Bridge, *words: str, agent: tuple[str, ...] = ()) -> Result:
    async def ask(home: Path, verb: str, params: Any, tell: Any, key: str, *, agent: Any) -> Any:
        return home, verb, params, agent

    def serving(home: str | None, *, as_owner: bool) -> Any:
        return acting_as(Path(home or "")) or (None if as_owner else "shell")

    monkeypatch.setattr(client, "ask", ask)
    monkeypatch.setattr(background, "ensure_serving", lambda home, **more: bridge.started.append(home))
    monkeypatch.setattr(shell_agent, "serving", serving)
    monkeypatch.setitem(sys.modules, "node.process.mcp_bridge", bridge)
    monkeypatch.setattr("node.process.mcp_bridge", bridge, raising=False)
    return CliRunner().invoke(main, [*agent, "mcp", *words], catch_exceptions=False)


def test_all_that_opens_a_session_but_its_address_is_fixed_by_the_person(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert set(_OPENING) == set(verbs.OPEN.takes.__struct_fields__) - {"url"}
    (tmp_path / "word").write_text("hunter2")
    bridge = Bridge()
    secret = f"shop@https://shop.example=@{tmp_path / 'word'}"
    words = ("--home", "/h", "--secret", secret, "--allow", "POST https://shop.example/login", "--as-owner")
    done = run(monkeypatch, bridge, *words)
    assert (done.exit_code, done.stdout) == (0, "")
    assert bridge.opening["secrets"]["shop"]["origins"] == ["https://shop.example"]
    assert bridge.opening["allow"] == ["POST https://shop.example/login"]
    assert set(bridge.opening) == set(_OPENING)
    assert bridge.answer == (Path("/h"), "node.whoami", {}, None)
    assert (bridge.started, bridge.profile) == ([Path("/h")], "default"), "the node is started if none runs"


def test_a_client_calls_as_the_agent_of_a_shell_unless_a_person_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    bridge = Bridge()
    run(monkeypatch, bridge, "--home", "/h", "--full")
    assert (bridge.answer[3], bridge.profile) == ("shell", "full")
    run(monkeypatch, bridge, "--home", "/h", "--as-owner")
    assert bridge.answer[3] is None


def test_a_client_chooses_among_the_logins_of_its_agent_unless_a_person_fixed_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for words, fixed in (((), None), (("--capsule", "shop"), "shop"), (("--as-owner",), "")):
        bridge = Bridge()
        run(monkeypatch, bridge, "--home", "/h", *words)
        assert bridge.opening.get("capsule") == fixed, words


async def test_a_node_that_has_ended_is_started_again_but_not_to_close_what_ended_with_it() -> None:
    started: list[str] = []

    async def ask(verb: str, params: Any, tell: Any, key: str) -> str:
        if not started:
            raise MeshError("node.not_serving")
        return verb

    asked = _starting(ask, lambda: started.append("node"))
    with pytest.raises(MeshError, match=r"node\.not_serving"):
        await asked("live.close", {}, None, "")
    assert started == []
    assert [await asked("live.list", {}, None, "") for _ in range(2)] == ["live.list"] * 2
    assert started == ["node"]


def test_a_client_calls_as_the_agent_whose_token_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token = make_token("shopper", bytes(32))
    (tmp_path / "t").write_text(token)
    bridge = Bridge()
    run(monkeypatch, bridge, agent=("--token-file", str(tmp_path / "t")))
    assert bridge.answer[3].token == token and bridge.started == [], "it starts no node: it may be of another account"


def test_a_secret_for_no_site_is_refused_because_a_model_chooses_where_to_begin(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "word").write_text("hunter2")
    bridge = Bridge()
    done = run(monkeypatch, bridge, "--secret", f"shop=@{tmp_path / 'word'}")
    assert (done.exit_code, done.stdout, bridge.answer) == (2, "", None)
    assert "say for which site the secret shop is" in done.stderr and "hunter2" not in done.output
    _require_sites({"a": {"origins": ["https://shop.example"]}})
    with pytest.raises(MeshError, match="the secret b"):
        _require_sites({"a": {"origins": ["https://shop.example"]}, "b": {"origins": []}})


@pytest.mark.parametrize(
    "words",
    [("--approve-class", "4"), ("--allow", "POST https://shop.example/login")],
    ids=" ".join,
)
def test_an_approval_with_a_token_is_refused_before_a_client_is_heard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "t").write_text(make_token("shopper", bytes(32)))
    bridge = Bridge()
    done = run(monkeypatch, bridge, *words, agent=("--token-file", str(tmp_path / "t")))
    assert (done.exit_code, done.stdout, bridge.answer) == (2, "", None)
    assert f"[caller.refused] {words[0]} is only for the owner of the node" in done.stderr
    done = run(monkeypatch, bridge, *words)
    assert (done.exit_code, bridge.answer) == (2, None) and "add --as-owner" in done.stderr
    done = run(monkeypatch, bridge, *words, "--as-owner")
    assert done.exit_code == 0 and bridge.answer is not None, "the owner approves"


@pytest.mark.parametrize("entry", ["foo", "", "POST URL"])
def test_an_allowed_request_of_another_form_is_refused_before_a_client_is_heard(
    monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    bridge = Bridge()
    done = run(monkeypatch, bridge, "--allow", entry)
    assert (done.exit_code, done.stdout, bridge.answer) == (2, "", None)
    assert "[input.invalid] item 1 of `allow` must be a method and an http(s) address" in done.stderr


@pytest.mark.parametrize(
    ("ends", "code", "said"),
    [
        (MeshError("node.not_serving", "no node"), 2, "[node.not_serving]"),
        (KeyboardInterrupt(), 130, "interrupted; committed work is kept"),
    ],
)
def test_errors_go_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, ends: BaseException, code: int, said: str
) -> None:
    done = run(monkeypatch, Bridge(ends), "--home", "/h")
    assert (done.exit_code, done.stdout) == (code, "") and said in done.stderr


def test_the_log_goes_to_standard_error_one_record_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    root.handlers.clear()
    _log_to_standard_error()
    (handler,) = root.handlers
    assert (root.level, logging.getLogger("node").level) == (logging.WARNING, logging.INFO)
    assert isinstance(handler.formatter, LineFormatter)
    assert capsys.readouterr().out == ""
    logging.getLogger("node.x").info("two\nlines")
    logging.getLogger("other").info("not of ours")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "INFO node.x: two lines\n")
