"""Reads, writes and describes action files."""

from node.sessions.actions.action_files import ActionFile, read_action_file, read_live_steps
from node.sessions.actions.action_schema import action_schema
from node.sessions.actions.action_writing import comment, write_file
from node.sessions.actions.looking import PageVerbs
from node.sessions.actions.watching import Notebook

__all__ = [
    "ActionFile",
    "Notebook",
    "PageVerbs",
    "action_schema",
    "comment",
    "read_action_file",
    "read_live_steps",
    "write_file",
]
