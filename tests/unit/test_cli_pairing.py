"""How the command line reads and describes pairings."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from node.cli.nodes.pairing import _described, read_peer
from protocol.errors import MeshError
from protocol.pairing.invite import parse_invite


def test_an_invite_is_taken_from_a_file_or_standard_input_where_no_other_user_sees_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "invite"
    file.write_text("tmi1.abc\n")
    assert read_peer(f"@{file}") == "tmi1.abc\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("tmi1.def\n"))
    assert read_peer("-") == "tmi1.def\n"
    assert read_peer("tmi1.ghi") == "tmi1.ghi"


def test_a_file_that_holds_no_invite_is_refused(tmp_path: Path) -> None:
    for name, data in (("picture", b"\xff\xfe"), ("missing", None)):
        if data is not None:
            (tmp_path / name).write_bytes(data)
        with pytest.raises(MeshError) as caught:
            read_peer(f"@{tmp_path / name}")
        assert caught.value.code == "input.invalid"
    (tmp_path / "long").write_text("x" * 1_000_000)
    with pytest.raises(MeshError) as caught:
        parse_invite(read_peer(f"@{tmp_path / 'long'}"), 0)
    assert caught.value.code == "invite.invalid"


def test_a_peer_that_pairs_again_is_shown_with_what_it_had_and_what_it_will_have() -> None:
    other = {
        "node": "N",
        "fingerprint": "six words",
        "addresses": [],
        "granted_us": {},
        "grants": {"peers:read": ("*",)},
    }
    lines = _described({**other, "had": {"session:read": ("*",)}}).splitlines()
    assert [line.split(maxsplit=3)[3] for line in lines if "do here" in line] == [
        "session:read: replaced by",
        "peers:read",
    ]
    for first_time in ({}, {"had": None}):
        assert "could do here" not in _described({**other, **first_time})
    assert "status only: replaced by" in _described({**other, "had": {}})
