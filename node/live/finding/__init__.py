"""Finds the element of an action, and checks the assertions of an action file."""

from node.live.finding.closed import with_closed
from node.live.finding.console import Console
from node.live.finding.personal import keeping

__all__ = [
    "Console",
    "keeping",
    "with_closed",
]
