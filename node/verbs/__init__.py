"""The form of what a node can be asked: verbs for its owner's commands, handlers for the routes of peers.

Never knows a room: rooms declare their verbs in this form.
"""

from node.verbs.verb import Handler, NoParams, Params, Tell, Verb, Verbs

__all__ = [
    "Handler",
    "NoParams",
    "Params",
    "Tell",
    "Verb",
    "Verbs",
]
