"""Live sessions: opened, observed, acted in and closed by separate calls."""

from node.live.sessions.live_sessions import LiveSessions
from node.live.sessions.stored import LIVES
from node.live.sessions.verbs import LiveVerbs

__all__ = [
    "LIVES",
    "LiveSessions",
    "LiveVerbs",
]
