"""The command line: a thin client of the node.

Modules of commands are imported when one of their commands runs, so that ``trailmesh --help`` stays quick. Owns what a person reads
on the terminal, and the exit codes. Never decides anything: every command asks the node.
"""

from node.cli.main import main

__all__ = ["main"]
