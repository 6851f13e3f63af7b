# Written by `make client` from node/verbs/; change the declarations instead.
"""Records of the verbs ``policy.*`` (docs/verbs.md)."""

from __future__ import annotations

from trailmesh.client.record import Record


class Explained(Record, frozen=True, kw_only=True):
    """The decision of this node about a request or an action, and the rule behind it."""

    what: str
    """The request or the action, in words."""

    allowed: bool

    rule: str
    """The deciding rule, in words."""

    where: str
    """The place of the rule: a field of `config.yaml`, a question, or a document."""

    why: str
    """The reason that the owner gave; empty if none."""

    risk: int
    """The risk class of an action (docs/risk.md); 0 for a request."""
