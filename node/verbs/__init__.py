"""The declarations of all verbs (the operations a node offers), and who may call each.

A group of verbs is one module. The command line, the control API, the audit trail, docs/verbs.md and the tools of ``trailmesh mcp``
are generated from these declarations. Each room binds its functions to its verbs. Never implements
a verb, and never imports a room.
"""

from node.verbs.caller import NODE, OWNER, Caller, CallerKind, called_by, current_caller
from node.verbs.room import Room
from node.verbs.verb import AuditedPart, Bound, Handler, NoParams, Params, Run, Tell, Verb

__all__ = [
    "NODE",
    "OWNER",
    "AuditedPart",
    "Bound",
    "Caller",
    "CallerKind",
    "Handler",
    "NoParams",
    "Params",
    "Room",
    "Run",
    "Tell",
    "Verb",
    "called_by",
    "current_caller",
]
