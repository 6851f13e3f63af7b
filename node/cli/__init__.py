"""The command line: a thin client of the node.

A module of commands is imported only when one of its commands runs, so that ``trailmesh --help`` starts fast. Owns the output
that a person reads and the exit codes. Never decides anything: every command calls the node.
"""

from node.cli.main import main

__all__ = ["main"]
