"""A serving node is started with a memory allocator that overwrites what is freed; what it starts is not."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_RUN = """
import json, os, sys
sys.argv = ["trailmesh", *ARGUMENTS]
import node.cli
began = os.environ.get("GLIBC_TUNABLES")
node.cli.main = lambda prog_name: print(json.dumps([began, os.environ.get("GLIBC_TUNABLES")]))
from trailmesh.__main__ import main
main()
"""
OVERWRITES = "glibc.malloc.perturb=165:glibc.malloc.tcache_count=0"
OWN = "glibc.malloc.arena_max=4"


@pytest.mark.skipif(sys.platform != "linux", reason="it is glibc that does it")
@pytest.mark.parametrize(
    ("arguments", "before", "said"),
    [
        (["node", "serve"], None, f'["{OVERWRITES}", null]'),
        (["node", "serve"], OWN, f'["{OWN}:{OVERWRITES}", "{OWN}"]'),
        (["node", "status"], None, "[null, null]"),
    ],
)
def test_a_serving_node_overwrites_what_it_frees(arguments: list[str], before: str | None, said: str) -> None:
    """Guard: trailmesh/__main__.py, main."""
    environment = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    if before is not None:
        environment["GLIBC_TUNABLES"] = before
    code = _RUN.replace("ARGUMENTS", repr(arguments))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == said
