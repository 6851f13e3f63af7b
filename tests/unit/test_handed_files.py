"""Files that commands hand over for an upload: copied by their content, kept while they are used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from node.base.handed_files import FOLDER, hand_over, remove_unused
from node.live.acting.uploads import Uploads
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Locator, Upload

FIELD = Locator(role="button", name="Letter")


def test_a_file_that_is_handed_over_is_uploaded_under_its_own_name(tmp_path: Path) -> None:
    home, letter = tmp_path / "home", tmp_path / "offer.txt"
    letter.write_text("ten mugs")
    name = hand_over(home, str(letter))
    assert (name.rpartition("/")[2], hand_over(home, str(letter))) == ("offer.txt", name)
    letter.write_text("nine mugs")
    assert hand_over(home, str(letter)) != name
    _, (file,) = Uploads((str(home / FOLDER),)).read(Upload(target=FIELD, files=(name,)))
    assert (file.name, file.data) == ("offer.txt", b"ten mugs")
    assert [each.stat().st_mode & 0o077 for each in (home / FOLDER).rglob("*")] == [0, 0, 0, 0]
    assert hand_over(home, "letters/none.txt") == "letters/none.txt", "it may be a name in a folder of the node"


def test_what_is_too_large_or_cannot_be_read_is_not_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UPLOAD_BYTES_MAX", 3)
    letter = tmp_path / "offer.txt"
    letter.write_text("ten mugs")
    with pytest.raises(MeshError, match="larger"):
        hand_over(tmp_path / "home", str(letter))
    (tmp_path / "home").write_text("no folder")
    letter.write_text("ten")
    with pytest.raises(MeshError, match="cannot be handed over"):
        hand_over(tmp_path / "home", str(letter))


def test_copies_that_nobody_uses_are_removed(tmp_path: Path) -> None:
    for name in ("old.txt", "new.txt"):
        (tmp_path / name).write_text(name)
    old, new = (tmp_path / FOLDER / hand_over(tmp_path, str(tmp_path / name)) for name in ("old.txt", "new.txt"))
    os.utime(old.parent, (0, 0))
    remove_unused(tmp_path, int(new.parent.stat().st_mtime * 1000))
    assert (old.exists(), new.exists()) == (False, True)
    remove_unused(tmp_path / "nowhere", 0)
