"""The command line: a thin client of the node.

Modules of commands are imported when one of their commands runs, so that ``trailmesh --help`` stays quick.
"""

from node.cli.main import main

__all__ = ["main"]
