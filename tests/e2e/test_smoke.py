"""``scripts/smoke.sh`` holds its promises, and fails when one does not hold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMOKE_SECONDS = 170

pytestmark = [pytest.mark.browser, pytest.mark.timeout(SMOKE_SECONDS + 30)]


def smoke(work: Path, path: str) -> subprocess.CompletedProcess[str]:
    """Run it with its temporary files below ``work``."""
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "TMPDIR": str(work)}
    return subprocess.run(
        [str(ROOT / "scripts" / "smoke.sh")],
        cwd=work,
        env=env,
        capture_output=True,
        text=True,
        timeout=SMOKE_SECONDS,
        check=False,
    )


def test_every_promise_holds_and_nothing_is_left_behind(tmp_path: Path) -> None:
    done = smoke(tmp_path, f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(lines) >= 12
    assert all(line.endswith(" ok") for line in lines)
    assert not list(tmp_path.iterdir())
