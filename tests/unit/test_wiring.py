"""What is loaded for a command, and when."""

from __future__ import annotations

import subprocess
import sys


def test_what_drives_a_browser_is_not_loaded_before_one_is_opened() -> None:
    """It takes a quarter of a second and 30 MB, which most commands and an idle node do without."""
    asked = (
        "import sys, node.process.wiring; print('playwright' in sys.modules, 'node.explorer.explorer' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "True"]
