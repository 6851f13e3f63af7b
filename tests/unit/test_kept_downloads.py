"""Names of kept downloads: they come from a site, and name a plain file in one folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.browser.page.kept_files import KeptFiles
from protocol import limits
from protocol.page.actions.downloads import Download, kept_at

HASH = bytes(range(32))


def test_a_name_of_a_site_never_leads_out_of_the_folder() -> None:
    """Guard: protocol/page/actions/downloads.py, kept_at."""
    long = "x" * 240 + ".csv"
    kept = {
        "report.csv": "report.csv",
        "..": "download",
        "": "download",
        ".bashrc": "bashrc",
        "../../etc/passwd": "_.._etc_passwd",
        "..\\..\\run.exe": "_.._run.exe",
        "C:\\run.exe": "C__run.exe",
        "a\0b\nc\u202egpj.exe": "a_b_c_gpj.exe",
        "ä" * 120: "ä" * 100,
        long: long[-200:],
    }
    for name, plain in kept.items():
        found = kept_at(Download(name=name, size_bytes=1, sha256=HASH))
        assert found == f"00010203/{plain}", name


def test_files_are_kept_up_to_a_bound_and_never_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: adapters/browser/page/kept_files.py, KeptFiles.keep."""
    monkeypatch.setattr(limits, "DOWNLOADS_KEPT_BYTES_MAX", 10)
    (source := tmp_path / "source").write_bytes(b"sixsix")
    files, download = KeptFiles(), Download(name="a", size_bytes=6, sha256=HASH)
    files.keep(source, download)
    files.folder = tmp_path / "kept"
    files.keep(source, download)
    files.keep(source, download)
    files.keep(source, Download(name="b", size_bytes=6, sha256=HASH))
    assert [path.name for path in (tmp_path / "kept" / "00010203").iterdir()] == ["a"]
    (tmp_path / "kept" / "00010203" / "c").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="exists"):
        files.keep(source, Download(name="c", size_bytes=1, sha256=HASH))
    assert not (tmp_path / "elsewhere").exists()
