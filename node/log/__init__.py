"""Exchanges witness-log checkpoints with peers: sends, cosigns and judges them. Also shows, proves and audits logs for people.

Owns what this node has stored about the witness logs of its peers. Never writes this node's own log.
"""

from node.log.checkpoints import LogExchange
from node.log.verbs import Logs

__all__ = [
    "LogExchange",
    "Logs",
]
