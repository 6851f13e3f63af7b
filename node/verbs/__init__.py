"""What a node can be asked: every verb declared once, and who may call it.

A group of verbs is one module. The command line, the control API, the audit trail, docs/verbs.md and the tools of ``trailmesh mcp``
are made from these declarations; a room binds its functions to them. Never does any work, and never imports a room.
"""

from node.verbs.caller import NODE, OWNER, SCOPES, Caller, CallerKind, called_by, current_caller
from node.verbs.verb import Bound, Handler, NoParams, Params, Row, Run, Tell, Verb

__all__ = [
    "NODE",
    "OWNER",
    "SCOPES",
    "Bound",
    "Caller",
    "CallerKind",
    "Handler",
    "NoParams",
    "Params",
    "Row",
    "Run",
    "Tell",
    "Verb",
    "called_by",
    "current_caller",
]
