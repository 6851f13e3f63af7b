"""Witness logs between peers: sending, cosigning and judging checkpoints; showing, proving and auditing logs for people.

Owns what this node has stored about the witness logs of its peers. Never writes this node's own log.
"""

from node.log.checkpoints import LogExchange
from node.log.verbs import Logs

__all__ = [
    "LogExchange",
    "Logs",
]
