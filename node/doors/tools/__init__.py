"""The tools for clients of the Model Context Protocol (MCP): which there are, what they take, and what a model reads of them.

Loads the SDK of the protocol, which takes half a second. Never calls a verb: each door does that in its own way.
"""

from node.doors.tools.profiles import Profile
from node.doors.tools.server import Ask, server_of

__all__ = ["Ask", "Profile", "server_of"]
