"""Serves the verbs for recorded sessions, to this node and to peers."""

from node.sessions.serving.for_peers import ForPeers
from node.sessions.serving.sessions import Sessions
from node.sessions.serving.verbs import SessionVerbs

__all__ = [
    "ForPeers",
    "SessionVerbs",
    "Sessions",
]
