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
from node.cli.nodes.mcp import _OPENING, _log_to_standard_error, _require_sites
from node.process import client
from node.verbs.live import live as verbs
from protocol.errors import MeshError
from protocol.trust.agent_token import make_token


class Bridge:
    """In the place of the module that serves a client."""

    def __init__(self, ends: BaseException | None = None) -> None:
        self.ends = ends
        self.opening: dict[str, Any] = {}
        self.answer: Any = None

    async def serve(self, ask: Any, opening: dict[str, Any]) -> None:
        """Ask the node once, then end."""
        self.opening = opening
        self.answer = await ask("node.whoami", {})
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
    async def ask(home: Path, verb: str, params: Any, *, agent: Any) -> Any:
        return home, verb, params, agent

    monkeypatch.setattr(client, "ask", ask)
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
    words = ("--home", "/h", "--secret", secret, "--allow", "POST https://shop.example/login")
    done = run(monkeypatch, bridge, *words)
    assert (done.exit_code, done.stdout) == (0, "")
    assert bridge.opening["secrets"]["shop"]["origins"] == ["https://shop.example"]
    assert bridge.opening["allow"] == ["POST https://shop.example/login"]
    assert set(bridge.opening) == set(_OPENING)
    assert bridge.answer == (Path("/h"), "node.whoami", {}, None)


def test_a_client_calls_as_the_agent_whose_token_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    token = make_token("shopper", bytes(32))
    (tmp_path / "t").write_text(token)
    bridge = Bridge()
    run(monkeypatch, bridge, agent=("--token-file", str(tmp_path / "t")))
    assert bridge.answer[3].token == token


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


@pytest.mark.parametrize(("missing", "code"), [("mcp", 3), ("mcp.types", 3), ("mcp_types", 3), ("numpy", 0), (None, 0)])
def test_only_a_missing_sdk_is_told_as_missing(
    monkeypatch: pytest.MonkeyPatch, missing: str | None, code: int
) -> None:
    import builtins

    found = builtins.__import__

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        if name == "node.process" and "mcp_bridge" in (fromlist or ()):
            raise ModuleNotFoundError("no such module", name=missing)
        return found(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", imported)
    if code:
        done = CliRunner().invoke(main, ["mcp", "--home", "/h"], catch_exceptions=False)
        assert (done.exit_code, done.stdout) == (code, "") and "[mcp.missing]" in done.stderr
    else:
        done = CliRunner().invoke(main, ["mcp", "--home", "/h"], catch_exceptions=False)
        assert done.exit_code == 70 and "[internal.fault] ModuleNotFoundError in trailmesh mcp" in done.stderr


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
