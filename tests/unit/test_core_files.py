"""A command that crashes leaves nothing of its memory on a disk."""

from __future__ import annotations

import subprocess
import sys

_RUN = """
import resource, node.cli
node.cli.main = lambda prog_name: print(resource.getrlimit(resource.RLIMIT_CORE))
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
from trailmesh.__main__ import main
main()
"""


def test_a_command_writes_no_core_file() -> None:
    """Guard: trailmesh/__main__.py, _no_core_files."""
    said = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "(0, 0)"
