"""What all commands have in common: errors and their exit codes, signals, confirmations, tables."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from node.base.plain import moment
from node.cli import main
from node.cli.base import common
from node.cli.base.common import Program, agree, common_options, fail, run_async, run_verb, short_caller, table
from protocol.errors import MeshError
from tests.commands import Answers, Terminal
from tests.tables import each


@click.group(cls=Program)
def program() -> None:
    """A program whose commands end in every way."""


@program.command()
@click.argument("how")
@common_options
def end(home: str | None, how: str, as_json: bool) -> None:
    """End as asked."""
    match how:
        case "interrupted":
            raise KeyboardInterrupt
        case "aborted":
            raise click.Abort
        case "kept":
            raise MeshError("live.ended", "over", session="ses-A")
        case "exit":
            raise SystemExit(7)
        case "pages":
            raise MeshError("live.ended", "over", sessions=["ses-A", "ses-B"])
        case "left":
            click.get_current_context().exit(5)
        case "refused":
            raise MeshError("peer.unknown", "no")
        case "defect":
            raise ValueError
        case "coloured":
            click.secho("green", fg="green")
    click.echo(f"{how} {home} {as_json}")


def ended(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(program, [*words])
    return done.exit_code, done.stdout, done.stderr


def test_an_error_has_its_code_its_remedy_and_what_was_kept() -> None:
    code, out, err = ended("end", "kept")
    remedy = MeshError("live.ended").shown.remedy
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "error [live.ended] over",
        f"  → {remedy}",
        "  kept as ses-A: `trailmesh session show` shows what happened until then",
    ]
    assert "kept as ses-A, ses-B: " in ended("end", "pages")[2]
    assert len(ended("end", "refused")[2].splitlines()) == 2


def test_an_error_as_json_is_the_whole_output() -> None:
    code, out, err = ended("end", "kept", "--json")
    assert (code, err) == (1, "")
    assert json.loads(out)["error"] == MeshError("live.ended", "over", session="ses-A").shown.to_dict()


@each("words", [(), ("--json",)])
def test_an_interrupted_command_ends_with_130_and_says_that_work_is_kept(words: tuple[str, ...]) -> None:
    code, out, err = ended("end", "interrupted", *words)
    assert code == 130
    assert "interrupted; committed work is kept" in (out if words else err)


def test_who_aborts_a_question_is_told_so_in_the_form_that_was_asked_for() -> None:
    code, out, _ = ended("end", "aborted", "--json")
    assert (code, json.loads(out)["error"]["code"]) == (130, "internal.cancelled")
    code, out, err = ended("end", "aborted")
    assert (code, out, err) == (1, "", "Aborted!\n")


@each("words", [(), ("--json",)])
def test_an_exit_code_stays_as_it_is(words: tuple[str, ...]) -> None:
    assert (ended("end", "exit", *words)[0], ended("end", "left", *words)[0]) == (7, 5)
    assert ended("end", "x", "--home", "/h", *words)[:2] == (0, f"x /h {bool(words)}\n")


def test_the_words_of_the_process_are_taken_if_none_are_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, out in ((["end", "x"], "x None False\n"), (["end", "x", "--json"], "x None True\n")):
        monkeypatch.setattr("sys.argv", ["program", *words])
        with pytest.raises(SystemExit) as left:
            program()
        assert (left.value.code, capsys.readouterr().out) == (0, out)


def test_a_wrong_call_without_a_command_has_no_help_to_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        fail(MeshError("input.invalid", "no"), as_json=True)
    assert (left.value.code, json.loads(capsys.readouterr().out)["error"]["detail"]) == (2, {})


# --- signals ---------------------------------------------------------------------------------------------------------


@each("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_what_runs_once_and_lets_it_clean_up(number: int) -> None:
    cleaned = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()
        finally:
            os.kill(os.getpid(), number)
            for _ in range(5):  # a second cancellation would end this
                await asyncio.sleep(0.001)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_async(work())
    assert cleaned == [True]


def test_a_result_is_given_and_a_cancellation_of_its_own_is_none_of_a_person() -> None:
    async def work() -> str:
        return "done"

    async def cancelled() -> None:
        raise asyncio.CancelledError

    assert run_async(work()) == "done"
    with pytest.raises(asyncio.CancelledError):
        run_async(cancelled())


# --- calls -----------------------------------------------------------------------------------------------------------


def test_progress_is_shown_once_while_it_stays_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    node = Answers(node_status=["result"])
    node.events = [{"at": line} for line in ("a", "a", "", "a", "b", "a")]
    with node.given():
        assert run_verb(str(tmp_path), "node.status", {"x": 1}, show=lambda event: event["at"]) == "result"
        assert capsys.readouterr().err.splitlines() == ["a", "b", "a"]
        assert run_verb(str(tmp_path), "node.status", {}) == "result"
    assert capsys.readouterr() == ("", "")
    assert node.homes == [tmp_path] * 2


def asks_as(monkeypatch: pytest.MonkeyPatch, words: list[str], **environment: str) -> tuple[int, Any]:
    """Exit code of a command, and the agent as which it asks; "nobody" if it does not ask."""
    seen: list[Any] = ["nobody"]

    async def call(home: Path, verb: str, params: Any, tell: Any, *, agent: Any = None) -> Any:
        seen[0] = agent
        return {"caller": "owner", "scopes": [], "origins": [], "verbs": [], "capsules": []}

    monkeypatch.setattr("node.process.client.call", call)
    done = CliRunner().invoke(main, [*words, "node", "whoami"], env={"TRAILMESH_HOME": "/nowhere", **environment})
    return done.exit_code, seen[0]


def test_a_command_asks_as_the_agent_whose_token_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from protocol.trust.agent_token import make_token

    tokens = {name: make_token(name, bytes(32)) for name in ("typed", "set")}
    for name, token in tokens.items():
        (tmp_path / name).write_text(token)
    typed = ["--token-file", str(tmp_path / "typed")]
    environment = {"TRAILMESH_TOKEN_FILE": str(tmp_path / "set")}
    assert asks_as(monkeypatch, []) == (0, None)
    usual = Path("/nowhere/control/agents.sock")
    assert asks_as(monkeypatch, typed)[1] == (usual, tokens["typed"])
    assert asks_as(monkeypatch, [], **environment)[1] == (usual, tokens["set"])
    assert asks_as(monkeypatch, typed, **environment)[1] == (usual, tokens["typed"])
    other = {"TRAILMESH_SOCKET": "/run/set.sock"}
    assert asks_as(monkeypatch, typed, **other)[1] == (Path("/run/set.sock"), tokens["typed"])
    assert asks_as(monkeypatch, [*typed, "--socket", "/run/typed.sock"], **other)[1][0] == Path("/run/typed.sock")
    assert asks_as(monkeypatch, [], **other) == (0, None)
    assert asks_as(monkeypatch, ["--token-file", str(tmp_path / "none")]) == (2, "nobody")


# --- confirmations ---------------------------------------------------------------------------------------------------


def test_nothing_is_removed_without_a_yes() -> None:
    agree("Really?", yes=True)
    node = Answers(session_purge=[{"session": "ses-A", "steps": 1, "title": "Mugs", "may_hold": []}])
    words = ("session", "purge", "ses-A")
    done = node.run(*words, typed="y\n")
    assert (done.code, done.asked) == (2, []) and "pass --yes" in done.err[0]
    done = node.run(*words, typed=Terminal(b"n\n"))
    assert (done.code, done.asked) == (130, []) and "nothing was done" in done.err[0] + done.err[1]
    done = node.run(*words, typed=Terminal(b"y\n"))
    assert (done.code, len(done.asked), done.out) == (0, 1, ["purged  ses-A", "title   Mugs", "length  1 step"])
    assert done.err == ["Delete ses-A for good? [y/N]: y"]
    assert node.run(*words, "--yes").out == done.out


# --- what is shown ---------------------------------------------------------------------------------------------------


def test_ids_are_shortened_and_names_of_callers_are_not() -> None:
    told = [short_caller(who) for who in ("owner", "agent:shopper", "NODEABC", "NODEABCD", "NODEABC-REST")]
    assert told == ["owner", "agent:shopper", "NODEABC", "NODEABC", "NODEABC"]


def test_a_moment_is_shown_in_utc_and_none_as_nothing() -> None:
    assert [moment(0), moment(1), moment(1_772_000_000_999)] == ["", "1970-01-01 00:00:00", "2026-02-25 06:13:20"]


ID, TIME, PLACE = "ses-0123456789", "2026-02-25 06:13:20", "http://127.0.0.1:12345/a"


def test_ids_addresses_and_times_are_never_broken_and_words_are_broken_between_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    rows = [[ID, TIME, f"{PLACE}, {PLACE}b", "[bold]x[/bold] " + "word " * 12]]
    table("title", ["id", "when", "origins", "said"], rows, wrap=("origins", "said"))
    title, *lines = capsys.readouterr().out.splitlines()
    assert title.startswith("title ")
    (first,) = [line for line in lines if ID in line]
    assert TIME in first and "[bold]" in first
    for whole in (f"{PLACE},", f"{PLACE}b"):
        assert len([line for line in lines if f"│ {whole} " in line]) == 1
    assert len([line for line in lines if " word " in line]) > 3, "prose is broken instead"
    assert len({len(line) for line in lines}) == 1, "no line is cut"


def test_a_word_that_another_chose_does_not_stretch_a_table_without_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for wrap in ((), ("said",)):
        table("title", ["id", "said"], [[ID, "x" * 1_000]], wrap=wrap)
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) < 150 and out.count("x") == 1_000


def test_a_table_that_fits_is_as_narrow_as_its_content(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table("title", ["id", "said"], [[ID, "two words"]], wrap=("said",))
    assert "│ ses-0123456789 │ two words │" in capsys.readouterr().out


def test_the_suffix_of_bundles_is_the_published_one() -> None:
    assert common.BUNDLE_SUFFIX == ".tmsession"


@pytest.mark.parametrize("version", [(3, 10, 9), (3, 13, 0), (4, 0, 0)])
def test_a_python_that_is_not_supported_is_one_error_also_with_json(
    version: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "version_info", version)
    words = ".".join(map(str, version))
    code, out, err = ended("end", "well")
    said = f"error [node.python] this is Python {words}; trailmesh needs Python 3.11 or 3.12"
    assert (code, out, err.splitlines()[0], len(err.splitlines())) == (3, "", said, 2)
    code, out, err = ended("end", "well", "--json")
    assert (code, json.loads(out)["error"]["code"], err) == (3, "node.python", "")


@pytest.mark.parametrize("words", [("end", "coloured"), ("end", "refused"), ("end", "defect"), ("nonsense",)])
def test_no_color_is_respected_by_results_errors_and_wrong_calls(words: tuple[str, ...], tmp_path: Path) -> None:
    def shown(**environment: str) -> str:
        done = CliRunner().invoke(
            program, [*words, *(["--home", str(tmp_path)] if len(words) > 1 else [])], env=environment, color=True
        )
        return done.stdout + done.stderr

    assert "\x1b" not in shown(NO_COLOR="1")
    if words != ("nonsense",):
        assert "\x1b[" in shown(NO_COLOR="")
