"""The interfaces of a node: the peer API for other nodes, the control API for its owner, and the metrics port.

Every request from outside passes here: it is authenticated, counted and written to the audit trail before a room sees it.
Never does the work itself.
"""

from node.api.control import ControlServer
from node.api.metrics_server import MetricsServer
from node.api.node import Node

__all__ = [
    "ControlServer",
    "MetricsServer",
    "Node",
]
