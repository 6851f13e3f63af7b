"""The node as a whole: all verbs by name, and their dispatch.

Every call passes here: its rights are checked, and a privileged call gets its audit rows, before a room sees it. The ways in, which
find out who calls, are ``node.doors``. Never does the work itself.
"""

from node.api.node import Node

__all__ = ["Node"]
