"""Recorded sessions: record, replay, show, verify, export, import, remove.

Owns sessions, their steps, and replay reports. Never opens a browser itself, and never stores the value of a secret.
"""

from node.sessions.recorder import Recording, record
from node.sessions.sessions import Sessions
from node.sessions.verbs import SessionVerbs

__all__ = [
    "Recording",
    "SessionVerbs",
    "Sessions",
    "record",
]
