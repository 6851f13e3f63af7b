"""What the doctor says of a node that does not open: one fault for what is shut, and every check that needs it not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.process.client import examine
from node.process.passphrase import passphrase_source, read
from node.process.setup import init_home
from protocol.errors import MeshError


def create(home: Path, passphrase: Path | None = None) -> Path:
    """A node in ``home``; with a passphrase its key is sealed."""
    ask = (lambda: read(str(passphrase))) if passphrase else None
    out = str(home.with_name(f"{home.name}.recovery"))
    init_home(home, name="anna", listen=None, config_file=None, recovery_out=out, passphrase=ask)
    return home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node."""
    return create(tmp_path / "home")


def found(home: Path, passphrase: Path | None = None) -> dict[str, Any]:
    """The checks by name."""
    health = asyncio.run(examine(home, passphrase_source(str(passphrase or "none")), browser=False))
    checks = {check["name"]: check for check in health["checks"]}
    assert health["healthy"] is not any(check["status"] == "fault" for check in checks.values())
    return checks


def test_a_sealed_key_is_one_fault_and_the_rest_is_checked(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    right.write_text("correct horse battery\n")
    wrong.write_text("wrong horse battery\n")
    home = create(tmp_path / "home", right)
    assert {check["status"] for name, check in found(home, right).items() if name != "peer listener"} == {"ok"}
    for file, code in ((tmp_path / "none", "key.locked"), (wrong, "key.passphrase")):
        checks = found(home, file)
        assert checks["witness key"]["status"] == "fault" and code in checks["witness key"]["finding"]
        assert "trailmesh node serve" in checks["witness key"]["remedy"]
        assert [checks[name]["status"] for name in ("python", "disk", "store", "peers")] == ["ok", "ok", "ok", "warn"]


def _lose_key_log(home: Path) -> None:
    (home / "keylog.cbor").unlink()


def _spoil_key(home: Path) -> None:
    (home / "witness.key").write_text("nothing\n")


def _lose_key(home: Path) -> None:
    (home / "witness.key").unlink()


@pytest.mark.parametrize("harm", [_lose_key_log, _spoil_key, _lose_key])
def test_a_key_or_key_log_that_is_gone_is_one_fault(home: Path, harm: Callable[[Path], None]) -> None:
    harm(home)
    checks = found(home)
    faults = [name for name, check in checks.items() if check["status"] == "fault"]
    assert faults == ["witness key"]
    mended = "trailmesh node recover --key-file " if harm is _lose_key else "mv "
    assert checks["witness key"]["remedy"].startswith(mended)


def test_a_store_that_does_not_open_is_a_fault_of_the_store(home: Path) -> None:
    (home / "store.db").write_bytes(b"no database" * 100)
    checks = found(home)
    assert (checks["witness key"]["status"], checks["store"]["status"]) == ("ok", "fault")


def test_what_fails_beyond_key_and_store_is_said_too(home: Path) -> None:
    """A store of another node opens, and its log is not that of this key."""
    found(home)
    other = create(home.parent / "other")
    assert found(other)["witness log"]["status"] == "ok"
    (home / "store.db").write_bytes((other / "store.db").read_bytes())
    checks = found(home)
    assert checks["node"]["status"] == "fault"


def test_where_no_node_is_there_is_nothing_to_examine(tmp_path: Path) -> None:
    with pytest.raises(MeshError) as caught:
        asyncio.run(examine(tmp_path, passphrase_source(None), browser=False))
    assert caught.value.code == "node.not_initialised"
