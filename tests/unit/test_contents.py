"""A node whose files were deleted or emptied is not taken for a new one, and the doctor says how it goes on."""

from __future__ import annotations

import asyncio
import re
import shlex
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.sqlite import DATABASE_FILE
from node.base.files import MARK_FILE, STORE_FILE
from node.config import CONFIG_FILE
from node.process.client import call, examine, recover
from node.process.passphrase import passphrase_source
from node.process.setup import init_home
from node.signing import KEY_FILE, LOG_FILE, contents, identity
from protocol.errors import MeshError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node that has been used, whose recovery file lies where its owner wanted it."""
    made = tmp_path / "home"
    init_home(made, name="anna", listen="127.0.0.1:0", config_file=None, recovery_out=str(tmp_path / "my r.txt"))
    status(made)
    return made


def status(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = asyncio.run(call(home, "node.status", {}, lambda event: None))
    return found


def faults(home: Path) -> dict[str, str]:
    """The remedy of each fault that the doctor finds."""
    found = asyncio.run(examine(home, passphrase_source(None), browser=False))
    return {check["name"]: check["remedy"] for check in found["checks"] if check["status"] == "fault"}


def refused(home: Path) -> MeshError:
    with pytest.raises(MeshError) as caught:
        status(home)
    return caught.value


def _deleted(path: Path) -> None:
    for found in path.parent.glob(f"{path.name}*"):
        found.unlink()


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [_deleted, _emptied])
@pytest.mark.parametrize(
    ("file", "check"),
    [
        (CONFIG_FILE, "configuration"),
        (KEY_FILE, "witness key"),
        (LOG_FILE, "witness key"),
        (STORE_FILE, "store"),
    ],
)
def test_a_file_that_is_gone_or_empty_is_named_and_nothing_takes_its_place(
    home: Path, file: str, check: str, harm: Any
) -> None:
    """Guard: node/signing/contents.py, check_files."""
    harm(home / file)
    before = {path.name for path in home.iterdir()}
    error = refused(home)
    word = "missing" if harm is _deleted else "empty"
    assert (error.code, error.message, error.detail.get("file")) == (
        "node.incomplete",
        f"{home / file} is {word}",
        file,
    )
    assert {path.name for path in home.iterdir()} == before
    assert list(faults(home)) == [check]
    with pytest.raises(MeshError) as caught:
        init_home(home, name="new", listen="127.0.0.1:0", config_file=None, recovery_out=str(home.parent / "n.txt"))
    assert caught.value.code == "node.already_initialised"


def test_a_store_in_the_place_of_the_one_that_was_there_is_not_taken_for_it(home: Path, tmp_path: Path) -> None:
    """Guard: node/signing/contents.py, check_store."""
    other = tmp_path / "other"
    init_home(other, name="b", listen="127.0.0.1:0", config_file=None)
    status(other)
    _deleted(home / STORE_FILE)
    (home / STORE_FILE).write_bytes((other / STORE_FILE).read_bytes())
    with closing(sqlite3.connect(home / STORE_FILE)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        for (table,) in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%STRICT%'"
        ).fetchall():
            db.execute(f"DELETE FROM {table}")
        db.commit()
    error = refused(home)
    assert (error.code, "it has no witness log" in error.message) == ("node.incomplete", True)
    assert list(faults(home)) == ["store"]


def test_a_node_that_was_never_used_needs_no_store_and_a_directory_without_files_is_none(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "home").mkdir()
    assert refused(home).code == "node.not_initialised"
    init_home(home, name="anna", listen="127.0.0.1:0", config_file=None)
    assert not (home / STORE_FILE).exists() and status(home)["name"] == "anna"
    _deleted(home / STORE_FILE)
    assert refused(home).code == "node.incomplete"


def test_a_node_of_before_the_mark_gets_one_when_it_opens(home: Path) -> None:
    mark = (home / MARK_FILE).read_bytes()
    assert (home / MARK_FILE).stat().st_mode & 0o777 == 0o600
    for damaged in (None, b"", b"{", b"[]"):
        (home / MARK_FILE).unlink()
        if damaged is not None:
            (home / MARK_FILE).write_bytes(damaged)
        status(home)
        kept = contents.recovery_file(home, status(home)["node"])
        assert (home / MARK_FILE).exists() and kept != str(home.parent / "my r.txt")
    assert b'"store":true' in mark


def test_with_nothing_left_but_the_mark_it_is_still_a_node(home: Path) -> None:
    """Guard: node/signing/contents.py, check_vacant."""
    for file in (CONFIG_FILE, KEY_FILE, LOG_FILE, STORE_FILE):
        _deleted(home / file)
    with pytest.raises(MeshError) as caught:
        init_home(home, name="new", listen="127.0.0.1:0", config_file=None, recovery_out=str(home.parent / "n.txt"))
    assert caught.value.code == "node.already_initialised"
    assert refused(home).code == "node.incomplete"
    assert list(faults(home)) == ["configuration", "witness key", "store"]


# --- the remedies, followed ------------------------------------------------------------------------------------------


def pasted(remedy: str) -> None:
    """Run the commands of the shell in ``remedy`` that are no trailmesh commands."""
    command = remedy.partition("without one")[2].partition(": ")[2]
    subprocess.run(["sh", "-c", command.partition("; then")[0]], check=True)


def test_who_has_no_backup_of_the_configuration_goes_on_with_the_defaults(home: Path) -> None:
    (home / CONFIG_FILE).unlink()
    pasted(faults(home)["configuration"])
    assert status(home)["name"] == "node"


@pytest.mark.parametrize("harm", [_deleted, _emptied])
def test_who_has_no_backup_of_the_store_goes_on_without_its_content(home: Path, harm: Any) -> None:
    node = status(home)["node"]
    harm(home / STORE_FILE)
    pasted(faults(home)["store"])
    assert (status(home)["node"], status(home)["peers"]) == (node, 0)
    assert faults(home) == {}


@pytest.mark.parametrize("harm", [_deleted, _emptied])
def test_the_recovery_file_is_named_where_it_was_written_last(home: Path, tmp_path: Path, harm: Any) -> None:
    node = status(home)["node"]
    new = tmp_path / "second.txt"
    for file, following in ((tmp_path / "my r.txt", str(new)), (new, "")):
        harm(home / KEY_FILE)
        words = shlex.split(faults(home)["witness key"])
        assert words[:3] == ["trailmesh", "node", "recover"] and words[words.index("--key-file") + 1] == str(file)
        params = {"key_file": str(file), "recovery_out": following}
        asyncio.run(recover(home, params, lambda event: None))
        assert status(home)["node"] == node and faults(home) == {}
    (home / KEY_FILE).unlink()
    new.rename(tmp_path / "offline.txt")
    assert re.match(
        "put the recovery file of this node back where it was; then trailmesh node recover", faults(home)["witness key"]
    )


def test_the_names_of_the_files_are_those_of_the_store_and_the_rooms() -> None:
    assert (STORE_FILE, identity.KEY_FILE) == (DATABASE_FILE, "witness.key")
