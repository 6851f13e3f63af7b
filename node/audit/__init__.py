"""The audit trail for people: its rows are listed, exported, verified and anchored in the witness log.

Owns the anchors. Never changes or removes a row.
"""

from node.audit.audit import Audit

__all__ = [
    "Audit",
]
