"""Witness logs between peers: checkpoints sent, cosigned and judged; logs shown, proved and audited for people.

Owns what is held of the logs of peers. Never writes this node's own log.
"""

from node.log.checkpoints import LogExchange
from node.log.verbs import Logs

__all__ = [
    "LogExchange",
    "Logs",
]
