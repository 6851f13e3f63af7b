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


def test_a_command_that_asks_a_running_node_loads_no_part_of_a_node() -> None:
    """The records of the store and of the search bring numpy and NaCl, half of the time that ``--help`` takes."""
    asked = (
        "import sys, node.cli, node.cli.nodes.node, node.process.client; "
        "print([name for name in ('adapters.ports.store', 'nacl', 'numpy', 'yaml') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_command_of_a_live_session_loads_no_arrays_no_client_of_the_web_and_no_part_of_a_node() -> None:
    """An agent runs one for each thing that it does."""
    asked = (
        "import sys, node.cli, node.cli.sessions.live, node.process.client; "
        "print([name for name in ('adapters.ports.store', 'aiohttp', 'nacl', 'numpy', 'mcp') if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
