"""Records sessions: from action files, as forks, and again to learn masks."""

from node.sessions.recording.suites import write_run

__all__ = [
    "write_run",
]
