"""A node that is killed leaves no Chromium; what it left all the same is ended by the next start."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from adapters.browser.launch.profile_directory import browser_processes, remove_profile_directory, usual_roots
from node.process.setup import init_home
from node.process.wiring import open_node
from tests.sites.pages.server import PageServer

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing ties Chromium to the node"),
]
END_S = 60


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A node with a page open, in processes of its own."""

    directory: Path
    process: asyncio.subprocess.Process
    driver: int
    browser: Path
    """The directory of its Chromium."""

    async def left(self, seconds: float = END_S) -> list[int]:
        """The processes of its browser that are still there once all have ended, or after so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while browser_processes(self.browser):  # noqa: ASYNC110  (nobody tells of the end of foreign processes)
                    await asyncio.sleep(0.02)
        return browser_processes(self.browser)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Browsers of a test have their directories where no start but its own looks for abandoned ones."""
    made = tempfile.mkdtemp(dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", made)
    monkeypatch.setenv("TMPDIR", made)
    yield
    remove_profile_directory(Path(made))


def made_node(directory: Path, configuration: str) -> None:
    file = directory.with_suffix(".yaml")
    file.write_text(configuration or "{}")
    init_home(directory, name="anna", listen=None, config_file=str(file))


@contextlib.asynccontextmanager
async def held(directory: Path, *options: str) -> AsyncIterator[Held]:
    """Such a node; none of its processes stays."""
    made_node(directory, "browser: {sandbox: false}\n")
    site = PageServer()
    await site.start()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.e2e.held_browser", str(directory), f"{site.origin}/form.html", *options),
        stdout=asyncio.subprocess.PIPE,
    )
    pids = [process.pid]
    try:
        assert process.stdout is not None
        async with asyncio.timeout(120):
            told = json.loads(await process.stdout.readline())
        node = Held(
            directory=directory, process=process, driver=told["driver"], browser=Path(told["profile_directory"])
        )
        pids += [node.driver, *browser_processes(node.browser)]
        assert len(pids) > 4
        yield node
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await process.wait()
        await site.stop()


@pytest.mark.parametrize("killed", ["node", "driver", "node and driver", "node beside a stopped driver"])
async def test_no_process_of_the_browser_outlives_a_killed_node(tmp_path: Path, killed: str) -> None:
    """Guard: adapters/browser/launch/leash.py, main."""
    async with held(tmp_path / "home") as node:
        if "stopped" in killed:
            os.kill(node.driver, signal.SIGSTOP)
        if killed != "driver":
            node.process.kill()
        if killed in ("driver", "node and driver"):
            os.kill(node.driver, signal.SIGKILL)
        assert await node.left() == []


async def test_no_process_of_the_browser_outlives_what_ties_it_to_the_node(tmp_path: Path) -> None:
    """Guard: adapters/browser/launch/leash.py, main."""
    async with held(tmp_path / "home") as node:
        os.kill(node.driver, signal.SIGSTOP)
        os.kill(min(browser_processes(node.browser)), signal.SIGKILL)  # it was there before all others
        assert await node.left() == []


async def test_of_a_browser_with_a_profile_of_its_own_nothing_outlives_a_killed_node(tmp_path: Path) -> None:
    async with held(tmp_path / "home", "persistent") as node:
        assert (node.browser / "Default").is_dir()
        node.process.kill()
        os.kill(node.driver, signal.SIGKILL)
        assert await node.left() == []
        await node.process.wait()
        async with open_node(node.directory):
            assert not node.browser.exists()


async def test_what_a_killed_node_left_all_the_same_is_ended_by_the_next_start(tmp_path: Path) -> None:
    """Guard: adapters/browser/launch/profile_directory.py, _removed_if_abandoned."""
    async with held(tmp_path / "home", "unleashed") as node:
        os.kill(node.driver, signal.SIGSTOP)
        node.process.kill()
        await node.process.wait()
        assert len(await node.left(1)) > 2, "nothing is left that the next start could end"
        async with open_node(node.directory):
            assert browser_processes(node.browser) == []
        assert not node.browser.exists()


async def test_what_lay_in_memory_is_removed_by_the_next_start_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: adapters/browser/launch/profile_directory.py, remove_abandoned."""
    monkeypatch.delenv("TMPDIR", raising=False)
    if not usual_roots()[0].startswith("/dev/shm"):
        if os.environ.get("CI") == "true":
            pytest.fail(
                "/dev/shm has no room: give the container 1 GiB of it (docker: --shm-size), so that this is never skipped"
            )
        pytest.skip("/dev/shm is no memory here, or has less than a gigabyte free")
    async with held(tmp_path / "home", "unleashed") as node:
        assert node.browser.parent == Path("/dev/shm")
        os.kill(node.driver, signal.SIGSTOP)
        node.process.kill()
        await node.process.wait()
        async with open_node(node.directory):
            assert not node.browser.exists() and browser_processes(node.browser) == []


async def test_a_start_leaves_the_browser_of_a_node_that_lives_alone(tmp_path: Path) -> None:
    async with held(tmp_path / "home") as node:
        other = tmp_path / "other"
        made_node(other, "")
        before = browser_processes(node.browser)
        async with open_node(other):
            assert browser_processes(node.browser) == before
        assert node.browser.exists()
