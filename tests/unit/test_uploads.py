"""Uploads: which files may be named, what is recorded of them, and what a replay needs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from node.live.acting.uploads import Uploads
from node.sessions.actions.action_files import parse_actions
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Locator, Upload
from protocol.page.seen.observation import Element, Traits
from tests.twins.browser import Control, Document
from tests.unit.test_sessions_handover import node_of
from tests.unit.test_sessions_room import ORIGIN, Bench

FIELD = Locator(role="button", name="Letter")
STEPS = f"start: {ORIGIN}/\nsteps:\n- upload: {{role: button, name: Letter, files: [offer.txt]}}\n"


def upload(*names: str) -> Upload:
    return Upload(target=FIELD, files=names)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to upload from, beside a file that is none of its."""
    made = tmp_path / "out"
    (made / "letters").mkdir(parents=True)
    (made / "offer.txt").write_text("ten mugs")
    (made / "letters" / "offer.txt").write_text("two mugs")
    (tmp_path / "secret.txt").write_text("hunter2")
    (made / "link.txt").symlink_to(tmp_path / "secret.txt")
    (made / "way").symlink_to(tmp_path)
    os.mkfifo(made / "pipe")
    return made


async def bench_with(folder: Path | None) -> Bench:
    bench = await node_of()
    field = Element(ref="", role="button", name="Letter", traits=Traits(tag="input", input_type="file"))
    bench.site.documents[f"{ORIGIN}/"] = Document(title="Send", controls=(Control(element=field),))
    folders = () if folder is None else (str(folder),)
    bench.browsers.uploads = Uploads(folders)
    return bench


def test_files_are_read_with_their_hashes(folder: Path) -> None:
    done, files = Uploads((str(folder.parent / "none"), str(folder))).read(upload("offer.txt", "letters/offer.txt"))
    assert [(file.name, file.data) for file in files] == [("offer.txt", b"ten mugs"), ("offer.txt", b"two mugs")]
    assert done.digests == tuple(hashlib.sha256(file.data).digest() for file in files)
    assert "mugs" not in repr(files)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "letters/../../secret.txt",
        "/etc/hostname",
        "./offer.txt",
        "letters//offer.txt",
        "..\\secret.txt",
        "offer.txt\0",
        "link.txt",
        "way/secret.txt",
        "pipe",
        "letters",
        "none.txt",
        "",
    ],
)
def test_nothing_outside_of_the_folders_is_read(folder: Path, name: str) -> None:
    """Guard: node/live/acting/uploads.py, _opened."""
    with pytest.raises(MeshError) as refused:
        Uploads((str(folder),)).read(upload(name))
    assert refused.value.code == "action.upload"
    assert "hunter2" not in str(refused.value.to_dict())


def test_files_beyond_the_limit_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UPLOAD_BYTES_MAX", 10)
    for names in (("offer.txt", "letters/offer.txt"), ("offer.txt", "offer.txt")):
        with pytest.raises(MeshError, match="larger"):
            Uploads((str(folder),)).read(upload(*names))
    (folder / "offer.txt").write_text("eleven mugs")
    with pytest.raises(MeshError, match="larger"):
        Uploads((str(folder),)).read(upload("offer.txt"))


async def test_an_upload_is_recorded_with_the_hash_and_needs_the_same_file_again(folder: Path) -> None:
    bench = await bench_with(folder)
    done = await bench.record(STEPS, approve_class=4)
    assert done.verdict == "pass"
    shown = await bench.call("show", session=done.id)
    digest = hashlib.sha256(b"ten mugs").digest()
    assert shown.steps[1].action == Upload(target=FIELD, files=("offer.txt",), digests=(digest,))
    assert shown.described[1] == "upload “offer.txt” in button “Letter”"
    replayed = await bench.call("replay", session=done.id, approve_class=4)
    assert replayed.report.verdict == "pass"
    (folder / "offer.txt").write_text("nine mugs")
    replayed = await bench.call("replay", session=done.id, approve_class=4)
    assert replayed.report.steps[1].error == "action.upload_differs"
    (difference,) = replayed.differences
    assert f"“offer.txt” is not the file that was recorded (SHA-256 {digest.hex()[:16]}…" in difference.met


async def test_a_node_without_folders_uploads_nothing() -> None:
    bench = await bench_with(None)
    refused = await bench.refused("record", actions=STEPS, approve_class=4)
    assert refused.code == "action.upload"
    assert "no folder to upload from" in refused.message


def test_an_upload_names_its_files() -> None:
    (_, action) = parse_actions(STEPS.encode()).actions
    assert action == upload("offer.txt")
    (_, action) = parse_actions(STEPS.replace("[offer.txt]", "offer.txt").encode()).actions
    assert action == upload("offer.txt")
    for wrong in ("[]", "''", "[[a]]"):
        with pytest.raises(MeshError) as refused:
            parse_actions(STEPS.replace("[offer.txt]", wrong).encode())
        assert refused.value.code == "input.invalid"
