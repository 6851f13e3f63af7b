"""A disk without room is said to be full, whichever file found no room first, and nothing that was confirmed is lost.

The limit of the system on the size of files takes the place of the end of the disk: it meets real files, and needs no rights.
"""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from node.base.statuses import exit_code
from node.cli import main
from node.process.client import call, examine
from node.process.passphrase import passphrase_source
from node.process.setup import init_home
from node.process.wiring import open_node
from protocol.errors import MeshError
from protocol.limits import KIB

_AGENTS_MAX = 200


@contextmanager
def files_of_at_most(bytes_max: int) -> Iterator[None]:
    """No file grows beyond ``bytes_max`` within the block; Python ignores the signal, and gets EFBIG."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    init_home(made, name="anna", listen="127.0.0.1:0", config_file=None)
    run(made, "node.status")
    return made


def run(home: Path, verb: str, **params: Any) -> Any:
    return asyncio.run(call(home, verb, params, lambda event: None))


async def fill(home: Path, limit: int) -> list[str]:
    """Add agents to an open node until the disk is full; the names of those that were confirmed."""
    confirmed = []
    async with open_node(home) as node:

        async def add(name: str) -> None:
            body = json.dumps({"name": name, "scopes": ["read"]}).encode()
            await node.dispatch("agent.add", body, lambda event: None)
            confirmed.append(name)

        with files_of_at_most(limit):
            with pytest.raises(MeshError) as caught:
                for number in range(_AGENTS_MAX):
                    await add(f"a{number}")
            assert (caught.value.code, exit_code(caught.value.code)) == ("store.full", 3)
            assert caught.value.remedy == "Free disk space (`df -h`), then run the command again."
        await add("after")
    return confirmed


@pytest.mark.parametrize("limit_kib", [64, 160, 300])
def test_what_was_confirmed_before_the_disk_was_full_is_kept_and_the_node_goes_on_once_there_is_room(
    home: Path, limit_kib: int
) -> None:
    confirmed = asyncio.run(fill(home, limit_kib * KIB))
    assert confirmed[-1] == "after"
    names = [agent["name"] for agent in run(home, "agent.list")["agents"]]
    assert set(confirmed) <= set(names) <= {*confirmed, f"a{len(confirmed) - 1}"}
    assert run(home, "log.audit")["sound"]
    assert run(home, "audit.verify")["sound"]


def test_a_command_on_a_full_disk_ends_with_exit_code_3_and_the_doctor_still_runs(home: Path) -> None:
    before = (home / "store.db").read_bytes()
    with files_of_at_most(0):
        done = CliRunner().invoke(main, ["agent", "add", "bob", "--scope", "read", "--home", str(home)])
        assert (done.exit_code, done.stdout) == (3, "")
        assert done.stderr.startswith("error [store.full] ")
        found = asyncio.run(examine(home, passphrase_source(None), browser=False))
    assert {c["name"]: c["remedy"] for c in found["checks"] if c["status"] == "fault"} == {"store": "df -h"}
    assert (home / "store.db").read_bytes() == before
    assert run(home, "agent.list")["agents"] == []
