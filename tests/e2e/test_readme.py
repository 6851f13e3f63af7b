"""The tour of the README, as it is printed there, in bash: what a newcomer pastes works."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.process.setup import free_port

ROOT = Path(__file__).resolve().parents[2]
TOUR_SECONDS = 540
PORT = "8321"

pytestmark = pytest.mark.browser


def tour() -> str:
    """The one ``bash`` block of the README."""
    blocks = re.findall(
        r"^```bash\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) == 1, "the README has one block of bash: the tour"
    return str(blocks[0])


def environment(home: Path, temporary: Path) -> dict[str, str]:
    """A bare environment: this checkout's code, and, as root, the configuration the README names for it."""
    given = {
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    return given | ({"CONFIG": "configs/ci.yaml"} if os.geteuid() == 0 else {})


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A short path: Chromium puts a socket there, and the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="tour-", ignore_cleanup_errors=True) as path:
        yield Path(path)


def test_the_tour_runs_as_it_is_printed(tmp_path: Path, temporary: Path) -> None:
    script = tour()
    assert PORT in script
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script.replace(PORT, str(free_port("127.0.0.1")))],
        cwd=ROOT,
        env=environment(tmp_path, temporary),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=TOUR_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == 0, said[-4000:]
    assert "paired with alice" in said
    assert "pass, level text: 3 of 3 steps matched; text: 3 same; signed by" in said
    assert "replay-report" in said
    assert "yes, found by" in said
    assert not list(temporary.glob("*/effects.jsonl")), "the tour changed something on the shop"
