"""Commands with ``--trust``: whose signature counts, and what is left of their temporary directory."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import click
import pytest
from nacl.signing import SigningKey

from node.cli.base import apart as cli
from node.process.apart import read_trust, replay_apart, temporary_node, verify_apart
from protocol.errors import MeshError
from protocol.keys import keylog
from protocol.keys.key_event import EVENT_RANDOM_BYTES
from protocol.keys.keylog import KeyLog
from protocol.trust.trust_key import write_trust_key
from tests.session_samples import KEY, NODE, SESSION_ID, sample_bundle
from tests.tables import each

BORN_S = 1_600_000_000


def log_of(key: SigningKey) -> KeyLog:
    return keylog.begin(key, bytes(32), now_s=BORN_S, random=bytes(EVENT_RANDOM_BYTES))


SIGNER, OTHER = log_of(KEY), log_of(SigningKey(bytes(32)))


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample bundle. Temporary directories are made in ``tmp_path/temporary``."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    file = tmp_path / "s.tmsession"
    file.write_bytes(sample_bundle())
    return file


def left(bundle: Path) -> list[str]:
    return [path.name for path in (bundle.parent / "temporary").iterdir()]


def never(event: Any) -> None:
    raise AssertionError(event)


async def test_a_bundle_is_verified_by_the_named_key_and_nothing_is_left(bundle: Path) -> None:
    verified = await verify_apart((OTHER, SIGNER), "", bundle)
    assert (verified["session"], verified["signer"], verified["signer_name"]) == (SESSION_ID, NODE, "trusted key")
    assert left(bundle) == []


async def test_a_signature_by_a_key_that_is_not_named_counts_for_nothing(bundle: Path) -> None:
    for work in (verify_apart((OTHER,), "", bundle), replay_apart((OTHER,), "", bundle, {}, never)):
        with pytest.raises(MeshError) as caught:
            await work
        assert (caught.value.code, caught.value.detail) == ("trust.not_signed", {"issuer": NODE})
        assert caught.value.message == f"it is signed as {NODE[:7]}, and --trust names {OTHER.node[:7]}"
    assert left(bundle) == []


@pytest.fixture
def changed(bundle: Path) -> Path:
    """``bundle`` with another byte in it."""
    bundle.write_bytes(bundle.read_bytes().replace(b"sample blob", b"simple blob", 1))
    return bundle


async def test_a_bundle_that_was_changed_is_refused_by_its_own_code(changed: Path) -> None:
    with pytest.raises(MeshError, match=r"bundle\.element"):
        await verify_apart((SIGNER,), "", changed)
    assert left(changed) == []


async def test_a_named_key_may_sign_and_nothing_else(bundle: Path) -> None:
    async with temporary_node((SIGNER,), "") as node:
        (record,) = node.rooms.trust.peers.records()
        assert (record.node, record.grants, record.addresses) == (NODE, {}, ())
        home = node.rooms.home
        assert home.parent.stat().st_mode & 0o077 == 0
        assert left(bundle) == [home.parent.name]


async def test_an_interrupted_command_leaves_no_directory(bundle: Path) -> None:
    entered = asyncio.Event()

    async def work() -> None:
        async with temporary_node((SIGNER,), ""):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(work())
    await entered.wait()
    assert left(bundle)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left(bundle) == []


def test_keys_are_given_as_text_or_by_file(tmp_path: Path) -> None:
    file = tmp_path / "anna.key"
    file.write_text(f"# anna\n{write_trust_key(SIGNER)}\n")
    assert read_trust((str(file), write_trust_key(OTHER))) == (SIGNER, OTHER)
    with pytest.raises(MeshError, match=r"input\.no_file"):
        read_trust((str(tmp_path / "none.key"),))
    with pytest.raises(MeshError, match=r"trust\.invalid"):
        read_trust(("",))
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(MeshError, match=r"trust\.invalid"):
        read_trust((str(file),))


@each(
    ("home", "typed", "code"),
    [
        ("/somewhere", {"trust": ("k",), "config": None, "target": "ses-x"}, "input.invalid"),
        (None, {"trust": (), "config": "c.yaml"}, "input.invalid"),
        (None, {"trust": ("k",), "config": None, "target": "ses-x"}, "input.no_file"),
    ],
)
def test_a_call_that_mixes_a_node_with_a_key_is_refused(home: str | None, typed: dict[str, Any], code: str) -> None:
    """Guard: node/cli/base/apart.py, _is_apart."""
    with pytest.raises(MeshError) as caught, click.Context(click.Command("verify")):
        cli.verify(home, "session.verify", {}, typed, None)
    assert caught.value.code == code
