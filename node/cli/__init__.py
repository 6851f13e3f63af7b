"""The command line: a thin client of the node.

A module of commands is imported only when one of its commands runs, so that ``trailmesh --help`` starts fast. Owns the output for
people and the exit codes. Never makes a decision: every command calls the node.
"""

from node.cli.main import main

__all__ = ["main"]
