"""Recorded sessions: record, replay, show, verify, export, import, remove.

Owns sessions, their steps, and replay reports. Never opens a browser itself, and never stores the value of a secret.
"""

from node.sessions.action_files import ActionFile, read_action_file, read_step
from node.sessions.action_schema import action_schema
from node.sessions.action_writing import comment, write_file
from node.sessions.for_peers import ForPeers
from node.sessions.looking import PageVerbs
from node.sessions.sessions import Sessions
from node.sessions.suites import write_run
from node.sessions.verbs import SessionVerbs
from node.sessions.watching import Notebook

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
