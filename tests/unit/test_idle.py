"""What a node that nobody asks for anything does without."""

from __future__ import annotations

import subprocess
import sys


def test_playwright_is_not_imported_before_a_browser_is_wanted() -> None:
    """It takes 18 MB: a node that only relays what others found has no use for it."""
    looks = "import sys, node.process.runtime; sys.exit('playwright' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", looks], check=False).returncode == 0
