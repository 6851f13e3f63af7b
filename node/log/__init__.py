"""The evidence about nodes: the witness log of this node, those of its peers, and the audit trail. Shows, proves and checks them.

Exchanges checkpoints of witness logs with peers: sends, cosigns and judges them. Lists, exports and verifies the audit trail, and
anchors it in the witness log. Owns the stored facts about the witness logs of peers, and the anchors. Never writes this node's own
log, and never changes or removes a row of the trail.
"""

from node.log.audit import Audit
from node.log.checkpoints import LogExchange
from node.log.stored import EQUIVOCATIONS, HEADS
from node.log.verbs import Logs

__all__ = [
    "EQUIVOCATIONS",
    "HEADS",
    "Audit",
    "LogExchange",
    "Logs",
]
