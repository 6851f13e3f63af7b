"""Where a launched Chromium keeps its profile, and what a profile may ask of it."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from adapters.browser.launch import profile_directory
from adapters.browser.launch.chromium import launcher
from adapters.browser.launch.profile_directory import (
    PATH_CHARS_MAX,
    lock_profile_directory,
    make_profile_directory,
    remove_abandoned,
    remove_profile_directory,
    usual_roots,
)
from protocol import limits
from protocol.errors import MeshError
from protocol.page.actions.action import Goto
from protocol.recording.records.session import Profile
from protocol.recording.records.time_zones import TIME_ZONES
from protocol.risk.requests.requests import GuardPolicy
from tests.sites.pages.backends import SETTINGS
from tests.sites.pages.server import PageServer


def deep(root: Path) -> Path:
    """A directory whose path is too long for the socket that Chromium locks a profile by."""
    made = root / ("d" * 40) / ("e" * 40)
    made.mkdir(parents=True)
    return made


async def test_a_deep_directory_for_temporary_files_does_not_keep_a_browser_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(deep(tmp_path)))
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    browser = await launcher(SETTINGS)()
    page = await (await browser.open(Profile(), GuardPolicy())).page()
    await page.close()
    await browser.close()


def test_where_every_directory_is_too_deep_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(MeshError) as caught:
        make_profile_directory([str(deep(tmp_path))])
    assert (caught.value.code, caught.value.detail["reason"]) == ("browser.launch", "directory")
    assert f"{PATH_CHARS_MAX} characters" in caught.value.message
    assert deep_entries(tmp_path) == []


def deep_entries(root: Path) -> list[Path]:
    """What was left behind."""
    return list(root.rglob("trailmesh-*"))


@pytest.mark.parametrize(
    ("broken", "reason"), [("pathlib.Path.write_text", "directory"), ("asyncio.start_server", "tunnel")]
)
async def test_what_the_system_refuses_is_an_error_of_the_browser_and_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, broken: str, reason: str
) -> None:
    def full(*given: object, **named: object) -> None:
        raise OSError(errno.EMFILE if reason == "tunnel" else errno.ENOSPC, "no more of it")

    root = Path(tempfile.mkdtemp(dir="/tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(root))
    monkeypatch.setenv("TMPDIR", str(root))
    monkeypatch.setattr(broken, full)
    with pytest.raises(MeshError) as caught:
        await launcher(SETTINGS)()
    left = deep_entries(root)
    remove_profile_directory(root)
    assert (caught.value.code, caught.value.detail["reason"], left) == ("browser.launch", reason, [])


async def test_nothing_of_a_browser_stays_when_it_was_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(tempfile.mkdtemp(dir="/tmp"))  # short enough, unlike tmp_path
    monkeypatch.setattr(tempfile, "tempdir", str(root))
    monkeypatch.setenv("TMPDIR", str(root))
    browser = await launcher(SETTINGS)()
    assert len(deep_entries(root)) == 1
    await browser.close()
    left = deep_entries(root)
    remove_profile_directory(root)
    assert left == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    root = Path(tempfile.mkdtemp(dir="/tmp"))
    directories = {name: make_profile_directory([str(root)]) for name in ("used", "left", "link")}
    used = lock_profile_directory(directories["used"])
    for name in ("left", "link"):
        lock_profile_directory(directories[name]).release()
    directories["link"].rename(tmp_path / "elsewhere")
    directories["link"].symlink_to(tmp_path / "elsewhere")
    foreign = root / "trailmesh-notes"
    foreign.mkdir()
    removed = remove_abandoned([str(root)])
    stays = foreign.is_dir() and all(directories[name].exists() for name in ("used", "link"))
    used.release()
    remove_profile_directory(root)
    assert removed == [directories["left"]]
    assert stays


@pytest.mark.parametrize("proc", ["/proc", "/nonexistent"])
def test_the_processes_of_a_browser_are_found_by_its_directory_and_ended_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proc: str
) -> None:
    """Also where processes are listed by ``ps`` only."""
    monkeypatch.setattr(profile_directory, "_PROC", Path(proc))
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    directories = [tmp_path / name for name in ("a", "a", "ab", "b")]
    running = [
        subprocess.Popen([*sleeping, "--type=x", f"--user-data-dir={directory}", "--last"]) for directory in directories
    ]
    try:
        assert set(profile_directory.browser_processes(directories[0])) == {process.pid for process in running[:2]}
        reaping = [threading.Thread(target=process.wait) for process in running[:2]]
        for thread in reaping:
            thread.start()
        profile_directory.end_browser(directories[0])
        for thread in reaping:
            thread.join(10)
        assert [process.poll() for process in running] == [-signal.SIGKILL, -signal.SIGKILL, None, None]
    finally:
        for process in running:
            process.kill()
            process.wait()


async def test_chromium_takes_every_time_zone_that_a_profile_may_have() -> None:
    site = PageServer()
    await site.start()
    tried = "try { new Intl.DateTimeFormat('en', {timeZone: name}); return false } catch { return true }"
    script = f"document.title = 'refused: ' + {json.dumps(sorted(TIME_ZONES))}.filter((name) => {{ {tried} }})"
    site.extra["/shown.html"] = f"<script>{script}</script>"
    browser = await launcher(SETTINGS)()
    page = await (
        await browser.open(Profile(timezone="America/Argentina/Buenos_Aires", locale="zh-Hant-TW"), GuardPolicy())
    ).page()
    seen = (await page.perform(Goto(url=site.origin + "/shown.html"))).observation
    await browser.close()
    await site.stop()
    assert seen.title == "refused:"


def test_a_directory_lies_in_memory_only_where_there_is_enough_of_it_and_nobody_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/launch/profile_directory.py, _in_memory."""
    monkeypatch.delenv("TMPDIR", raising=False)
    memory, mounts = str(tmp_path), tmp_path / "mounts"
    monkeypatch.setattr(limits, "PROFILE_MEMORY_BYTES_MIN", 1)

    def first(kind: str) -> str:
        mounts.write_text(f"proc /proc proc rw 0 0\nshm {memory} {kind} rw,nosuid 0 0\n")
        return usual_roots(memory, mounts)[0]

    assert first("tmpfs") == memory and first("ext4") != memory
    assert usual_roots(memory, tmp_path / "none")[0] != memory
    monkeypatch.setattr(limits, "PROFILE_MEMORY_BYTES_MIN", 2**62)
    assert first("tmpfs") != memory, "too small"
    monkeypatch.setattr(limits, "PROFILE_MEMORY_BYTES_MIN", 1)
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    assert first("tmpfs") != memory, "somebody has chosen another place"
