"""Recorded sessions: record, replay, show, verify, export, import, remove.

Owns sessions, their steps, and replay reports. Never opens a browser itself, and never stores the value of a secret.
"""

from node.sessions.actions.action_files import ActionFile, read_action_file, read_step
from node.sessions.actions.action_schema import action_schema
from node.sessions.actions.action_writing import comment, write_file
from node.sessions.actions.looking import PageVerbs
from node.sessions.actions.watching import Notebook
from node.sessions.for_peers import ForPeers
from node.sessions.recording.suites import write_run
from node.sessions.sessions import Sessions
from node.sessions.verbs import SessionVerbs

__all__ = [
    "ActionFile",
    "ForPeers",
    "Notebook",
    "PageVerbs",
    "SessionVerbs",
    "Sessions",
    "action_schema",
    "comment",
    "read_action_file",
    "read_step",
    "write_file",
    "write_run",
]
