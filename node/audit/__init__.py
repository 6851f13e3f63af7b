"""Who had this node do what: rows listed, exported, verified and tied to the witness log.

Owns the anchors. Never changes or removes a row.
"""

from node.audit.audit import Audit

__all__ = [
    "Audit",
]
