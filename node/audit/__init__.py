"""Lists, exports and verifies the audit trail, and anchors it in the witness log.

Owns the anchors. Never changes or removes a row.
"""

from node.audit.audit import Audit

__all__ = [
    "Audit",
]
