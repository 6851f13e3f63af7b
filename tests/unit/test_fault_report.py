"""A defect ends in an error with a code and a report that names places in the program, and nothing that it worked on."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import logging
import stat
import tempfile
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from node.base.fault_report import REPORTS_MAX, Reported, fault, in_short, write_report
from node.base.terminal import LineFormatter
from node.cli.base.common import Program, common_options
from protocol.errors import CODES, MeshError

SECRET = "hunter2-of-the-shop"


def broken(value: str) -> None:
    try:
        {"a": 1}[value]
    except KeyError as error:
        raise ValueError(f"cannot use {value}") from error


def defect() -> BaseException:
    try:
        broken(SECRET)
    except ValueError as error:
        return error
    raise AssertionError


def endless(depth: int) -> int:
    return endless(depth + 1) + 1


@click.group(cls=Program, name="main")
def program() -> None:
    """A program with a defect."""


@program.command()
@click.argument("how")
@click.argument("more", nargs=-1)
@common_options
def end(home: str | None, how: str, more: tuple[str, ...], as_json: bool) -> None:
    """End as asked."""
    match how:
        case "defect":
            broken(SECRET)
        case "endless":
            endless(0)
        case "full":
            raise OSError(errno.ENOSPC, "No space left on device", "/data/x")
        case "denied":
            raise PermissionError(errno.EACCES, "Permission denied", "/data/x")
        case "pipe":
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def ended(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(program, [*words])
    return done.exit_code, done.stdout, done.stderr


def test_a_report_names_types_and_places_and_no_value(tmp_path: Path) -> None:
    """Guard: node/base/fault_report.py, _report."""
    path = write_report(defect(), "trailmesh session record", tmp_path)
    assert path is not None and path.parent == tmp_path / "faults"
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    text = path.read_text()
    assert "while     trailmesh session record" in text
    assert "\nValueError\n" in text and "\ncaused by KeyError\n" in text
    assert f"{__name__}:" in text and "(broken)" in text
    assert SECRET not in text and str(Path.home()) not in text and str(Path(__file__).parent) not in text


def test_a_recursion_without_end_gives_a_short_report(tmp_path: Path) -> None:
    with pytest.raises(RecursionError) as caught:
        endless(0)
    path = write_report(caught.value, "x", tmp_path)
    assert path is not None and len(path.read_text().splitlines()) < 60
    assert "outer frames are left out" in path.read_text()


def test_the_oldest_reports_go(tmp_path: Path) -> None:
    for _ in range(REPORTS_MAX + 3):
        write_report(defect(), "x", tmp_path)
    assert len(list((tmp_path / "faults").iterdir())) == REPORTS_MAX


def test_without_a_data_directory_the_report_lies_among_the_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    missing = tmp_path / "none"
    (tmp_path / "file").write_text("")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "faults").write_text("a file where the directory would be")
    for home in (None, missing, tmp_path / "file", tmp_path / "taken"):
        path = write_report(defect(), "x", home)
        assert path is not None and path.parent == tmp_path and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not missing.exists()
    monkeypatch.setattr(tempfile, "tempdir", str(missing))
    error = fault(defect(), "x", None)
    assert (error.code, error.message, error.detail) == (
        "internal.fault",
        "ValueError in x; no report could be written",
        {"report": ""},
    )


def test_a_defect_of_a_command_ends_in_words_and_a_report(tmp_path: Path) -> None:
    code, out, err = ended("end", "defect", "--home", str(tmp_path))
    report = next((tmp_path / "faults").iterdir())
    assert (code, out) == (70, "")
    assert err.splitlines() == [
        f"error [internal.fault] ValueError in trailmesh end defect; the report is {report}",
        f"  → {CODES['internal.fault'].remedy}",
    ]
    assert SECRET not in report.read_text()


def test_a_defect_of_a_command_with_json_is_the_one_error_and_names_no_option(tmp_path: Path) -> None:
    code, out, err = ended("end", "endless", "more", f"--home={tmp_path}", "--json")
    error = json.loads(out)["error"]
    assert (code, err, error["code"]) == (70, "", "internal.fault")
    assert error["message"].startswith("RecursionError in trailmesh end endless; the report is ")
    assert Path(error["detail"]["report"]).parent == tmp_path / "faults"


@pytest.mark.parametrize(("how", "code"), [("full", "store.full"), ("denied", "store.unwritable")])
def test_a_disk_that_is_full_or_not_ours_is_no_defect(how: str, code: str, tmp_path: Path) -> None:
    status, out, _ = ended("end", how, "--json", "--home", str(tmp_path))
    error = json.loads(out)["error"]
    assert (status, error["code"]) == (3, code) and "/data/x" in error["message"]
    assert not (tmp_path / "faults").exists()


def test_a_reader_that_has_gone_is_no_defect(tmp_path: Path) -> None:
    for words in (("end", "pipe"), ("end", "pipe", "--json")):
        assert ended(*words, "--home", str(tmp_path))[0] == 1
    assert not (tmp_path / "faults").exists()


def logged(handler: logging.Handler, stream: io.StringIO) -> str:
    log = logging.Logger("room")
    log.addHandler(handler)
    try:
        broken(SECRET)
    except ValueError:
        log.exception("defect in %s", "work")
    return stream.getvalue()


def test_a_line_of_the_log_says_where_and_no_value(tmp_path: Path) -> None:
    """Guard: node/base/terminal.py, LineFormatter.formatException."""
    stream = io.StringIO()
    handler: Any = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter("%(levelname)s %(message)s"))
    first, second, *rest = logged(handler, stream).splitlines()
    assert (first, rest) == ("ERROR defect in work", [])
    assert second.startswith(f"  ValueError in {__name__}:") and second.endswith("(broken)")


def test_the_log_of_a_node_names_the_report(tmp_path: Path) -> None:
    """Guard: node/base/fault_report.py, Reported.filter."""
    stream = io.StringIO()
    handler: Any = logging.StreamHandler(stream)
    handler.setFormatter(LineFormatter("%(levelname)s %(message)s"))
    handler.addFilter(Reported(tmp_path))
    (line,) = logged(handler, stream).splitlines()
    report = next((tmp_path / "faults").iterdir())
    assert line.startswith("ERROR defect in work: ValueError in ") and line.endswith(f"; the report is {report}")
    assert SECRET not in line + report.read_text()


def test_the_place_of_an_error_without_a_trace_is_its_type() -> None:
    assert in_short(MeshError("input.invalid", SECRET)) == "MeshError input.invalid"
    assert in_short(OSError(28, SECRET)) == "OSError 28"
    assert in_short(asyncio.CancelledError()) == "CancelledError"
